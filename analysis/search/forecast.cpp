// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/forecast.h"

#include "analysis/search/explore_step.h"
#include "analysis/search/floor_step.h"
#include "analysis/search/reserve.h"
#include "analysis/search/screen_step.h"

#include <algorithm>

namespace ncclprobe::analysis::search {
namespace {

// Of many combinations, those that cannot run count too.
std::uint64_t all_combinations(const Progress& progress, bool in_process,
                               std::optional<std::size_t> target = {}) {
  constexpr double k_most_examined = 10'000;
  constexpr double k_most = 1e15; // so that sums over targets fit
  const double product = count_of_combinations(progress.space, in_process);
  if (product > k_most_examined)
    return static_cast<std::uint64_t>(std::min(product, k_most)) - 1;
  const auto all =
      combinations(progress.space, in_process, static_cast<std::size_t>(k_most_examined));
  return static_cast<std::uint64_t>(std::ranges::count_if(
      all, [&](const Candidate& one) { return progress.allowed(one, target); }));
}

// Values that are tried alone.
std::uint64_t single_values(const Progress& progress) {
  std::uint64_t count = 0;
  for (std::size_t p = 0; p < progress.space.parameters.size(); ++p) {
    const Parameter& parameter = progress.space.parameters[p];
    Candidate one = progress.unset;
    for (one[p] = 1; !parameter.in_process && one[p] < static_cast<int>(parameter.values.size());
         ++one[p])
      count += progress.allowed(one) ? 1 : 0;
  }
  return count;
}

// The rest of the budget, in blocks as ExploreStep makes them. `later_s`: kept back once a block
// ran.
StageForecast explored(const Progress& progress, double trial_s, double rest_s, double later_s) {
  StageForecast out{.stage = Stage::explore, .all_combinations = all_combinations(progress, false)};
  const std::uint64_t alone = single_values(progress);
  const bool has_limit = progress.options.budget_s > 0 && trial_s > 0;
  std::uint64_t done = 0;
  for (std::uint64_t block = 1; block > 0 && done < out.all_combinations; done += block) {
    block = done < alone
                ? std::min<std::uint64_t>(ExploreStep::k_block_of_single_values, alone - done)
                : std::min<std::uint64_t>(ExploreStep::k_block, out.all_combinations - done);
    if (!has_limit && block == ExploreStep::k_block) // all that is left
      block = out.all_combinations - done;
    const double left_s = rest_s - (done > 0 ? later_s : 0) - out.trials * trial_s;
    while (has_limit && block > 0 && static_cast<double>(block + 1) * trial_s > left_s)
      --block;
    if (block > 0)
      out.trials +=
          static_cast<int>(block + (block + ExploreStep::k_block - 1) / ExploreStep::k_block);
  }
  out.combinations = done;
  out.seconds = out.trials * trial_s;
  return out;
}

StageForecast kept_back(Stage stage, const Reserve& reserve) {
  return {.stage = stage, .trials = reserve.trials, .seconds = reserve.seconds};
}

} // namespace

Forecast forecast(const Space& space, const Options& options) {
  Progress progress(space, options);
  Forecast out{.trial_s =
                   progress.expected_s({trial_of(progress, Stage::floor, {progress.unset})})};
  const StageForecast floor{.stage = Stage::floor,
                            .trials = FloorStep::k_trials,
                            .seconds = FloorStep::k_trials * out.trial_s};
  for (;;) {
    out.stages = {floor};
    out.end_s = options.end_s ? options.end_s(progress.screens) : 0;
    const StageForecast leave_out = kept_back(Stage::leave_out, leave_out_reserve(progress));
    StageForecast screen = kept_back(Stage::screen, screen_reserve(progress));
    const StageForecast confirm = kept_back(Stage::confirm, confirm_reserve(progress));
    if (progress.has_process()) {
      const double rest_s = options.budget_s - floor.seconds - leave_out.seconds - screen.seconds -
                            confirm.seconds - out.end_s;
      out.stages.push_back(explored(progress, out.trial_s, rest_s, race_reserve(progress).seconds));
      const StageForecast& explore = out.stages.back();
      if (explore.combinations == 0 && explore.all_combinations > 0 && progress.screens) {
        progress.screens = false; // as ExploreStep decides
        continue;
      }
      const auto processes = std::ranges::count(space.parameters, false, &Parameter::in_process);
      if (leave_out.trials > 0 && processes > 1)
        out.stages.push_back(leave_out);
    }
    if (progress.screens) {
      screen.combinations = 0;
      screen.all_combinations = 0;
      for (std::size_t target = 0; target < space.targets.size(); ++target)
        screen.all_combinations += all_combinations(progress, true, target);
      // A single round is enough for ScreenStep.
      const double rest_s = options.budget_s - floor.seconds - confirm.seconds - out.end_s;
      if (options.budget_s > 0 && screen.seconds > rest_s) {
        screen.seconds /= screen.trials;
        screen.trials = screen.seconds > rest_s ? 0 : 1;
        screen.seconds *= screen.trials;
      }
      for (std::size_t target = 0; screen.trials > 0 && target < space.targets.size(); ++target)
        *screen.combinations += screened(progress, progress.unset, target).size();
      out.stages.push_back(screen);
    }
    out.stages.push_back(confirm);
    return out;
  }
}

} // namespace ncclprobe::analysis::search
