// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/collective_benchmark.h"

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr std::uint64_t k_block_alignment_bytes = 16;

// Elements per rank and call, as NCCL's call of that name counts them.
std::uint64_t count_for(const CollectiveRequest& request, int blocks) {
  std::uint64_t element = size_bytes(request.type);
  std::uint64_t count = request.bytes / element / static_cast<std::uint64_t>(blocks);
  if (blocks == 1)
    return count;
  std::uint64_t aligned = count - count % (k_block_alignment_bytes / element);
  return aligned > 0 ? aligned : count;
}

struct Slices {
  Slice send;
  Slice receive;
};

// Declares the buffers and says where a rank sends from and receives into.
Slices lay_out(Schedule& schedule, Collective collective, Placement placement,
               std::uint64_t block_bytes, int ranks) {
  BlockCounts blocks = block_counts(collective, ranks);
  auto send_blocks = static_cast<std::uint64_t>(blocks.send);
  auto receive_blocks = static_cast<std::uint64_t>(blocks.receive);
  if (placement == Placement::out_of_place) {
    schedule.buffers = {{"send", send_blocks * block_bytes},
                        {"receive", receive_blocks * block_bytes}};
    return {{0}, {1}};
  }
  schedule.buffers = {{"data", std::max(send_blocks, receive_blocks) * block_bytes}};
  // NCCL's in-place rule: the smaller side is the rank's own block of the larger one.
  std::uint64_t send_stride = send_blocks < receive_blocks ? block_bytes : 0;
  std::uint64_t receive_stride = receive_blocks < send_blocks ? block_bytes : 0;
  return {{0, 0, send_stride}, {0, 0, receive_stride}};
}

} // namespace

base::Result<Cell> make_collective_cell(const CollectiveRequest& request, const Timing& timing) {
  Collective collective = request.collective;
  if (request.ranks < 1 ||
      (has_root(collective) && (request.root < 0 || request.root >= request.ranks)))
    return base::fail(base::Errc::invalid_argument, "root {} is not one of {} ranks", request.root,
                      request.ranks);
  bool ring = collective == Collective::send_recv;
  if (request.placement == Placement::in_place && (ring || collective == Collective::all_to_all))
    return base::fail(base::Errc::unsupported, "{} has no in-place form", to_string(collective));

  BlockCounts blocks = block_counts(collective, request.ranks);
  int size_blocks = std::max(blocks.send, blocks.receive);
  std::uint64_t count = count_for(request, size_blocks);
  std::uint64_t block_bytes = count * size_bytes(request.type);

  Cell cell;
  cell.timing = timing;
  cell.label = {std::string(to_string(collective)),
                block_bytes * static_cast<std::uint64_t>(size_blocks),
                request.type,
                request.op,
                request.placement,
                request.root};
  Schedule& schedule = cell.schedule;
  schedule.streams = {{"communication"}};
  schedule.communicators = {{"world"}};
  Slices at = lay_out(schedule, collective, request.placement, block_bytes, request.ranks);
  if (ring) {
    SendOp send{0, 0, at.send, count, request.type, {Peer::Kind::relative, 1}};
    RecvOp receive{0, 0, at.receive, count, request.type, {Peer::Kind::relative, -1}};
    schedule.operations = {{GroupBeginOp{}}, {send}, {receive}, {GroupEndOp{}}};
  } else {
    schedule.operations = {{CollectiveOp{collective, 0, 0, at.send, at.receive, count, request.type,
                                         request.op, request.root}}};
  }
  schedule.timed = {0, static_cast<int>(schedule.operations.size())};
  std::uint64_t input = count * static_cast<std::uint64_t>(blocks.send);
  schedule.fills = {{0, at.send, input, request.type, request.op, collective, request.root}};
  schedule.checks = {{collective, 0, at.receive, count, request.type, request.op, request.root}};
  return cell;
}

} // namespace ncclprobe::workload
