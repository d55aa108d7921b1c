// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_path.h"
#include "analysis/job/step_replay.h"
#include "analysis/job/what_if.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_most_checked = 40; // disturbances
constexpr double k_disturbs = 0.01;        // of a step
constexpr std::size_t k_near = 4;          // steps: clocks of GPUs drift
constexpr std::size_t k_fewest_near = 4;

bool is_fitted(std::uint32_t step) {
  return step % 2 == 0;
}

// The median length of the steps near step i, without those that its disturbance can change.
std::optional<double> usual_near(const std::vector<double>& lengths, std::size_t i) {
  std::vector<double> near;
  for (std::size_t k = i - std::min(i, k_near); k < std::min(lengths.size(), i + k_near + 1); ++k)
    if (k + 1 < i || k > i + 1)
      near.push_back(lengths[k]);
  return near.size() < k_fewest_near ? std::nullopt : std::optional(median(near));
}

class ModelChecking {
public:
  ModelChecking(const StepGraph& graph, const StepModel& model) : graph_(graph), model_(model) {
    std::uint32_t kinds = 0;
    for (const StepRun& run : graph.runs) {
      kinds = std::max(kinds, run.kind + 1);
      runs_.push_back(&run);
      measured_.push_back(measure(graph, run, model.waited, &model.typical));
    }
    // What is usual is fitted to every second step.
    typical_ = typical_of(graph, runs_, measured_, is_fitted);
    checks_.resize(kinds);
    fitted_.resize(kinds);
  }

  std::vector<ModelCheck> check() {
    for (const StepRun* run : runs_) {
      const std::vector<double> lengths = step_lengths_ns(*run);
      for (std::uint32_t i = 0; i < lengths.size(); ++i)
        if (is_fitted(run->first + i))
          fitted_[run->kind].push_back(lengths[i]);
    }
    for (std::size_t i = 0; i < runs_.size(); ++i)
      check_run(i);
    std::vector<ModelCheck> out;
    for (OfKind& kind : checks_) {
      ModelCheck one = kind.check;
      one.steps = kind.seen.size();
      if (one.steps > 0) {
        one.predicted_ns = median(kind.predicted);
        one.seen_ns = median(kind.seen);
      }
      one.disturbances = kind.errors.size();
      if (!kind.errors.empty())
        one.median_error = median(kind.errors);
      out.push_back(one);
    }
    return out;
  }

private:
  struct OfKind {
    ModelCheck check;
    std::vector<double> predicted, seen; // lengths
    std::vector<double> errors;
  };
  struct Disturbance {
    PathPart part;
    double excess_ns = 0;
  };

  MeasuredRun usual_run(std::size_t number) const {
    MeasuredRun usual = measured_[number];
    for (std::size_t r = 0; r < usual.size(); ++r)
      for (std::size_t i = 0; i < usual[r].size(); ++i) {
        const std::size_t at = graph_.rank_slot(r, runs_[number]->ranks[r][i].slot);
        MeasuredOperation& one = usual[r][i];
        if (typical_.gap[at] && one.is_clean)
          one.set_gap(std::llround(*typical_.gap[at]));
        if (typical_.duration[at])
          one.duration_ns = std::llround(*typical_.duration[at]);
      }
    return usual;
  }

