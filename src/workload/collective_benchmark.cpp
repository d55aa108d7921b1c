// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/collective_benchmark.h"

#include "model/data_pattern.h"

#include <bit>

namespace ncclprobe::workload {
namespace {

using namespace model;

constexpr std::uint64_t k_block_alignment_bytes = 16;

std::uint64_t rounded_block(std::uint64_t count, DataType type) {
  std::uint64_t aligned = count - count % (k_block_alignment_bytes / size_bytes(type));
  return aligned > 0 ? aligned : count;
}

// Elements per rank and call, as NCCL's call of that name counts them.
std::uint64_t count_for(const CollectiveRequest& request, int blocks) {
  if (request.count)
    return *request.count;
  std::uint64_t count =
      request.bytes / size_bytes(request.type) / static_cast<std::uint64_t>(blocks);
  return blocks == 1 ? count : rounded_block(count, request.type);
}

// Elements of an all_to_all_v's blocks by distance; `mean` is the mean over all ranks.
std::vector<std::uint64_t> unequal_blocks(const CollectiveRequest& request, std::uint64_t mean,
                                          int ranks) {
  if (ranks == 1)
    return {mean};
  auto n = static_cast<std::uint64_t>(ranks);
  std::uint64_t total = mean * n;
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t distance = 0; distance < n; ++distance) {
    std::uint64_t count = total * distance / (n * (n - 1) / 2);
    blocks.push_back(request.count ? count : rounded_block(count, request.type));
  }
  return blocks;
}

std::string numbered(const char* name, int index) {
  return index == 0 ? name : fmt::format("{} {}", name, index + 1);
}

struct Slices {
  Slice send;
  Slice receive;
};

// One communicator's part in the schedule.
struct Part {
  int communicator;
  int stream;
  std::vector<int> ranks; // global
  Slices at;
};

class Maker {
public:
  explicit Maker(const CollectiveRequest& request)
      : request_(request), n_(request.ranks / request.split),
        blocks_(block_counts(request.collective, n_)),
        count_(count_for(request, std::max(blocks_.send, blocks_.receive))),
        element_bytes_(size_bytes(request.type)) {
    if (request.collective == Collective::all_to_all_v)
      unequal_ = unequal_blocks(request, count_, n_);
  }

  Schedule make() {
    schedule_.communicators = {{"world"}};
    for (int stream = 0; stream < request_.streams; ++stream) {
      schedule_.streams.push_back({numbered("communication", stream), request_.priority});
      Slices at = lay_out(stream);
      for (int group = 0; group < request_.split; ++group) {
        Part part{declare_communicator(stream, group), stream, {}, at};
        for (int rank = 0; rank < n_; ++rank)
          part.ranks.push_back(group * n_ + rank);
        add(part);
      }
    }
    schedule_.timed = {0, static_cast<int>(schedule_.operations.size())};
    if (request_.launch == Launch::graph)
      schedule_.capture = schedule_.timed;
    return std::move(schedule_);
  }

  std::uint64_t label_bytes() const {
    return elements(std::max(blocks_.send, blocks_.receive)) * element_bytes_;
  }

private:
  // In a buffer of that many blocks.
  std::uint64_t elements(int blocks) const {
    if (unequal_.empty())
      return count_ * static_cast<std::uint64_t>(blocks);
    std::uint64_t sum = 0;
    for (std::uint64_t count : unequal_)
      sum += count;
    return sum;
  }

  int declare_communicator(int stream, int group) {
    auto& all = schedule_.communicators;
    if (request_.split == 1 && stream == 0)
      return 0;
    CommunicatorDecl one{numbered("world", stream)};
    if (request_.split > 1) {
      one = {fmt::format("{} of {}", numbered("part", group), numbered("stream", stream)), {}, 0};
      for (int rank = 0; rank < n_; ++rank)
        one.ranks.push_back(group * n_ + rank);
    }
    all.push_back(std::move(one));
    return static_cast<int>(all.size()) - 1;
  }

  int declare_buffer(const char* name, int stream, std::uint64_t bytes) {
    schedule_.buffers.push_back({numbered(name, stream), bytes + start_bytes(), request_.memory});
    return static_cast<int>(schedule_.buffers.size()) - 1;
  }

  std::uint64_t start_bytes() const { return request_.offset * element_bytes_; }
  std::uint64_t block_bytes() const { return count_ * element_bytes_; }

  // Declares a stream's buffers, and the blocks that a rank sends and receives.
  Slices lay_out(int stream) {
    std::uint64_t send_bytes = elements(blocks_.send) * element_bytes_;
    std::uint64_t receive_bytes = elements(blocks_.receive) * element_bytes_;
    if (request_.placement == Placement::out_of_place) {
      int send = declare_buffer("send", stream, send_bytes);
      int receive = declare_buffer("receive", stream, receive_bytes);
      return {{send, start_bytes()}, {receive, start_bytes()}};
    }
    int data = declare_buffer("data", stream, std::max(send_bytes, receive_bytes));
    // NCCL's in-place rule: the smaller side is the rank's own block of the larger one.
    std::uint64_t send_stride = blocks_.send < blocks_.receive ? block_bytes() : 0;
    std::uint64_t receive_stride = blocks_.receive < blocks_.send ? block_bytes() : 0;
    return {{data, start_bytes(), send_stride}, {data, start_bytes(), receive_stride}};
  }

