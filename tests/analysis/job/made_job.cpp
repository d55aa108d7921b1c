// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/made_job.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis::job {

namespace {

constexpr std::int64_t k_latency_ns = 10'000;
constexpr std::uint64_t k_bytes_per_ns = 100;

std::int64_t transfer_ns(std::uint64_t bytes) {
  return k_latency_ns + static_cast<std::int64_t>(bytes / k_bytes_per_ns);
}

void add_work(timeline::DeviceColumns& to, std::int64_t from_ns, std::int64_t to_ns) {
  to.start_ns.push_back(static_cast<std::uint64_t>(from_ns));
  to.duration_ns.push_back(static_cast<std::uint32_t>(to_ns - from_ns));
}

// The host hands an operation over 3 us before it begins.
MadeJob::Part part_of(std::int64_t begin_ns, std::int64_t end_ns) {
  return {begin_ns - 3000, begin_ns, end_ns};
}

} // namespace

int MadeJob::communicator(std::vector<int> ranks) {
  const auto id = static_cast<std::uint16_t>(communicators_.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    trace::CommunicatorRow row;
    row.hash = 1000u + id;
    row.id = id;
    row.ranks = static_cast<int>(ranks.size());
    row.rank = static_cast<int>(i);
    of(ranks[i]).trace.communicators.push_back(row);
  }
  communicators_.push_back(std::move(ranks));
  return id;
}

void MadeJob::collective_at(int communicator, const char* function, std::uint64_t bytes,
                            const std::vector<Part>& ready) {
  std::vector<Part> parts = ready;
  const Part& last = *std::ranges::max_element(parts, {}, &Part::begin_ns);
  const std::int64_t end_ns = last.begin_ns + transfer_ns(bytes);
  for (Part& part : parts)
    part.end_ns = end_ns;
  collective(communicator, function, bytes, parts);
  free_ns_[communicator] = end_ns;
}

void MadeJob::collective(int communicator, const char* function, std::uint64_t bytes) {
  std::vector<Part> ready;
  for (int rank : communicators_[static_cast<std::size_t>(communicator)])
    ready.push_back(part_of(of(rank).now_ns, 0));
  collective_at(communicator, function, bytes, ready);
}

void MadeJob::collective_beside(int communicator, const char* function, std::uint64_t bytes) {
  const std::vector<int>& ranks = communicators_[static_cast<std::size_t>(communicator)];
  std::vector<std::int64_t> now_ns;
  std::vector<Part> ready;
  for (int rank : ranks) {
    now_ns.push_back(of(rank).now_ns);
    ready.push_back(part_of(of(rank).now_ns, 0)); // called when it was ready
    ready.back().begin_ns = std::max(of(rank).now_ns, free_ns_[communicator]);
  }
  collective_at(communicator, function, bytes, ready);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    of(ranks[i]).now_ns = now_ns[i];
}

void MadeJob::wait(int communicator) {
  for (int rank : communicators_[static_cast<std::size_t>(communicator)])
    of(rank).now_ns = std::max(of(rank).now_ns, free_ns_[communicator]);
}

void MadeJob::collective(int communicator, const char* function, std::uint64_t bytes,
                         const std::vector<Part>& parts) {
  const std::vector<int>& ranks = communicators_[static_cast<std::size_t>(communicator)];
  const std::uint64_t sequence = sequences_[{communicator, function}]++;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    add(ranks[i], communicator, function, bytes, -1, sequence, parts[i]);
}

void MadeJob::message(int communicator, int from, int to, std::uint64_t bytes,
                      std::int64_t longer_ns) {
  const std::vector<int>& ranks = communicators_[static_cast<std::size_t>(communicator)];
  const std::uint64_t sequence = sequences_[{communicator, fmt::format("{} to {}", from, to)}]++;
  const int sender = ranks[static_cast<std::size_t>(from)];
  const int receiver = ranks[static_cast<std::size_t>(to)];
  const std::int64_t end_ns =
      std::max(of(sender).now_ns, of(receiver).now_ns) + transfer_ns(bytes) + longer_ns;
  add(sender, communicator, "Send", bytes, to, sequence, part_of(of(sender).now_ns, end_ns));
  if (from != to)
    add(receiver, communicator, "Recv", bytes, from, sequence,
        part_of(of(receiver).now_ns, end_ns));
}

