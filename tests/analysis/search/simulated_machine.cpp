// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/simulated_machine.h"

#include "analysis/search/delivery_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ncclprobe::analysis::search::simulation {
namespace {

model::OutcomeKind outcome_of(const Surface& surface, const Candidate& candidate) {
  return surface.outcome ? surface.outcome(candidate) : model::OutcomeKind::ok;
}

std::vector<Candidate> all_of(const Space& space, bool in_process) {
  std::vector<Candidate> all = combinations(space, in_process, 100000);
  all.push_back(default_candidate(space));
  return all;
}

} // namespace

TrialResult SimulatedMachine::run(const TrialRequest& request) {
  constexpr double k_within_process = 0.003; // of a cell at full effort
  TrialResult result;
  result.cells.assign(request.cells.size(), {model::OutcomeKind::not_run, 0});
  const double of_process = surface_.kind.of_process(noise_);
  const double of_drift = surface_.drift ? surface_.drift(seconds_) : 0;
  std::map<std::pair<std::size_t, Candidate>, double> of_cells; // the same each time in a process
  result.seconds = k_start_s;
  for (std::size_t i = 0; i < request.cells.size(); ++i) {
    const CellRequest& cell = request.cells[i];
    CellResult& out = result.cells[i];
    out.outcome = outcome_of(surface_, cell.candidate);
    if (out.outcome == model::OutcomeKind::timed_out)
      result.seconds += k_hang_s;
    if (out.outcome == model::OutcomeKind::timed_out || out.outcome == model::OutcomeKind::crashed)
      break;
    result.seconds += k_cell_s * request.effort;
    auto [of_cell, is_new] = of_cells.try_emplace({cell.target, cell.candidate}, 0);
    if (is_new) {
      of_cell->second = surface_.kind.of_cell(noise_, static_cast<int>(cell.target));
    }
    out.time_ns = 1e5 * std::exp(surface_.log_time(cell.candidate, cell.target) + of_process +
                                 of_drift + of_cell->second +
                                 k_within_process / std::sqrt(request.effort) * noise_.normal());
  }
  seconds_ += result.seconds;
  return result;
}

double SimulatedMachine::expected_s(const TrialRequest& request) {
  return k_start_s + k_cell_s * request.effort * static_cast<double>(request.cells.size());
}

double end_s(const Surface& surface, bool has_table) {
  constexpr int k_companions = 2;
  constexpr int k_of_table = DeliveryStep::k_trials + 1; // and the delivery's companion
  return (k_companions + (has_table ? k_of_table : 0)) *
         (SimulatedMachine::k_start_s +
          SimulatedMachine::k_cell_s * static_cast<double>(surface.space.targets.size()));
}

Outcome run_search(const Surface& surface, Options options, std::uint64_t seed) {
  options.seed = seed;
  options.end_s = [&surface](bool screened) { return end_s(surface, screened); };
  options.expected_s = SimulatedMachine::expected_s;
  SimulatedMachine machine(surface, seed);
  Search search(surface.space, options);
  for (auto trials = search.next(); !trials.empty(); trials = search.next())
    for (const TrialRequest& trial : trials)
      search.learn(trial, machine.run(trial));
  return search.outcome();
}

Grid grid_of(const Surface& surface) {
  constexpr int k_processes = 5;
  Grid grid{.best = std::numeric_limits<double>::infinity()};
  const auto in_process = all_of(surface.space, true);
  for (const Candidate& process : all_of(surface.space, false)) {
    double seconds = SimulatedMachine::k_start_s;
    double sum = 0, weights = 0;
    bool works = true;
    for (std::size_t target = 0; target < surface.space.targets.size(); ++target) {
      double best = std::numeric_limits<double>::infinity();
      for (const Candidate& values : in_process) {
        const Candidate one = joined(surface.space, process, values);
        const auto outcome = outcome_of(surface, one);
        if (outcome == model::OutcomeKind::ok)
          best = std::min(best, surface.log_time(one, target));
        else if (outcome == model::OutcomeKind::timed_out)
          grid.seconds += SimulatedMachine::k_hang_s;
        seconds += SimulatedMachine::k_cell_s;
      }
      works = works && std::isfinite(best);
      sum += surface.space.targets[target].weight * best;
      weights += surface.space.targets[target].weight;
    }
    grid.seconds += k_processes * seconds;
    if (works)
      grid.best = std::min(grid.best, sum / weights);
  }
  return grid;
}

double chosen_log_time(const Surface& surface, const Outcome& outcome) {
  double sum = 0, weights = 0;
  for (std::size_t target = 0; target < surface.space.targets.size(); ++target) {
    const Candidate& candidate = outcome.table[target].candidate;
    if (outcome_of(surface, candidate) != model::OutcomeKind::ok)
      return std::numeric_limits<double>::infinity();
    sum += surface.space.targets[target].weight * surface.log_time(candidate, target);
    weights += surface.space.targets[target].weight;
  }
  return sum / weights;
}

} // namespace ncclprobe::analysis::search::simulation
