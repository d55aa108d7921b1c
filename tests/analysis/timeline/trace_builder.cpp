// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/trace_builder.h"

namespace ncclprobe::analysis::timeline {

std::uint32_t RankBuilder::operation(StepKey step, int index, trace::OperationKind kind,
                                     std::int64_t at_ns) {
  trace::OperationRow row;
  row.id = static_cast<std::uint32_t>(trace.operations.size() + 1);
  row.cell = step.cell;
  row.batch = step.batch;
  row.iteration = step.iteration;
  row.index = static_cast<std::uint16_t>(index);
  row.kind = kind;
  row.start_ns = static_cast<std::uint64_t>(at_ns);
  trace.operations.push_back(row);
  return row.id;
}

namespace {

void add(DeviceColumns& to, Times times, std::uint32_t operation, int stream, std::uint32_t name,
         std::uint8_t flags) {
  to.start_ns.push_back(static_cast<std::uint64_t>(times.start));
  to.duration_ns.push_back(static_cast<std::uint32_t>(times.end - times.start));
  to.name.push_back({name});
  to.operation.push_back(operation);
  to.stream.push_back(static_cast<std::uint16_t>(stream));
  to.flags.push_back(flags);
}

} // namespace

void RankBuilder::kernel(Times times, std::uint32_t operation, int stream, std::uint32_t name,
                         std::uint8_t flags) {
  add(trace.kernels, times, operation, stream, name, flags);
}

void RankBuilder::compute(Times times, std::uint32_t operation, int stream, std::uint32_t name) {
  kernel(times, operation, stream, name, 0);
}

void RankBuilder::communicate(Times times, std::uint32_t operation, int stream,
                              std::uint32_t name) {
  kernel(times, operation, stream, name, trace::k_communication);
}

void RankBuilder::helper(Times times, int stream) {
  kernel(times, 0, stream, 0, trace::k_helper);
}

void RankBuilder::copy(Times times, std::uint32_t operation, int stream) {
  add(trace.copies, times, operation, stream, 0, 0);
}

void RankBuilder::nccl(std::uint64_t sequence, Times gpu_times, std::uint32_t operation,
                       std::uint32_t function) {
  if (trace.communicators.empty()) {
    trace::CommunicatorRow communicator;
    communicator.hash = 77;
    communicator.ranks = 2;
    communicator.rank = -1; // that of the rank, source_of() knows which
    trace.communicators.push_back(communicator);
  }
  trace::NcclOperationRow row;
  row.id = static_cast<std::uint32_t>(trace.nccl_operations.size() + 1);
  row.sequence = sequence;
  row.operation = operation;
  row.function = {function};
  row.algorithm = {k_ring};
  row.channels = 1;
  trace.nccl_operations.push_back(row);
  trace::NcclChannelRow channel;
  channel.nccl_operation = row.id;
  channel.start_gt = static_cast<std::uint64_t>(gpu_times.start);
  channel.stop_gt = static_cast<std::uint64_t>(gpu_times.end);
  trace.nccl_channels.push_back(channel);
}

void RankBuilder::nccl_message(trace::NcclKind kind, int rank, int peer, std::uint64_t number,
                               Times gpu_times, std::uint32_t operation) {
  nccl(number, gpu_times, operation, kind == trace::NcclKind::send ? k_send : k_receive);
  trace.communicators.front().rank = rank;
  trace::NcclOperationRow& row = trace.nccl_operations.back();
  row.kind = kind;
  row.peer = peer;
  row.count = 64;
}

std::vector<std::string> texts() {
  return {"",
          "gemm",
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
          "AllReduce",
          "Broadcast",
          "RING",
          "ncclDevKernel_SendRecv",
          "Send",
          "Recv"};
}

ClockModel steady_clock(std::int64_t offset_ns, std::uint64_t error_ns) {
  std::vector<trace::ClockRow> readings;
  for (std::uint64_t at_ns : {std::uint64_t{0}, std::uint64_t{1} << 50})
    readings.push_back({at_ns, offset_ns, error_ns, 2 * error_ns, trace::ClockKind::host});
  return *fit_clock(readings);
}

TraceSource source_of(std::vector<RankBuilder> ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (trace::CommunicatorRow& communicator : ranks[rank].trace.communicators)
      if (communicator.rank < 0)
        communicator.rank = static_cast<int>(rank);
  TraceSource source;
  source.texts = texts();
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank)
    source.ranks.push_back({rank, "host", {}, {}});
  source.load = [ranks](int rank, Pass) -> base::Result<RankTrace> {
    return ranks.at(static_cast<std::size_t>(rank)).trace;
  };
  return source;
}

} // namespace ncclprobe::analysis::timeline