  void add(const Part& part) {
    const Slices& at = part.at;
    schedule_.fills.push_back({part.communicator, at.send, elements(blocks_.send), request_.type,
                               request_.op, request_.collective, request_.root});
    DataCheck check{request_.collective, part.communicator, at.receive,   count_,
                    request_.type,       request_.op,       request_.root};
    if (request_.collective != Collective::all_to_all_v)
      schedule_.checks.push_back(check);
    switch (request_.collective) {
    case Collective::send_recv:
      begin_group();
      exchange(part, at.send, 1, at.receive, -1, count_, {});
      return end_group();
    case Collective::all_to_all_v:
      return add_all_to_all_v(part, check);
    case Collective::hypercube:
      return add_hypercube(part);
    default:
      push(CollectiveOp{request_.collective, part.communicator, part.stream, at.send, at.receive,
                        count_, request_.type, request_.op, request_.root});
    }
  }

  void add_all_to_all_v(const Part& part, DataCheck check) {
    begin_group();
    std::uint64_t first = 0;
    for (int distance = 0; distance < n_; ++distance) {
      std::uint64_t count = unequal_[distance];
      if (count == 0)
        continue;
      Slice from = part.at.send;
      Slice into = part.at.receive;
      from.offset_bytes += first * element_bytes_;
      into.offset_bytes += first * element_bytes_;
      exchange(part, from, distance, into, -distance, count, {});
      check.slice = into;
      check.count = count;
      check.distance = distance;
      check.first_index = first;
      schedule_.checks.push_back(check);
      first += count;
    }
    if (first == 0) // nothing is sent or examined
      schedule_.checks.push_back({Collective::all_to_all_v, part.communicator, part.at.receive, 0,
                                  request_.type, request_.op});
    end_group();
  }

  // As in nccl-tests' hypercube.cu: with the mask 1, 2, 4 ... each rank swaps its blocks with the
  // rank whose number differs in that bit.
  void add_hypercube(const Part& part) {
    std::uint64_t start = part.at.receive.offset_bytes;
    auto block = [&](int rank) {
      return Slice{part.at.receive.buffer,
                   start + static_cast<std::uint64_t>(rank) * block_bytes()};
    };
    bool copies = request_.placement == Placement::out_of_place && count_ > 0;
    if (copies)
      for (int rank = 0; rank < n_; ++rank) {
        int global = part.ranks[rank];
        push(CopyOp{part.stream, global, part.at.send, global, block(rank), block_bytes()});
      }
    else if (n_ == 1) { // nothing to do, but a region must have an operation
      begin_group();
      end_group();
    }
    for (int mask = 1; mask < n_; mask *= 2) {
      begin_group();
      for (int first = 0; first < n_; first += mask) { // of those that hold the same blocks
        int step = (first & mask) == 0 ? mask : -mask;
        std::vector<int> ranks(part.ranks.begin() + first, part.ranks.begin() + first + mask);
        exchange(part, block(first), step, block(first ^ mask), step,
                 count_ * static_cast<std::uint64_t>(mask), ranks);
      }
      end_group();
    }
  }

  // The ranks (empty: all) send to the rank `to` places further and receive from the rank at
  // `from`.
  void exchange(const Part& part, Slice send, int to, Slice receive, int from, std::uint64_t count,
                const std::vector<int>& ranks) {
    push(
        SendOp{
            part.communicator, part.stream, send, count, request_.type, {Peer::Kind::relative, to}},
        ranks);
    push(RecvOp{part.communicator,
                part.stream,
                receive,
                count,
                request_.type,
                {Peer::Kind::relative, from}},
         ranks);
  }

  void begin_group() { push(GroupBeginOp{}); }
  void end_group() { push(GroupEndOp{}); }
  template <typename Op>
  void push(Op op, std::vector<int> ranks = {}) {
    schedule_.operations.push_back({std::move(op), std::move(ranks)});
  }

  const CollectiveRequest& request_;
  int n_; // ranks of a communicator
  BlockCounts blocks_;
  std::uint64_t count_;
  std::vector<std::uint64_t> unequal_; // all_to_all_v: elements by distance
  std::uint64_t element_bytes_;
  Schedule schedule_;
};

Result<void> check_request(const CollectiveRequest& request) {
  Collective collective = request.collective;
  bool rooted = has_root(collective);
  if (request.ranks < 1 || (rooted && (request.root < 0 || request.root >= request.ranks)))
    return fail(Errc::invalid_argument, "root {} is not one of {} ranks", request.root,
                request.ranks);
  if (request.split < 1 || request.streams < 1)
    return fail(Errc::invalid_argument, "there must be at least one communicator and one stream");
  if (request.ranks % request.split != 0)
    return fail(Errc::unsupported, "{} ranks do not split into {} communicators of the same size",
                request.ranks, request.split);
  int n = request.ranks / request.split;
  if (rooted && request.root >= n)
    return fail(Errc::unsupported, "root {} is not in a communicator of {} ranks", request.root, n);
  if (request.placement == Placement::in_place &&
      (collective == Collective::send_recv || collective == Collective::all_to_all ||
       collective == Collective::all_to_all_v))
    return fail(Errc::unsupported, "{} has no in-place form", to_string(collective));
  if (collective == Collective::hypercube && !std::has_single_bit(static_cast<unsigned>(n)))
    return fail(Errc::unsupported, "hypercube needs a power of two of ranks, not {}", n);
  if (reduces(collective) && !can_check(request.type, request.op, n))
    return fail(Errc::unsupported, "1/{} is not a number that {} can average with", n,
                to_string(request.type));
  return {};
}

} // namespace

Result<Cell> make_collective_cell(const CollectiveRequest& request, const Timing& timing) {
  NCCLPROBE_TRY(check_request(request));
  Maker maker(request);
  Cell cell;
  cell.timing = timing;
  cell.label = {CollectiveLabel{request.collective, request.launch, request.memory, request.split,
                                request.streams, request.priority, request.offset},
                maker.label_bytes(),
                request.type,
                request.op,
                request.placement,
                request.root};
  cell.schedule = maker.make();
  return cell;
}

} // namespace ncclprobe::workload
