// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/rows.h"

#include "analysis/timeline/clock_fit.h"
#include "analysis/timeline/intervals.h"
#include "base/error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The input of the analysis: the trace of one rank at a time, in columns, from any storage.
namespace ncclprobe::analysis::timeline {

// Kernels or copies; columns of equal length, in any order. Missing columns are empty (except
// start_ns and duration_ns) and count as 0.
struct DeviceColumns {
  std::vector<std::uint64_t> start_ns;
  std::vector<std::uint32_t> duration_ns; // k_long_duration: in RankTrace::long_durations
  std::vector<trace::TextId> name;        // TraceSource::texts
  std::vector<std::uint32_t> operation;
  std::vector<std::uint32_t> correlation;
  std::vector<std::uint32_t> grid;       // of kernels
  std::vector<std::uint64_t> graph_node; // of kernels
  std::vector<std::uint16_t> stream;
  std::vector<std::uint8_t> flags;
  std::vector<trace::CopyKind> kind; // of copies
  std::size_t size() const { return start_ns.size(); }
};

// One rank's tables; those that were not traced are empty.
struct RankTrace {
  DeviceColumns kernels;
  DeviceColumns copies;
  std::vector<trace::LongRow> long_durations;
  std::vector<trace::SpanRow> spans;
  std::vector<trace::OperationRow> operations;
  std::vector<trace::StreamRow> streams;
  std::vector<trace::ApiRow> api;
  std::vector<trace::SynchronizationRow> synchronizations;
  std::vector<trace::DeviceEventRow> device_events;
  std::vector<trace::CommunicatorRow> communicators;
  std::vector<trace::NcclOperationRow> nccl_operations;
  std::vector<trace::NcclChannelRow> nccl_channels;
  // Of a captured job, when its kernels were recorded. Its communication is then taken from NCCL's
  // reports, which are there at all times.
  std::vector<trace::KernelWindowRow> kernel_windows;
  std::vector<trace::RangeRow> ranges;        // of NVTX
  std::vector<trace::NcclStepRow> nccl_steps; // only their operations and begins are read
  // The last step of a batch has no known end, so its length is not used. Otherwise it ends with
  // the batch's last activity.
  bool last_steps_are_open = false;
  std::uint64_t channels_overwritten =
      0; // rows of nccl_channels that have already lost their times
};

// Bounds of a clock from collectives (clock_inference.h).
struct CollectiveBounds {
  std::vector<OffsetBound> bounds;
  std::uint64_t collectives = 0; // collectives with bounds
  std::optional<int> reference;  // for a GPU's clock: the rank of the GPU that it is compared with
};

// Data about a rank before its events are read.
struct RankHead {
  int rank = 0;                        // global
  std::string host;                    // ranks with equal values share a clock
  std::vector<trace::ClockRow> clocks; // its readings
  std::vector<trace::LossRow> losses;  // its part of the ledger
  std::uint64_t kernels = 0;           // that were traced, unless in windows of a captured job
  // For its host's clock, if it was not compared; at the first rank of that host.
  CollectiveBounds host_collectives;
  // For its GPU's clock, if no kernels were traced; includes bounds from NCCL's calls and events.
  CollectiveBounds gpu_collectives;
  std::vector<OffsetBound> gpu_calls;
};

// The first pass reads when collectives ran on all ranks, the second everything.
enum class Pass { collectives, everything };

// A send or a receive of the schedule on one rank. Ranks are global.
struct DeclaredTransfer {
  int communicator = 0; // of the schedule
  int from = 0, to = 0;
  std::uint32_t number =
      0; // number of this communicator's message in that direction within one step, from 0
  std::uint64_t bytes = 0;
  bool sends = false;
};
using DeclaredTransfers = std::vector<DeclaredTransfer>; // of one kernel

// An operation of the schedule of one of the trial's cells.
struct OperationPlace {
  int cell = 0;
  int index = 0;
  bool operator==(const OperationPlace&) const = default;
};

struct TraceSource {
  std::vector<RankHead> ranks;    // ascending
  std::vector<std::string> texts; // by TextId::id
  // Called up to three times for each rank, from several threads at once. For Pass::collectives
  // only kernels (no correlation, grid, graph_node), long durations, operations, communicators,
  // NCCL operations and NCCL channels are needed.
  std::function<base::Result<RankTrace>(int rank, Pass)> load;
  // Number of ranks that take part in a collective of the schedule; 0: unknown. Only asked if NCCL
  // did not report it; empty: all ranks take part in all.
  std::function<std::uint32_t(int cell, int operation_index)> participants;
  // The sends and receives of an operation's kernels on a rank, in the order of their stream: one
  // kernel for a send, a receive or a group, possibly several for a graph. Only asked if NCCL did
  // not report them; empty: unknown.
  std::function<std::vector<DeclaredTransfers>(int cell, int operation_index, int rank)> transfers;
  // The operation with the same work in a cell where nothing runs concurrently, such as a step's
  // computation alone; nothing: there is none. Empty: unknown.
  std::function<std::optional<OperationPlace>(const OperationPlace&)> alone;
};

} // namespace ncclprobe::analysis::timeline