void MadeJob::add(int rank, int communicator, const std::string& function, std::uint64_t bytes,
                  int peer, std::uint64_t sequence, const Part& part) {
  timeline::RankTrace& trace = of(rank).trace;
  trace::NcclOperationRow row;
  row.id = static_cast<std::uint32_t>(trace.nccl_operations.size() + 1);
  row.communicator = static_cast<std::uint16_t>(communicator);
  row.kind = function == "Send"   ? trace::NcclKind::send
             : function == "Recv" ? trace::NcclKind::receive
                                  : trace::NcclKind::collective;
  row.function = {text(function)};
  row.data_type = {text("ncclFloat32")};
  row.count = bytes / 4;
  row.peer = peer;
  row.sequence = sequence;
  row.enqueue_ns = static_cast<std::uint64_t>(part.enqueued_ns - 2000);
  row.enqueued_ns = static_cast<std::uint64_t>(part.enqueued_ns);
  row.channels = 1;
  trace.nccl_operations.push_back(row);
  trace::NcclChannelRow channel;
  channel.nccl_operation = row.id;
  channel.start_gt = static_cast<std::uint64_t>(part.begin_ns);
  channel.stop_gt = static_cast<std::uint64_t>(part.end_ns);
  channel.start_ns = channel.start_gt;
  channel.stop_ns = channel.stop_gt;
  trace.nccl_channels.push_back(channel);
  of(rank).now_ns = part.end_ns;
}

void MadeJob::kernels_recorded(int rank, std::int64_t from_ns, std::int64_t to_ns) {
  of(rank).trace.kernel_windows.push_back(
      {static_cast<std::uint64_t>(from_ns), static_cast<std::uint64_t>(to_ns)});
}

void MadeJob::computing_kernel(int rank, std::int64_t from_ns, std::int64_t to_ns) {
  add_work(of(rank).trace.kernels, from_ns, to_ns);
}

void MadeJob::copy(int rank, std::int64_t from_ns, std::int64_t to_ns, trace::CopyKind kind) {
  add_work(of(rank).trace.copies, from_ns, to_ns);
  of(rank).trace.copies.kind.push_back(kind);
}

void MadeJob::range(int rank, const char* name, std::int64_t from_ns, std::int64_t to_ns,
                    int level) {
  trace::RangeRow row;
  row.start_ns = static_cast<std::uint64_t>(from_ns);
  row.end_ns = static_cast<std::uint64_t>(to_ns);
  row.name = {text(name)};
  row.thread = 1;
  row.level = static_cast<std::uint8_t>(level);
  of(rank).trace.ranges.push_back(row);
}

std::uint32_t MadeJob::text(const std::string& text) {
  const auto found = std::ranges::find(texts_, text);
  const auto number = static_cast<std::uint32_t>(found - texts_.begin());
  if (found == texts_.end())
    texts_.push_back(text);
  return number;
}

timeline::TraceSource MadeJob::source() const {
  timeline::TraceSource source;
  source.texts = texts_;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    source.ranks.push_back({rank, "host", {}, {}});
  source.load = [ranks = ranks_](int rank, timeline::Pass) -> base::Result<timeline::RankTrace> {
    return ranks[static_cast<std::size_t>(rank)].trace;
  };
  return source;
}

MadeJob pipelines(std::int64_t late_ns, std::int64_t slow_ns) {
  MadeJob job(4);
  const std::vector<int> pipelines{job.communicator({0, 1}), job.communicator({2, 3})};
  const std::vector<int> data{job.communicator({0, 2}), job.communicator({1, 3})};
  std::mt19937_64 random(1);
  auto compute = [&](int rank, std::int64_t ns) {
    job.compute(rank, ns + noise_ns(random, 10'000));
  };
  for (int step = 0; step < k_simulated_steps; ++step) {
    const bool is_planted = step % 5 == 4;
    for (int batch = 0; batch < 4; ++batch)
      for (int pipeline = 0; pipeline < 2; ++pipeline) {
        const bool is_disturbed = is_planted && pipeline == 0 && batch == 2;
        compute(2 * pipeline, 2 * k_ms + (is_disturbed ? late_ns : 0));
        job.message(pipelines[static_cast<std::size_t>(pipeline)], 0, 1, 4 * k_mib,
                    is_disturbed ? slow_ns : 0);
        compute(2 * pipeline + 1, 2 * k_ms);
      }
    for (int group : data)
      job.collective(group, "AllReduce", 50 * k_mib);
    job.compute(3 * k_ms);
  }
  return job;
}

} // namespace ncclprobe::analysis::job