  // What held each step up most, beyond what this rank usually takes.
  std::map<std::uint32_t, Disturbance> disturbances_of(std::size_t number) const {
    const StepRun& run = *runs_[number];
    const StepPath path(graph_, run, measured_[number], model_.typical);
    std::map<std::uint32_t, Disturbance> out;
    std::uint32_t last = 0;
    std::int64_t last_ns = k_time_unknown;
    for (std::uint32_t r = 0; r < run.ranks.size(); ++r)
      if (!run.ranks[r].empty() && run.ranks[r].back().end_ns > last_ns) {
        last = r;
        last_ns = run.ranks[r].back().end_ns;
      }
    if (last_ns == k_time_unknown || fitted_[run.kind].empty())
      return out;
    const double least_ns = k_disturbs * median(fitted_[run.kind]);
    path.back_from_end(
        last, static_cast<std::uint32_t>(run.ranks[last].size() - 1), [&](const PathPart& part) {
          const GraphOperation& own = run.ranks[part.rank][part.operation];
          const std::size_t at = graph_.rank_slot(part.rank, own.slot);
          const bool moves = part.cause == PathCause::transfer;
          const auto usual = moves ? typical_.duration[at] : typical_.gap[at];
          const auto scatter =
              (moves ? typical_.duration_scatter : typical_.gap_scatter)[own.slot].value_or(0);
          const MeasuredOperation& one = measured_[number][part.rank][part.operation];
          if (!usual || (!moves && !one.is_clean))
            return true;
          const double excess_ns =
              static_cast<double>(moves ? one.duration_ns : one.undisturbed_gap_ns()) - *usual;
          Disturbance& most = out[own.step];
          if (excess_ns > least_ns && excess_ns > k_notable_scatters * scatter &&
              excess_ns > most.excess_ns)
            most = {part, excess_ns};
          return true;
        });
    std::erase_if(out, [](const auto& one) { return one.second.excess_ns <= 0; });
    return out;
  }

  void check_run(std::size_t number) {
    const StepRun& run = *runs_[number];
    OfKind& of = checks_[run.kind];
    if (fitted_[run.kind].empty() || run.steps < 3)
      return;
    const MeasuredRun usual = usual_run(number);
    const std::vector<double> before =
        step_lengths_ns(run, replay(graph_, run, usual, model_.waited));
    const std::vector<double> seen = step_lengths_ns(run);
    for (std::uint32_t i = 0; i < seen.size(); ++i)
      if (!is_fitted(run.first + i)) {
        of.predicted.push_back(before[i]);
        of.seen.push_back(seen[i]);
      }
    const auto disturbances = disturbances_of(number);
    for (const auto& [step, what] : disturbances) {
      const std::uint32_t i = step - run.first;
      const auto usual_ns = usual_near(seen, i);
      if (is_fitted(step) || !usual_ns || i < 1 || i + 1 >= seen.size() ||
          disturbances.contains(step - 1) || disturbances.contains(step + 1) ||
          of.errors.size() >= k_most_checked)
        continue;
      MeasuredRun disturbed = usual;
      disturb(run, what, disturbed);
      const std::vector<double> after =
          step_lengths_ns(run, replay(graph_, run, disturbed, model_.waited));
      double predicted_ns = 0, seen_ns = 0;
      for (std::uint32_t k = i - 1; k <= i + 1; ++k) {
        predicted_ns += after[k] - before[k];
        seen_ns += seen[k] - *usual_ns;
      }
      const double largest_ns = std::max(std::abs(predicted_ns), std::abs(seen_ns));
      if (largest_ns < k_disturbs * *usual_ns)
        continue; // others hid it
      of.check.predicted_change_ns += predicted_ns;
      of.check.seen_change_ns += seen_ns;
      of.errors.push_back(std::abs(predicted_ns - seen_ns) / largest_ns);
    }
  }

  static void disturb(const StepRun& run, const Disturbance& what, MeasuredRun& to) {
    const auto by_ns = static_cast<std::int64_t>(what.excess_ns);
    if (what.part.cause != PathCause::transfer) {
      to[what.part.rank][what.part.operation].gap_ns += by_ns;
      return;
    }
    const std::uint32_t meeting = run.ranks[what.part.rank][what.part.operation].meeting;
    for (std::size_t r = 0; r < to.size(); ++r)
      for (std::size_t i = 0; i < to[r].size(); ++i)
        if (run.ranks[r][i].meeting == meeting)
          to[r][i].duration_ns += by_ns;
  }

  const StepGraph& graph_;
  const StepModel& model_;
  std::vector<const StepRun*> runs_;
  std::vector<MeasuredRun> measured_;
  Typical typical_;
  std::vector<OfKind> checks_;
  std::vector<std::vector<double>> fitted_; // lengths, by kind
};

} // namespace

std::vector<ModelCheck> check_model(const StepGraph& graph, const StepModel& model) {
  return ModelChecking(graph, model).check();
}

} // namespace ncclprobe::analysis::job
