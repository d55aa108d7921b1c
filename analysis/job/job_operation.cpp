// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/job_operation.h"

#include "trace/nccl_type.h"

#include "analysis/job/operation_order.h"
#include "analysis/timeline/rows_by_id.h"
#include "base/hash.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace ncclprobe::analysis::job {

using base::mixed;

namespace {

// From this many sizes on, sizes that occur fewer times than this are chance.
constexpr std::size_t k_many_sizes = 32;
constexpr std::size_t k_few_times = 4;

// First and last time of an operation's channels on the GPU.
struct Channels {
  std::uint64_t first = UINT64_MAX, last = 0;
  bool complete = true;
};

// By row of nccl_operations.
std::vector<Channels> channels_of(const timeline::RankTrace& trace) {
  const timeline::RowsById by_id(trace.nccl_operations);
  std::vector<Channels> all(trace.nccl_operations.size());
  for (const trace::NcclChannelRow& row : trace.nccl_channels) {
    const std::uint32_t at = by_id.find(row.nccl_operation);
    if (at == timeline::RowsById::k_none)
      continue;
    Channels& one = all[at];
    one.complete = one.complete && row.start_gt != 0 && row.stop_gt >= row.start_gt;
    one.first = std::min(one.first, row.start_gt);
    one.last = std::max(one.last, row.stop_gt);
  }
  return all;
}

// The GPU's times if nearly all operations have them, else those of the calls.
void set_times(const timeline::RankTrace& trace, std::vector<JobOperation>& all) {
  const std::vector<Channels> channels = channels_of(trace);
  auto on_gpu = [&](const JobOperation& one) -> const Channels* {
    const Channels& its = channels[one.row];
    return its.complete && its.last > 0 ? &its : nullptr;
  };
  const auto known = static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const JobOperation& one) { return on_gpu(one) != nullptr; }));
  const bool gpu_tells = 10 * known >= 9 * all.size();
  std::optional<std::int64_t> free_ns; // the last end so far
  for (JobOperation& one : all) {
    const trace::NcclOperationRow& row = trace.nccl_operations[one.row];
    const Channels* gpu = on_gpu(one);
    if (!gpu_tells) {
      one.begin_ns = static_cast<std::int64_t>(row.enqueue_ns);
      one.end_ns = static_cast<std::int64_t>(std::max(row.enqueue_ns, row.enqueued_ns));
    } else if (gpu != nullptr) {
      one.begin_ns = static_cast<std::int64_t>(gpu->first);
      one.end_ns = static_cast<std::int64_t>(gpu->last);
      one.on_gpu = true;
    } else { // without a pause
      one.begin_ns = one.end_ns = free_ns.value_or(0);
      continue;
    }
    one.pause_ns = free_ns ? std::max<std::int64_t>(0, one.begin_ns - *free_ns) : 0;
    free_ns = std::max(free_ns.value_or(one.end_ns), one.end_ns);
  }
}

// Equal for operations that do the same, whatever their size.
std::uint64_t without_size(const trace::NcclOperationRow& row, std::uint64_t communicator) {
  return base::Hash()
      .step(communicator)
      .step(row.function.id)
      .step(static_cast<std::uint64_t>(row.kind))
      .step(static_cast<std::uint32_t>(row.peer))
      .step(static_cast<std::uint32_t>(row.root))
      .value();
}

struct Sizes {
  std::unordered_set<std::uint64_t> different;
  std::size_t operations = 0;
  bool are_chance() const {
    return different.size() >= k_many_sizes && k_few_times * different.size() > operations;
  }
};

std::uint64_t place_of(const trace::NcclOperationRow& row, const trace::CommunicatorRow& in) {
  if (row.kind == trace::NcclKind::collective)
    return mixed(in.hash + mixed(row.function.id));
  const auto own = static_cast<std::uint32_t>(in.rank), peer = static_cast<std::uint32_t>(row.peer);
  const bool sends = row.kind == trace::NcclKind::send;
  const std::uint64_t way = std::uint64_t{sends ? own : peer} << 32 | (sends ? peer : own);
  return mixed(in.hash + mixed(~way));
}

} // namespace

std::uint64_t meeting_key(const trace::NcclOperationRow& row, const trace::CommunicatorRow& in) {
  return mixed(place_of(row, in) + mixed(row.sequence));
}

bool is_reduction(const std::string& function) {
  return function == "AllReduce" || function == "ReduceScatter";
}

std::vector<JobOperation> job_operations(const timeline::RankTrace& trace,
                                         const std::vector<std::string>& texts) {
  std::unordered_map<std::uint16_t, const trace::CommunicatorRow*> communicators;
  for (const trace::CommunicatorRow& row : trace.communicators)
    communicators[row.id] = &row;
  std::unordered_map<std::uint32_t, std::uint64_t> type_bytes;
  std::unordered_map<std::uint64_t, Sizes> sizes;
  std::vector<JobOperation> all;
  all.reserve(trace.nccl_operations.size());
  for (const std::uint32_t at : operation_order(trace)) {
    const trace::NcclOperationRow& row = trace.nccl_operations[at];
    const auto in = communicators.find(row.communicator);
    const auto [bytes, is_new] = type_bytes.try_emplace(row.data_type.id);
    if (is_new && row.data_type.id < texts.size())
      bytes->second = trace::bytes_of_nccl_type(texts[row.data_type.id]);
    JobOperation one;
    one.signature = without_size(row, in->second->hash);
    one.where = place_of(row, *in->second);
    one.which = row.sequence;
    one.bytes = row.count * bytes->second;
    one.row = at;
    one.communicator = row.communicator;
    one.reduces = row.function.id < texts.size() && is_reduction(texts[row.function.id]);
    Sizes& its_sizes = sizes[one.signature];
    ++its_sizes.operations;
    its_sizes.different.insert(row.count);
    all.push_back(one);
  }
  for (JobOperation& one : all) {
    const trace::NcclOperationRow& row = trace.nccl_operations[one.row];
    if (!sizes[one.signature].are_chance())
      one.signature =
          base::Hash().step(one.signature).step(row.count).step(row.data_type.id).value();
  }
  set_times(trace, all);
  return all;
}

} // namespace ncclprobe::analysis::job
