// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/collective.h"
#include "model/data_type.h"
#include "model/parse_enum.h"
#include "model/per_rank.h"
#include "model/reduce_op.h"
#include "model/signs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// Everything a worker runs is a Schedule: plain data, the same on all ranks. A collective
// benchmark, a P2P matrix, a DDP step and the replay of a captured job only differ in how their
// schedules are made (workload/). Indexes refer to declarations of the same schedule. Ranks in
// operations are ranks of the operation's communicator; ranks of buffers, copies and computations
// are global ranks.
//
// Rule: the operations of one communicator have the same order on all its ranks. A rank skips
// operations in which it does not take part, but never reorders them. check_schedule() in workload/
// enforces this.
namespace ncclprobe::model {

struct StreamDecl {
  std::string name;
  int priority = 0; // 0 = default, negative = more urgent, as in CUDA
  bool operator==(const StreamDecl&) const = default;
};
NCCLPROBE_FIELDS(StreamDecl, name, priority)

struct CommunicatorDecl {
  std::string name;
  std::vector<int> ranks; // global ranks in communicator order; empty = all ranks
  // >= 0: split off this communicator (ncclCommSplit), which is declared earlier; else created
  // without a parent.
  int parent = -1;
  bool operator==(const CommunicatorDecl&) const = default;
};
NCCLPROBE_GROWN_FIELDS(CommunicatorDecl, (name, ranks), (parent))

// registered: allocated by the library and registered with every communicator of the schedule
// (ncclMemAlloc, ncclCommRegister). shared: other processes on the host may map it (CUDA IPC).
// pinned_host and pageable_host: host memory, close to the rank's device.
enum class Memory { plain, registered, shared, pinned_host, pageable_host };

// How the timed region is launched. graph: captured once as a CUDA graph and replayed.
enum class Launch { direct, graph };

struct BufferDecl {
  std::string name;
  PerRank<std::uint64_t> bytes; // by global rank; 0 = this rank has none
  Memory memory = Memory::plain;
  bool operator==(const BufferDecl&) const = default;
};
NCCLPROBE_GROWN_FIELDS(BufferDecl, (name, bytes), (memory))

// A place in a buffer: offset + rank * stride. So "block r of the receive buffer" is one value for
// all ranks. Two slices of one buffer may overlap on purpose.
struct Slice {
  int buffer = 0;
  std::uint64_t offset_bytes = 0;
  std::uint64_t rank_stride_bytes = 0; // times the rank in the operation's communicator

  std::uint64_t offset(int rank) const {
    return offset_bytes + static_cast<std::uint64_t>(rank) * rank_stride_bytes;
  }
  bool operator==(const Slice&) const = default;
};
NCCLPROBE_FIELDS(Slice, buffer, offset_bytes, rank_stride_bytes)

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
NCCLPROBE_FIELDS(CollectiveOp, collective, communicator, stream, send, receive, count, type, op,
                 root)

struct SendOp {
  int communicator = 0;
  int stream = 0;
  Slice from;
  PerRank<std::uint64_t> count; // elements, by rank in the communicator
  DataType type = DataType::f32;
  Peer to;
  bool operator==(const SendOp&) const = default;
};
NCCLPROBE_FIELDS(SendOp, communicator, stream, from, count, type, to)

struct RecvOp {
  int communicator = 0;
  int stream = 0;
  Slice into;
  PerRank<std::uint64_t> count;
  DataType type = DataType::f32;
  Peer from;
  bool operator==(const RecvOp&) const = default;
};
NCCLPROBE_FIELDS(RecvOp, communicator, stream, into, count, type, from)

// copy_engine: a DMA engine of the device that drives the copy. kernel: loads and stores by its
// processors. through_host: a DMA engine, with direct access between the two devices disabled, so
// the data goes through host memory.
enum class CopyMeans { copy_engine, kernel, through_host };

// The device that drives a copy: the source's writes to the target, the target's reads from the
// source.
enum class CopyDriver { source, target };

// From one rank's buffer to another's (or its own), issued on a stream of the driving rank's
// device. The same worker drives the other rank, or the other rank's buffer is shared.
struct CopyOp {
  int stream = 0;
  int from_rank = 0;
  Slice from;
  int to_rank = 0;
  Slice to;
  std::uint64_t bytes = 0;
  CopyMeans means = CopyMeans::copy_engine;
  CopyDriver driver = CopyDriver::source;

