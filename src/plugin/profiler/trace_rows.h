// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/nvtx/ranges.h"
#include "plugin/profiler/clock_bounds.h"
#include "plugin/profiler/event_spools.h"
#include "plugin/profiler/step_counter.h"
#include "plugin/profiler/trace_events.h"
#include "plugin/profiler/tracing.h"
#include "trace/ledger_rows.h"
#include "trace/spool_writer.h"

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ncclprobe::plugin {

// Converts events into rows and writes them in batches. One thread at a time.
class TraceRows {
public:
  TraceRows(TraceState& state, RangeState& ranges, trace::SpoolWriter& spool, GpuClock clock,
            EventSpools events)
      : state_(state), ranges_(ranges), spool_(spool), events_(std::move(events)), clock_(clock),
        losses_written_(state.lost()), ranges_lost_written_(ranges.lost()) {}

  // Everything that has arrived. Returns how many.
  std::size_t take();
  std::size_t waiting() const { return waiting_; }
  void write();
  // Rows were left out because of the limit of bytes.
  bool is_full() const { return is_full_; }
  const StepCounter& steps() const { return steps_; }
  // The offsets of the GPUs' clocks since the last call, if they are to be estimated.
  void take_clock_readings();
  // The operations that are not over a second after they began. Call it often: it looks once a
  // second, and less often while a job hangs.
  void take_open(std::uint64_t now_ns);
  // Events that have begun but not ended; called when no more come.
  void take_unfinished(std::uint64_t now_ns);
  // Losses since the last call.
  void write_losses(std::uint64_t now_ns);

private:
  // Until they are written, texts are numbers of state_.words, and of ranges_.names.
  using RankRows =
      std::tuple<std::vector<trace::NcclOperationRow>, std::vector<trace::NcclChannelRow>,
                 std::vector<trace::NcclStepRow>, std::vector<trace::NcclNetworkRow>,
                 std::vector<trace::ClockRow>, std::vector<trace::RangeRow>>;
  // Offset of a GPU's %globaltimer from our clock, estimated from the times at which the host heard
  // of events: an upper bound.
  struct TimerBound {
    std::int64_t offset_ns = 0;
    std::uint64_t at_ns = 0; // 0: none yet
  };
  struct Operation {
    std::uint32_t id = 0;
    std::uint16_t communicator = 0;
    std::uint64_t enqueue_ns = 0;
    trace::NcclOperationRow row; // until it is enqueued
    bool has_row = false;
    bool is_written = false;
    bool is_first = false; // of its communicator
  };

  void on(const CommunicatorMade& made);
  void on(const OperationBegun& begun);
  void on(const OperationEnqueued& enqueued);
  void on(trace::NcclChannelRow row);
  void on(const trace::NcclStepRow& row) { add(rank_of(row.nccl_operation), row); }
  void on(const trace::NcclNetworkRow& row) { add(rank_of(row.nccl_operation), row); }

  template <typename Row>
  void add(int rank, const Row& row) {
    std::get<std::vector<Row>>(rows_[rank]).push_back(row);
    ++waiting_;
  }
  Operation& place_of(std::uint32_t id) { return operations_[id % operations_.size()]; }
  int rank_of(std::uint32_t operation);
  void settle(Operation& operation);
  // Before it was enqueued, in case that never happens; its row then lacks that time.
  void write_early(Operation& operation);
  bool add_open(std::uint64_t now_ns, std::uint64_t least_ns);
  void bound_clock(const trace::NcclChannelRow& row);
  bool is_credible(const trace::NcclChannelRow& row);
  void make_room(); // for the rows that wait; drops some if there is too little
  std::size_t bytes_waiting() const;
  // The text in the current spool of events.
  void intern(trace::TextId& word);
  void intern_range(trace::TextId& name);
  std::size_t take_ranges();

  static constexpr std::size_t k_operations = 1 << 14; // that are remembered: the latest

  TraceState& state_;
  RangeState& ranges_;
  trace::SpoolWriter& spool_;
  EventSpools events_;
  GpuClock clock_;
  std::map<int, RankRows> rows_;
  std::set<int> ranks_known_; // whose provenance is written
  std::size_t waiting_ = 0;
  std::vector<Operation> operations_ = std::vector<Operation>(k_operations);
  std::array<TimerBound, TraceState::k_communicators> timers_{};
  std::map<std::uint16_t, ClockBounds> bounds_;           // by communicator
  std::array<bool, TraceState::k_communicators> used_{};  // by communicator: had an operation
  std::array<trace::TextId, WordTable::k_words> texts_{}; // by word, in the current spool
  std::array<trace::TextId, RangeNames::k_names + 1> range_texts_{}; // by name, there too
  std::uint64_t texts_of_ = 0;                                       // EventSpools::begun() then
  bool is_full_ = false;
  StepCounter steps_;
  std::uint64_t rejected_ = 0;
  std::uint64_t next_look_ns_ = 0, look_rest_ns_ = 0; // of take_open()
  std::uint64_t losses_written_;
  std::uint64_t ranges_left_out_ = 0; // because of the limit of bytes
  std::uint64_t ranges_lost_written_;
};

} // namespace ncclprobe::plugin
