// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/ddp_trace.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <span>

namespace ncclprobe::support {
namespace {

constexpr std::uint64_t k_step_kernels = 400;
constexpr std::uint32_t k_collective = 61;

std::vector<trace::KernelRow> one_step(std::mt19937_64& random) {
  std::vector<trace::KernelRow> step(k_step_kernels);
  for (std::uint64_t i = 0; i < step.size(); ++i) {
    trace::KernelRow& kernel = step[i];
    if (i > 150 && i % 12 == 0) { // a bucket is ready
      kernel.name = {k_collective};
      kernel.duration_ns = 180'000;
      kernel.grid = 24;
      kernel.block = 544;
      kernel.shared_bytes = 82'240;
      kernel.stream = 1;
      kernel.flags = trace::k_communication;
      continue;
    }
    kernel.name = {static_cast<std::uint32_t>(random() % 60 + 1)};
    kernel.duration_ns = static_cast<std::uint32_t>(2'000 + random() % 60'000);
    kernel.grid = static_cast<std::uint32_t>(random() % 2'000 + 1);
    kernel.block = 32U << random() % 6;
    kernel.shared_bytes = static_cast<std::uint32_t>(random() % 4 * 16'384);
    kernel.stream = i % 37 == 0 ? 2 : 0;
  }
  return step;
}

} // namespace

std::string ddp_kernel_name(std::uint32_t text) {
  return text == k_collective ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
                              : "void at::native::kernel_" + std::to_string(text) + "<float>(...)";
}

std::vector<trace::KernelRow> ddp_kernels(std::uint64_t count, int rank) {
  std::mt19937_64 random(7);
  const std::vector<trace::KernelRow> step = one_step(random); // the same on all ranks
  random.seed(static_cast<std::uint64_t>(rank) + 100);
  std::normal_distribution<double> jitter(1, 0.03);
  std::vector<trace::KernelRow> rows;
  rows.reserve(count);
  std::uint64_t now = 1'234'567'890'144 + static_cast<std::uint64_t>(rank) * 1'024;
  std::uint64_t communication = now;
  std::uint32_t correlation = 1'000;
  for (std::uint64_t i = 0; i < count; ++i) {
    trace::KernelRow kernel = step[i % k_step_kernels];
    double factor = std::max(0.5, jitter(random));
    kernel.duration_ns = static_cast<std::uint32_t>(kernel.duration_ns * factor) / 32 * 32;
    bool reduces = kernel.stream == 1;
    kernel.start_ns = reduces ? std::max(communication, now) : now;
    kernel.correlation = correlation;
    kernel.operation = static_cast<std::uint32_t>(i / k_step_kernels + 1);
    correlation += i % 5 == 0 ? 3 : 2;
    std::uint64_t end = kernel.start_ns + kernel.duration_ns;
    if (reduces)
      communication = end + 992;
    else
      now = end + random() % 96 * 32;
    rows.push_back(kernel);
  }
  std::ranges::stable_sort(rows, {}, [](const trace::KernelRow& row) {
    return std::pair(row.start_ns, row.start_ns + row.duration_ns); // as a spool keeps equal ones
  });
  return rows;
}

void write_ddp_spool(const std::filesystem::path& path, int rank, std::uint64_t kernels,
                     int ranks) {
  trace::SpoolWriter spool;
  if (!spool.open(path.string()))
    std::abort();
  for (std::uint32_t text = 1; text <= k_collective; ++text)
    spool.intern(ddp_kernel_name(text));
  std::vector<trace::KernelRow> rows = ddp_kernels(kernels, rank);
  spool.append(rank, trace::CommunicatorRow{.hash = 0xabcdef,
                                            .name = spool.intern("world"),
                                            .ranks = ranks,
                                            .rank = rank,
                                            .nodes = 1});
  for (std::uint16_t stream = 0; stream < 3; ++stream)
    spool.append(rank, trace::StreamRow{.id = stream, .library_id = stream + 7U});
  std::vector<trace::OperationRow> operations;
  std::vector<trace::NcclOperationRow> collectives;
  for (const trace::KernelRow& row : rows) {
    if (operations.empty() || operations.back().id < row.operation)
      operations.push_back({.start_ns = row.start_ns - 20'000,
                            .duration_ns = 9'000,
                            .id = row.operation,
                            .cell = 0,
                            .batch = 0,
                            .iteration = row.operation - 1,
                            .kind = trace::OperationKind::graph});
    if (row.flags & trace::k_communication)
      collectives.push_back({.enqueue_ns = row.start_ns - 15'000,
                             .enqueued_ns = row.start_ns - 11'000,
                             .sequence = collectives.size(),
                             .count = 6'250'000,
                             .id = static_cast<std::uint32_t>(collectives.size()) + 1,
                             .operation = row.operation,
                             .function = spool.intern("AllReduce"),
                             .algorithm = spool.intern("RING"),
                             .protocol = spool.intern("LL"),
                             .data_type = spool.intern("ncclBfloat16"),
                             .channels = 24,
                             .warps = 16});
  }
  spool.append<trace::OperationRow>(rank, operations);
  spool.append<trace::NcclOperationRow>(rank, collectives);
  std::ranges::stable_sort(
      rows, {}, [](const trace::KernelRow& row) { return row.start_ns + row.duration_ns; });
  for (std::size_t first = 0; first < rows.size(); first += 4'096)
    spool.append<trace::KernelRow>(
        rank, std::span(rows).subspan(first, std::min<std::size_t>(4'096, rows.size() - first)));
}

} // namespace ncclprobe::support
