// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/trial_report.h"
#include "wire/message.h"

#include <optional>
#include <string>

namespace ncclprobe::launch {

// How far one rank is, and its deadline for the next step.
class RankWatch {
public:
  RankWatch(int rank, const model::TrialSpec& spec, std::int64_t now_ns);

  // Each returns what is wrong with the message, or nothing.
  std::optional<std::string> on_hello();
  std::optional<std::string> on_phase(const wire::Phase& phase, std::int64_t now_ns);
  std::optional<std::string> on_cell_end(wire::CellEnd end, std::int64_t now_ns);
  std::optional<std::string> on_evidence(model::Evidence evidence);
  std::optional<std::string> on_done(std::int64_t now_ns);
  void on_exit(); // nothing more is expected
  void hold();    // no deadline while it waits for others
  // Ends hold(): the deadline is that of a whole start-up, or of the teardown.
  void go_on(std::int64_t now_ns);

  bool done() const { return report_.phase >= WorkerPhase::teardown; }
  bool started() const { return report_.phase >= WorkerPhase::cell; } // start-up is over
  bool opened() const { return report_.phase > WorkerPhase::ready; }  // its devices are open
  bool measuring() const { return report_.phase == WorkerPhase::cell && cells_ended() < cells_; }
  bool late(std::int64_t now_ns) const { return now_ns >= deadline_ns_; }
  std::int64_t limit_ns() const { return limit_ns_; }
  int cells_ended() const { return static_cast<int>(report_.results.size()); }
  // The cell it is in; -1 outside cells.
  int current_cell() const {
    return report_.phase == WorkerPhase::cell && !report_.results.contains(report_.cell)
               ? report_.cell
               : -1;
  }
  const RankReport& report() const { return report_; }

private:
  static constexpr std::int64_t k_never = INT64_MAX;

  void allow(std::int64_t limit_ns, std::int64_t now_ns);
  void allow_next_cell(int cell, std::int64_t now_ns);

  const model::TrialSpec& spec_;
  int cells_;
  RankReport report_;
  std::int64_t deadline_ns_ = k_never;
  std::int64_t limit_ns_ = 0;
};

} // namespace ncclprobe::launch
