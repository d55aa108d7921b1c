// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/p2p_benchmark.h"

#include <algorithm>
#include <map>

namespace ncclprobe::workload {
namespace {

using namespace model;

// Buffers of every schedule, so one cell's memory serves the next.
enum : int { k_source = 0, k_target = 1, k_host_source = 2, k_host_target = 3 };

std::uint64_t clamp_count(std::uint64_t wanted, std::uint64_t least, std::uint64_t most) {
  return std::clamp(wanted, least, most);
}

Timing timing_for(P2pMethod method, std::uint64_t bytes) {
  constexpr std::uint64_t k_bytes_per_sample = std::uint64_t{1} << 30;
  Timing timing;
  timing.warmups = 1;
  timing.batches = 5;
  timing.mode = TimingMode::events;
  timing.budget_ns = 150'000'000;
  auto copies = clamp_count(k_bytes_per_sample / std::max<std::uint64_t>(bytes, 1), 2, 50);
  timing.iterations = static_cast<int>(copies);
  switch (method) {
  case P2pMethod::latency:
    timing.iterations = 1;
    timing.batches = 3;
    break;
  case P2pMethod::sendrecv: // between processes, only the host's clock is common
    timing.mode = TimingMode::batch;
    timing.iterations = static_cast<int>(std::min<std::uint64_t>(copies, 10));
    timing.warmups = 2;
    break;
  case P2pMethod::pingpong:
    timing.mode = TimingMode::batch;
    timing.iterations = 100;
    timing.warmups = 10;
    break;
  case P2pMethod::pageable: // the host does part of the copy
    timing.mode = TimingMode::batch;
    timing.iterations = static_cast<int>(std::min<std::uint64_t>(copies, 4));
    break;
  default:
    break;
  }
  return timing;
}

class P2pMaker {
public:
  explicit P2pMaker(const P2pCellRequest& request)
      : request_(request), label_(request.label), bytes_(request.bytes),
        type_(request.bytes % size_bytes(DataType::u64) == 0 ? DataType::u64 : DataType::u8) {
    bool ipc = label_.mode == P2pMode::ipc;
    Memory on_device = ipc ? Memory::shared : Memory::plain;
    Memory on_host =
        label_.method == P2pMethod::pageable ? Memory::pageable_host : Memory::pinned_host;
    schedule_.buffers = {{"source", request.shared_bytes, on_device},
                         {"target", request.shared_bytes, on_device},
                         {"host source", 0, on_host},
                         {"host target", 0, on_host}};
  }

  Cell make() {
    if (label_.method == P2pMethod::latency)
      make_chases();
    else if (label_.method == P2pMethod::pingpong)
      make_pingpong();
    else if (label_.method == P2pMethod::sendrecv)
      make_messages();
    else
      make_copies();
    schedule_.timed = {0, static_cast<int>(schedule_.operations.size())};
    Cell cell;
    cell.label = {.what = label_, .bytes = bytes_, .type = type_};
    cell.schedule = std::move(schedule_);
    cell.timing = timing_for(label_.method, bytes_);
    return cell;
  }

private:
  void need(int buffer, int rank, std::uint64_t bytes) {
    PerRank<std::uint64_t>& size = schedule_.buffers[buffer].bytes;
    if (bytes > size.at(rank))
      size.exceptions[rank] = bytes;
  }
  // The n-th piece of work of a rank gets its n-th stream: pieces run concurrently.
  int next_stream(int rank) {
    int stream = streams_used_[rank]++;
    while (static_cast<int>(schedule_.streams.size()) <= stream)
      schedule_.streams.push_back({fmt::format("p2p {}", schedule_.streams.size())});
    return stream;
  }
  std::uint64_t elements() const { return bytes_ / size_bytes(type_); }

  // Input of a rank, once.
  void fill(const Slice& slice, int rank) {
    auto same = [&](const Fill& other) {
      return other.slice == slice && other.ranks == std::vector{rank};
    };
    if (std::ranges::none_of(schedule_.fills, same))
      schedule_.fills.push_back(
          {k_all_ranks, slice, elements(), type_, ReduceOp::sum, Collective::send_recv, 0, {rank}});
  }
  // `to` receives the input of `from`.
  void check(const Slice& slice, int from, int to) {
    DataCheck one{Collective::broadcast, k_all_ranks, slice, elements(), type_,
                  ReduceOp::sum,         from};
    one.ranks = {to};
    schedule_.checks.push_back(one);
  }

