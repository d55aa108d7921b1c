// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// What each operation of a step waits for on its own rank. A capture shows when operations began
// and ended, not why. The model: a rank's computing makes operations ready one after the other. An
// operation begins when it is ready and its communicator's stream is free. Computing waits for
// operations at once, one later, or at the end of the step; the capture decides which
// (docs/method.md, "Who holds a job up").
namespace ncclprobe::analysis::job {

// When computing waits for operations of a class. after_next: once the next of the class is ready,
// as with parameters that are gathered ahead.
enum class WaitedFor : std::uint8_t { at_once, after_next, at_end_of_step };

inline constexpr std::uint32_t k_nothing = UINT32_MAX;
// At most this is between NCCL's kernels that follow each other in a stream.
inline constexpr std::int64_t k_stream_gap_ns = 15'000;

// How long any of some operations waited since a moment. They are added in the order of their
// calls.
class Waiting {
public:
  explicit Waiting(std::int64_t since_ns) : until_ns_(since_ns) {}
  // False: only while others did, or before.
  bool add(std::int64_t begin_ns, std::int64_t end_ns) {
    const std::int64_t more_ns = end_ns - std::max(begin_ns, until_ns_);
    if (more_ns <= 0)
      return false;
    sum_ns_ += more_ns;
    until_ns_ = end_ns;
    return true;
  }
  std::int64_t sum_ns() const { return sum_ns_; }

private:
  std::int64_t until_ns_, sum_ns_ = 0;
};

// How one operation came to its times. Operations are indexes in the rank's sequence.
struct MeasuredOperation {
  std::int64_t ready_ns = 0;        // its input was ready; estimated if the stream was busy then
  std::int64_t gap_ns = 0;          // computing or host, before ready_ns
  std::int64_t handed_ns = 0;       // from where the gap begins until the host had handed it over
  std::int64_t duration_ns = 0;     // since the last of the meeting came, or since its begin
  std::int64_t after_stream_ns = 0; // after the operation before it in its stream had ended
  std::uint32_t after = k_nothing;  // the gap follows the end of this, or the ready operation
                                    // before it
  std::uint32_t in_stream = k_nothing; // it waited for the end of this
  bool is_first = false;               // of the run: its gap is not known
  bool ignores_stream = false;         // it began although its stream was busy
  bool follows_stream = false;         // it waited for its stream, or began just when this was free
  bool waits = false;                  // it ended after the last of the meeting had come
  bool is_clean = false;               // the gap is seen, not estimated
  bool host_bound = false;             // the host had handed it over just before it began
  // A kernel of NCCL that waits for another rank takes multiprocessors from computing beside it.
  struct Slowed {
    std::int64_t by_ns = 0;            // the gap is longer than usual; at most waited_ns
    std::int64_t waited_ns = 0;        // how long any of these waited during the gap
    std::vector<std::uint32_t> beside; // operations whose waits ended before ready_ns, as called
  };
  Slowed slowed;

  std::int64_t undisturbed_gap_ns() const { return gap_ns - slowed.by_ns; }
  // To a length that does not depend on waiting.
  void set_gap(std::int64_t ns) {
    gap_ns = ns;
    slowed = {};
  }
};
using MeasuredRun = std::vector<std::vector<MeasuredOperation>>; // by rank

// What is usual, by StepGraph::rank_slot() or slot. In ns; nothing: never seen.
struct Typical {
  std::vector<std::optional<double>> gap;          // of a rank's slot: median over steps
  std::vector<std::optional<double>> gap_of_gpu;   // the same where the host was not late
  std::vector<std::optional<double>> duration;     // of a rank's slot
  std::vector<std::optional<double>> usual_gap;    // of a slot: lower median over ranks
  std::vector<std::optional<double>> usual_of_gpu; // the same where the host was not late
  std::vector<std::optional<double>> usual_duration;
  std::vector<std::optional<double>> usual_handed;
  // How far a rank's values usually are from its median (1.4826 x MAD), by slot.
  std::vector<std::optional<double>> gap_scatter, duration_scatter;
};

struct StepModel {
  std::vector<WaitedFor> waited; // by class
  // Other choices that explain the times as well.
  struct Alternative {
    std::uint32_t group = 0; // class
    WaitedFor waited = WaitedFor::at_once;
  };
  std::vector<Alternative> alternatives;
  Typical typical; // of all steps
};

// When an operation that had to wait for its stream was ready, if the capture does not show it.
enum class WhenReady : std::uint8_t { as_usual, latest };

// Reads at most a part of large graphs.
StepModel fit_model(const StepGraph& graph);
MeasuredRun measure(const StepGraph& graph, const StepRun& run,
                    const std::vector<WaitedFor>& waited, const Typical* typical,
                    WhenReady ready = WhenReady::as_usual);
// The part of an operation's gap in which the rank's host was later than usual; 0: it was in time.
double host_late_ns(const Typical& typical, const GraphOperation& operation,
                    const MeasuredOperation& measured);
// Of the steps that `use` wants.
Typical typical_of(const StepGraph& graph, const std::vector<const StepRun*>& runs,
                   const std::vector<MeasuredRun>& measured,
                   bool (*use)(std::uint32_t step) = nullptr);

} // namespace ncclprobe::analysis::job
