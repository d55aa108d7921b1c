// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/search.h"
#include "analysis/verdict/simulated_noise.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ncclprobe::analysis::search::simulation {

using analysis::simulation::Kind;
using analysis::simulation::Noise;

// What a machine does with candidates. Speeds are logarithms of a time over the default's.
struct Surface {
  std::string name;
  Space space;
  std::function<double(const Candidate&, std::size_t target)> log_time;
  std::function<model::OutcomeKind(const Candidate&)> outcome; // empty: all work
  Kind kind;                                                   // how processes scatter
  std::function<double(double seconds)> drift;                 // added to all times; empty: none
};

// Runs trials on a surface, and counts the time that a real one would have taken.
class SimulatedMachine {
public:
  static constexpr double k_start_s = 1.2; // of a process
  static constexpr double k_cell_s = 0.1;  // at full effort
  static constexpr double k_hang_s = 10;   // until the deadline

  SimulatedMachine(const Surface& surface, std::uint64_t seed) : surface_(surface), noise_(seed) {}
  TrialResult run(const TrialRequest& request);
  static double expected_s(const TrialRequest& request);
  double seconds() const { return seconds_; }

private:
  const Surface& surface_;
  Noise noise_;
  double seconds_ = 0;
};

// What completes the proof after a search, in seconds: companions, and the delivery as a tuner
// table if there is one.
double end_s(const Surface& surface, bool has_table);
// Runs a search to its end. The budget of `options` is for the proof, too.
Outcome run_search(const Surface& surface, Options options, std::uint64_t seed);

// What all combinations of a surface would take, each in five fresh processes, with all in-process
// candidates of all targets in one process. A hang counts once.
struct Grid {
  double seconds = 0;
  double best = 0; // the lowest weighted mean of log times
};
Grid grid_of(const Surface& surface);
// The weighted mean of the true log times of what was chosen.
double chosen_log_time(const Surface& surface, const Outcome& outcome);

// The surfaces with traps. Each seed has other effects, and other values that are good.
std::vector<Surface> surfaces_with_traps(std::uint64_t seed);
// Little noise. P and Q need fresh processes, R does not. P=1 is 20% faster, R=2 10%.
Surface small_surface();
// Nothing is better than the default.
Surface flat_surface(const Kind& kind);

} // namespace ncclprobe::analysis::search::simulation
