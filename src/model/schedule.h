// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/collective.h"
#include "model/data_type.h"
#include "model/parse_enum.h"
#include "model/per_rank.h"
#include "model/reduce_op.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Everything a worker runs is a Schedule: plain data, the same on all ranks. A collective
// benchmark, a P2P matrix, a DDP step and the replay of a captured job differ only in how theirs is
// made (workload/). Indexes name the declarations of the same schedule. Ranks in operations are
// ranks of the operation's communicator; ranks of buffers, copies and computations are global
// ranks.
//
// Rule: the operations of one communicator have one order on all its ranks (what a rank does not
// take part in is skipped, never reordered). check_schedule() in workload/ enforces it.
namespace ncclprobe::model {

struct StreamDecl {
  std::string name;
  int priority = 0; // 0 = default, negative = more urgent, as in CUDA
  bool operator==(const StreamDecl&) const = default;
};

struct CommunicatorDecl {
  std::string name;
  std::vector<int> ranks; // global ranks in communicator order; empty = all ranks
  // Declared before this one; >= 0: this one is split off it (ncclCommSplit), else made on its own.
  int parent = -1;
  bool operator==(const CommunicatorDecl&) const = default;
};

// registered: allocated by the library and registered with every communicator of the schedule
// (ncclMemAlloc, ncclCommRegister).
enum class Memory { plain, registered };
constexpr auto enum_names(Memory) {
  return std::to_array<std::pair<Memory, std::string_view>>(
      {{Memory::plain, "plain"}, {Memory::registered, "registered"}});
}

struct BufferDecl {
  std::string name;
  PerRank<std::uint64_t> bytes; // by global rank; 0 = this rank has none
  Memory memory = Memory::plain;
  bool operator==(const BufferDecl&) const = default;
};

// A place in a buffer: offset + rank * stride, so that "block r of the receive buffer" is one value
// for all ranks and two slices of one buffer can alias on purpose.
struct Slice {
  int buffer = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t rank_stride_bytes = 0; // times the rank in the operation's communicator

  std::uint64_t offset(int rank) const {
    return offset_bytes + static_cast<std::uint64_t>(rank) * rank_stride_bytes;
  }
  bool operator==(const Slice&) const = default;
};

// The other side of a send or receive.
struct Peer {
  enum class Kind { absolute, relative }; // relative: (own rank + value) modulo size
  Kind kind = Kind::absolute;
  int value = 0;

  int resolve(int rank, int size) const {
    return kind == Kind::absolute ? value : ((rank + value) % size + size) % size;
  }
  bool operator==(const Peer&) const = default;
};

struct CollectiveOp {
  Collective collective = Collective::all_reduce; // is_one_call(); others are sends and receives
  int communicator = 0;
  int stream = 0;
  Slice send;
  Slice receive;
  std::uint64_t count = 0; // elements, counted as NCCL's call of that name counts them
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  bool operator==(const CollectiveOp&) const = default;
};

struct SendOp {
  int communicator = 0;
  int stream = 0;
  Slice from;
  PerRank<std::uint64_t> count; // elements, by rank in the communicator
  DataType type = DataType::f32;
  Peer to;
  bool operator==(const SendOp&) const = default;
};

struct RecvOp {
  int communicator = 0;
  int stream = 0;
  Slice into;
  PerRank<std::uint64_t> count;
  DataType type = DataType::f32;
  Peer from;
  bool operator==(const RecvOp&) const = default;
};

// From one device's buffer to another's (or its own), issued on a stream of `from_rank`'s device.
// Both ranks are driven by one worker.
struct CopyOp {
  int stream = 0;
  int from_rank = 0;
  Slice from;
  int to_rank = 0;
  Slice to;
  std::uint64_t bytes = 0;
  bool operator==(const CopyOp&) const = default;
};

// Keeps the stream busy for a given time, as a backward pass of that length would.
struct SpinOp {
  int stream = 0;
  std::uint64_t duration_ns = 0;
  bool operator==(const SpinOp&) const = default;
};

// All ranks of the communicator meet on the host before any goes on.
struct BarrierOp {
  int communicator = 0;
  bool operator==(const BarrierOp&) const = default;
};

struct GroupBeginOp {
  bool operator==(const GroupBeginOp&) const = default;
};
struct GroupEndOp {
  bool operator==(const GroupEndOp&) const = default;
};

struct RecordEventOp {
  int stream = 0;
  int event = 0; // numbered freely, from 0
  bool operator==(const RecordEventOp&) const = default;
};
struct WaitEventOp {
  int stream = 0;
  int event = 0;
  bool operator==(const WaitEventOp&) const = default;
};

// A name at this point of the timeline ("bucket 3 ready").
struct MarkerOp {
  int stream = 0;
  std::string label;
  bool operator==(const MarkerOp&) const = default;
};

struct Operation {
  std::variant<CollectiveOp, SendOp, RecvOp, CopyOp, SpinOp, BarrierOp, GroupBeginOp, GroupEndOp,
               RecordEventOp, WaitEventOp, MarkerOp>
      what;
  std::vector<int> ranks; // roles: global ranks that take part; empty = all of them
  bool operator==(const Operation&) const = default;
};

// Half-open range of operations.
struct Region {
  int first = 0;
  int last = 0;
  bool operator==(const Region&) const = default;
};

// Input data, written before the first run and again before the checked one: element i of the slice
// holds the pattern's value of (rank in communicator, i) for this type, operation and size of
// communicator (data_pattern.h). All other bytes of every buffer are poisoned.
struct Fill {
  int communicator = 0;
  Slice slice;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Collective collective = Collective::all_reduce;
  int root = 0; // broadcast and scatter: only the root has input
  bool operator==(const Fill&) const = default;
};

// What must stand in `slice` after one run of the timed region on freshly filled buffers.
struct DataCheck {
  Collective collective = Collective::all_reduce;
  int communicator = 0;
  Slice slice;
  std::uint64_t count = 0; // as in CollectiveOp; of an all_to_all_v the block's
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  int distance = 0; // all_to_all_v, one check a block: it comes from the rank so many before,
  std::uint64_t first_index = 0; // from this element of its input on
  bool operator==(const DataCheck&) const = default;
};

struct Schedule {
  std::vector<StreamDecl> streams;
  std::vector<CommunicatorDecl> communicators;
  std::vector<BufferDecl> buffers;
  std::vector<Operation> operations;
  Region timed; // repeated back to back; operations before and after it run once around each batch
  std::optional<Region> capture; // this part is captured once as a CUDA graph and replayed
  std::vector<Fill> fills;
  std::vector<DataCheck> checks;
  bool operator==(const Schedule&) const = default;
};

} // namespace ncclprobe::model