  // Source and destination of a transfer's data. If all pairs run together, each has its own block
  // at the receiver.
  Slice source(const P2pTransfer& transfer) {
    Slice slice{transfer.from.host ? k_host_source : k_source};
    need(slice.buffer, transfer.from.rank, bytes_);
    fill(slice, transfer.from.rank);
    return slice;
  }
  Slice target(const P2pTransfer& transfer) {
    bool together = label_.direction == P2pDirection::together;
    auto block = static_cast<std::uint64_t>(together ? transfer.from.rank : 0);
    Slice slice{transfer.to.host ? k_host_target : k_target, block * bytes_};
    need(slice.buffer, transfer.to.rank, slice.offset_bytes + bytes_);
    check(slice, transfer.from.rank, transfer.to.rank);
    return slice;
  }

  void make_copies() {
    for (const P2pTransfer& transfer : label_.transfers) {
      CopyOp copy;
      copy.from_rank = transfer.from.rank;
      copy.to_rank = transfer.to.rank;
      copy.from = source(transfer);
      copy.to = target(transfer);
      copy.bytes = bytes_;
      P2pMethod method = label_.method;
      if (method == P2pMethod::sm_write || method == P2pMethod::sm_read)
        copy.means = CopyMeans::kernel;
      else if (method == P2pMethod::staged)
        copy.means = CopyMeans::through_host;
      copy.driver =
          timed_rank(method, transfer) == copy.from_rank ? CopyDriver::source : CopyDriver::target;
      copy.stream = next_stream(copy.driving_rank());
      schedule_.operations.push_back({copy, {}});
    }
  }

  void make_chases() {
    for (const P2pTransfer& transfer : label_.transfers) {
      ChaseOp chase;
      chase.rank = transfer.from.rank;
      chase.through_rank = transfer.to.rank;
      chase.through = {transfer.to.host ? k_host_source : k_source};
      chase.bytes = bytes_;
      chase.stride_bytes = k_chain_stride_bytes;
      chase.hops = k_chase_hops;
      chase.result = {k_target};
      chase.stream = next_stream(chase.rank);
      need(chase.through.buffer, chase.through_rank, chase.bytes);
      need(k_target, chase.rank, sizeof(std::uint64_t));
      schedule_.operations.push_back({chase, {}});
    }
  }

  void send(const P2pTransfer& transfer, const Slice& from, const Slice& into) {
    int sender = transfer.from.rank;
    int receiver = transfer.to.rank;
    schedule_.operations.push_back(
        {SendOp{0, 0, from, elements(), type_, {Peer::Kind::absolute, receiver}}, {sender}});
    schedule_.operations.push_back(
        {RecvOp{0, 0, into, elements(), type_, {Peer::Kind::absolute, sender}}, {receiver}});
  }

  void begin_messages() {
    schedule_.streams = {{"p2p"}};
    schedule_.communicators = {{"world"}};
  }

  void make_messages() {
    begin_messages();
    schedule_.operations.push_back({GroupBeginOp{}, {}});
    for (const P2pTransfer& transfer : label_.transfers)
      send(transfer, source(transfer), target(transfer));
    schedule_.operations.push_back({GroupEndOp{}, {}});
  }

  // There and back: the answer is the answerer's own message.
  void make_pingpong() {
    begin_messages();
    for (const P2pTransfer& there : label_.transfers) {
      P2pTransfer back{there.to, there.from};
      for (const P2pTransfer& one : {there, back}) {
        schedule_.operations.push_back({GroupBeginOp{}, {}});
        send(one, source(one), target(one));
        schedule_.operations.push_back({GroupEndOp{}, {}});
      }
    }
  }

  const P2pCellRequest& request_;
  const P2pLabel& label_;
  std::uint64_t bytes_;
  DataType type_;
  Schedule schedule_;
  std::map<int, int> streams_used_; // by rank
};

} // namespace

Cell make_p2p_cell(const P2pCellRequest& request) {
  return P2pMaker(request).make();
}

} // namespace ncclprobe::workload
