// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/search.h"

#include "analysis/statistics/statistics.h"
#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace ncclprobe::analysis::search {
namespace {

constexpr int k_floor_trials = 4;
constexpr int k_confirm_blocks = 5;

void check(const Space& space) {
  if (space.targets.empty())
    base::raise(base::Errc::invalid_argument, "a search needs a target");
  for (const Parameter& parameter : space.parameters)
    if (parameter.values.empty())
      base::raise(base::Errc::invalid_argument, "the parameter {} has no values", parameter.name);
  if (!possible_for_all(space, default_candidate(space)))
    base::raise(base::Errc::invalid_argument, "the default is not possible for all targets");
}

} // namespace

// One value after the other is tried, then the fastest combination is confirmed.
class Search::Progress {
public:
  Progress(Space space, Options options)
      : space_(std::move(space)), options_(std::move(options)), random_(options_.seed) {
    check(space_);
  }

  std::vector<TrialRequest> next() {
    switch (step_++) {
    case 0:
      return repeated({default_candidate(space_)}, Stage::floor, k_floor_trials);
    case 1:
      return repeated(single_changes(), Stage::explore, 1);
    case 2:
      choose();
      return finalist_ ? repeated({default_candidate(space_), *finalist_}, Stage::confirm,
                                  k_confirm_blocks)
                       : std::vector<TrialRequest>{};
    default:
      return {};
    }
  }

  void learn(const TrialRequest& request, const TrialResult& result) {
    seconds_ += result.seconds;
    for (std::size_t i = 0; i < request.cells.size(); ++i) {
      const CellRequest& cell = request.cells[i];
      if (result.cells[i].outcome == model::OutcomeKind::ok)
        times_ns_[request.stage][cell.candidate][cell.target].push_back(result.cells[i].time_ns);
      else
        failed_.emplace(cell.candidate, result.cells[i].outcome);
    }
  }

  Outcome outcome() const {
    Outcome out{.settings = {.candidate = default_candidate(space_)}};
    out.complete = step_ > 2;
    out.trials = next_id_;
    out.seconds = seconds_;
    out.table.assign(space_.targets.size(), out.settings);
    if (!finalist_)
      return out;
    std::vector<double> speeds = speeds_of(*finalist_, Stage::confirm);
    if (auto estimate = ratio_estimate(speeds, k_confidence);
        estimate.interval && estimate.interval->low > 1 + options_.min_gain)
      out.settings = {.candidate = *finalist_,
                      .proven = true,
                      .speed = estimate.value,
                      .interval = *estimate.interval};
    return out;
  }

private:
  std::vector<TrialRequest> repeated(const std::vector<Candidate>& candidates, Stage stage,
                                     int times) {
    std::vector<TrialRequest> trials;
    for (int i = 0; i < times; ++i)
      for (const Candidate& candidate : candidates) {
        TrialRequest trial{.id = next_id_++, .stage = stage, .process = candidate};
        for (std::size_t target = 0; target < space_.targets.size(); ++target)
          trial.cells.push_back({target, candidate});
        trials.push_back(std::move(trial));
      }
    return trials;
  }

  std::vector<Candidate> single_changes() const {
    std::vector<Candidate> all{default_candidate(space_)};
    for (std::size_t p = 0; p < space_.parameters.size(); ++p)
      for (int value = 1; value < static_cast<int>(space_.parameters[p].values.size()); ++value) {
        Candidate candidate = default_candidate(space_);
        candidate[p] = value;
        if (possible_for_all(space_, process_part(space_, candidate)))
          all.push_back(process_part(space_, candidate));
      }
    return all;
  }

  // Of each process of that stage, over the default's mean.
  std::vector<double> speeds_of(const Candidate& candidate, Stage stage) const {
    std::vector<double> speeds;
    const auto& of_stage = times_ns_.at(stage);
    auto found = of_stage.find(candidate);
    if (found == of_stage.end())
      return speeds;
    for (const auto& [target, times] : found->second)
      for (double time_ns : times)
        speeds.push_back(geometric_mean(of_stage.at(default_candidate(space_)).at(target)) /
                         time_ns);
    return speeds;
  }

  void choose() {
    double best = 1;
    for (const auto& [candidate, times] : times_ns_[Stage::explore])
      if (double speed = geometric_mean(speeds_of(candidate, Stage::explore));
          speed > best && !failed_.contains(candidate)) {
        best = speed;
        finalist_ = candidate;
      }
  }

  Space space_;
  Options options_;
  std::mt19937_64 random_;
  int step_ = 0;
  int next_id_ = 0;
  double seconds_ = 0;
  std::map<Stage, std::map<Candidate, std::map<std::size_t, std::vector<double>>>> times_ns_;
  std::map<Candidate, model::OutcomeKind> failed_;
  std::optional<Candidate> finalist_;
};

Search::Search(Space space, Options options)
    : progress_(std::make_unique<Progress>(std::move(space), std::move(options))) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

std::vector<TrialRequest> Search::next() {
  return progress_->next();
}
void Search::learn(const TrialRequest& request, const TrialResult& result) {
  progress_->learn(request, result);
}
Outcome Search::outcome() const {
  return progress_->outcome();
}

} // namespace ncclprobe::analysis::search