  int driving_rank() const { return driver == CopyDriver::source ? from_rank : to_rank; }
  bool operator==(const CopyOp&) const = default;
};
NCCLPROBE_GROWN_FIELDS(CopyOp, (stream, from_rank, from, to_rank, to, bytes), (means, driver))

// One thread of `rank`'s device follows a chain of pointers through memory of `through_rank` (its
// own: local latency). Each access waits for the previous one. The chain visits every stride-th
// byte of `through` in ascending order, then starts again. It is written like an input (Fill), from
// this description. At the end `result` of `rank` holds the position as u64, in bytes from the
// start of `through`; it is checked like a DataCheck.
struct ChaseOp {
  int stream = 0;
  int rank = 0;
  int through_rank = 0;
  Slice through;
  std::uint64_t bytes = 0; // a multiple of the stride
  std::uint64_t stride_bytes = 128;
  std::uint64_t hops = 0;
  Slice result;

  std::uint64_t last_position() const { return hops % (bytes / stride_bytes) * stride_bytes; }
  bool operator==(const ChaseOp&) const = default;
};
NCCLPROBE_FIELDS(ChaseOp, stream, rank, through_rank, through, bytes, stride_bytes, hops, result)

// Keeps the stream busy for a given time, as a backward pass of that duration would.
struct SpinOp {
  int stream = 0;
  std::uint64_t duration_ns = 0;
  // It stands for a job's host that is busy launching: nothing is computed meanwhile.
  bool is_host = false;
  // The whole device is busy, as with a job's kernels: what else runs meanwhile shares its
  // multiprocessors, caches and memory with them.
  bool is_load = false;
  bool operator==(const SpinOp&) const = default;
};
NCCLPROBE_GROWN_FIELDS(SpinOp, (stream, duration_ns), (is_host, is_load))

// Memory layout of a product's factors. Matrices are stored column by column, as in BLAS: n as in
// the product, t transposed. So A of tn is k x m in memory, and B of nt is n x k. If weights are
// stored as [out, in], a layer's forward pass is tn, the gradient of its input nn, and the gradient
// of its weights nt.
enum class GemmLayout { nn, nt, tn };

// tf32: f32 factors are rounded to 10 bits of mantissa, and tensor cores multiply them.
enum class GemmMath { full, tf32 };

// C (m x n) = A (m x k) times B (k x n), `batch` of them one after the other in memory. Sums are
// kept in f32. 2 m n k batch floating point operations.
struct GemmOp {
  int stream = 0;
  Slice a, b, c; // rank strides count by global rank
  std::uint64_t m = 0, n = 0, k = 0;
  std::uint64_t batch = 1;
  DataType type = DataType::f32; // of all three: f32, f16 or bf16
  GemmLayout layout = GemmLayout::nn;
  GemmMath math = GemmMath::full;
  bool operator==(const GemmOp&) const = default;
};
NCCLPROBE_FIELDS(GemmOp, stream, a, b, c, m, n, k, batch, type, layout, math)

// One kernel that copies `count` elements to another place, and rounds them if the type differs:
// gradients into a bucket, f32 to bf16 before sending.
struct ConvertOp {
  int stream = 0;
  Slice from, into; // rank strides count by global rank
  std::uint64_t count = 0;
  DataType from_type = DataType::f32; // f32, f16 or bf16
  DataType into_type = DataType::f32;
  bool operator==(const ConvertOp&) const = default;
};
NCCLPROBE_FIELDS(ConvertOp, stream, from, into, count, from_type, into_type)

// One step of AdamW as one kernel: reads `count` gradients, updates as many weights (both of
// `type`) and two moments of each (f32, one array after the other in `state`).
struct OptimizerOp {
  int stream = 0;
  Slice gradients, weights, state; // rank strides count by global rank
  std::uint64_t count = 0;
  DataType type = DataType::f32; // f32, f16 or bf16
  bool operator==(const OptimizerOp&) const = default;
};
NCCLPROBE_FIELDS(OptimizerOp, stream, gradients, weights, state, count, type)

// A barrier on the host for all ranks of the communicator.
struct BarrierOp {
  int communicator = 0;
  bool operator==(const BarrierOp&) const = default;
};
NCCLPROBE_FIELDS(BarrierOp, communicator)

struct GroupBeginOp {
  bool operator==(const GroupBeginOp&) const = default;
};
NCCLPROBE_FIELDS(GroupBeginOp)
struct GroupEndOp {
  bool operator==(const GroupEndOp&) const = default;
};
NCCLPROBE_FIELDS(GroupEndOp)

struct RecordEventOp {
  int stream = 0;
  int event = 0; // numbered freely, from 0
  bool operator==(const RecordEventOp&) const = default;
};
NCCLPROBE_FIELDS(RecordEventOp, stream, event)
struct WaitEventOp {
  int stream = 0;
  int event = 0;
  bool operator==(const WaitEventOp&) const = default;
};
NCCLPROBE_FIELDS(WaitEventOp, stream, event)

// The purpose of a stretch of a step. note: none, it names a point of the timeline. prepare: work
// that only communication needs, such as filling buckets. host_copy: input is copied from host
// memory.
enum class Activity { note, forward, backward, optimizer, prepare, communication, host_copy };

// begin and end of a stretch: both have its label, activity and stream, and the stretches of one
// stream follow one another. A stretch begins after everything that its stream waits for.
enum class MarkerEdge { point, begin, end };

// A named moment on a stream ("bucket 3"). TimingMode::steps times it (record.h, Mark).
struct MarkerOp {
  int stream = 0;
  std::string label;
  Activity activity = Activity::note;
  MarkerEdge edge = MarkerEdge::point;
  bool operator==(const MarkerOp&) const = default;
};
NCCLPROBE_GROWN_FIELDS(MarkerOp, (stream, label), (activity, edge))

struct Operation {
  std::variant<CollectiveOp, SendOp, RecvOp, CopyOp, SpinOp, BarrierOp, GroupBeginOp, GroupEndOp,
               RecordEventOp, WaitEventOp, MarkerOp, ChaseOp, GemmOp, ConvertOp, OptimizerOp>
      what;
  std::vector<int> ranks; // roles: global ranks that take part; empty = all
  bool operator==(const Operation&) const = default;
};

// Half-open range of operations.
struct Region {
  int first = 0;
  int last = 0;
  bool operator==(const Region&) const = default;
};
NCCLPROBE_FIELDS(Region, first, last)

// Replaces a communicator's number: all ranks of the trial by their global numbers. Fills and
// checks use it in schedules that need no communicator, so none is created.
inline constexpr int k_all_ranks = -1;

// Input data, written before the first run and again before the checked one. Element i of the slice
// is the pattern's number for (rank in communicator, i), this type, operation and communicator size
// (data_pattern.h). All other bytes of every buffer are poisoned.
struct Fill {
  int communicator = 0;
  Slice slice;
  std::uint64_t count = 0;
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Collective collective = Collective::all_reduce;
  int root = 0;             // broadcast and scatter: only the root has input
  std::vector<int> ranks{}; // global ranks that have this input; empty = all of the communicator
  Signs signs = Signs::both;
  bool operator==(const Fill&) const = default;
};
NCCLPROBE_GROWN_FIELDS(Fill, (communicator, slice, count, type, op, collective, root),
                       (ranks, signs))

// The expected content of `slice` after one run of the timed region on freshly filled buffers.
struct DataCheck {
  Collective collective = Collective::all_reduce;
  int communicator = 0;
  Slice slice;
  std::uint64_t count = 0; // as in CollectiveOp; for an all_to_all_v, those of the block
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  // all_to_all_v has one check per block: from the rank this far before, from this element of its
  // input on.
  int distance = 0;
  std::uint64_t first_index = 0;
  std::vector<int> ranks{}; // global ranks that have this result; empty = all of the communicator
  bool operator==(const DataCheck&) const = default;
};
NCCLPROBE_GROWN_FIELDS(DataCheck, (collective, communicator, slice, count, type, op, root),
                       (distance, first_index, ranks))

// True if the list of ranks names this one; an empty list stands for all ranks.
inline bool names_rank(const std::vector<int>& ranks, int rank) {
  return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
}

// True if a rank has this input: by its number in the communicator, and its global one.
inline bool has_input(const Fill& fill, int rank, int global_rank) {
  bool only_root =
      fill.collective == Collective::broadcast || fill.collective == Collective::scatter;
  return names_rank(fill.ranks, global_rank) && (!only_root || rank == fill.root);
}

struct Schedule {
  // Out of line: copying and destroying operations of fourteen kinds is much code, which would
  // otherwise be compiled in every file that passes a trial on.
  Schedule();
  Schedule(const Schedule&);
  Schedule(Schedule&&) noexcept;
  Schedule& operator=(const Schedule&);
  Schedule& operator=(Schedule&&) noexcept;
  ~Schedule();
  bool operator==(const Schedule&) const;

  std::vector<StreamDecl> streams;
  std::vector<CommunicatorDecl> communicators;
  std::vector<BufferDecl> buffers;
  std::vector<Operation> operations;
  Region timed; // repeated back to back; other operations run once before or after each batch
  std::optional<Region> capture; // this part is captured once as a CUDA graph and replayed
  std::vector<Fill> fills;
  std::vector<DataCheck> checks;
};
NCCLPROBE_FIELDS(Schedule, streams, communicators, buffers, operations, timed, capture, fills,
                 checks)

} // namespace ncclprobe::model
