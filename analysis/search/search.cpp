// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/search.h"

#include "analysis/search/confirm_step.h"
#include "analysis/search/delivery_step.h"
#include "analysis/search/explore_step.h"
#include "analysis/search/floor_step.h"
#include "analysis/search/leave_out_step.h"
#include "analysis/search/process_race_step.h"
#include "analysis/search/progress.h"
#include "analysis/search/running_blocks.h"
#include "analysis/search/screen_step.h"
#include "base/error.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::search {
namespace {

Space checked(Space space) {
  if (space.targets.empty())
    base::raise(base::Errc::invalid_argument, "a search needs a target");
  for (const Parameter& parameter : space.parameters)
    if (parameter.values.empty())
      base::raise(base::Errc::invalid_argument, "the parameter {} has no values", parameter.name);
  if (!possible_for_all(space, default_candidate(space)))
    base::raise(base::Errc::invalid_argument, "the default is not possible for all targets");
  return space;
}

} // namespace

class Search::State {
public:
  State(Space space, Options options) : progress_(checked(std::move(space)), std::move(options)) {}

  std::vector<TrialRequest> next() {
    while (at_ < steps_.size() && !blocks_.default_failed()) {
      if (std::vector<TrialRequest> trials = blocks_.next(); !trials.empty())
        return trials;
      if (std::vector<Block> done = blocks_.take(); !done.empty())
        steps_[at_]->learn(done);
      if (auto blocks = steps_[at_]->next(); blocks.empty())
        ++at_;
      else
        blocks_.start(blocks);
    }
    return {};
  }

  void learn(const TrialRequest& request, const TrialResult& result) {
    blocks_.learn(request, result);
  }

  void spend(double seconds) { progress_.spent_s += seconds; }

  void deliver(std::vector<Candidate> of_targets) {
    delivery_.begin(std::move(of_targets));
    steps_.push_back(&delivery_);
  }

  Outcome outcome() const {
    const Judgement judgement = confirm_.judgement();
    Outcome out;
    out.complete = at_ >= k_steps_of_search && progress_.complete;
    out.default_failed = blocks_.default_failed();
    out.settings = judgement.settings;
    out.table = judgement.table;
    auto reasons = progress_.reasons;
    for (const Reason& reason : judgement.reasons)
      reasons.insert_or_assign({reason.target, reason.candidate}, reason);
    for (auto& [key, reason] : reasons)
      out.reasons.push_back(std::move(reason));
    out.of_changes = progress_.of_changes;
    out.left_out = progress_.left_out;
    out.each_change_counts = progress_.each_change_counts;
    out.disturbances = disturbances_;
    out.delivery = blocks_.delivery();
    out.rejections = blocks_.rejections();
    out.trials = blocks_.trials();
    out.seconds = progress_.spent_s;
    return out;
  }

private:
  static constexpr std::size_t k_steps_of_search = 6; // measuring the delivery is not searching
  Progress progress_;
  std::vector<Disturbance> disturbances_;
  RunningBlocks blocks_{progress_, disturbances_};
  FloorStep floor_{progress_};
  ExploreStep explore_{progress_};
  ProcessRaceStep race_{progress_};
  LeaveOutStep leave_out_{progress_};
  ScreenStep screen_{progress_};
  ConfirmStep confirm_{progress_};
  DeliveryStep delivery_{progress_};
  std::vector<Step*> steps_{&floor_, &explore_, &race_, &leave_out_, &screen_, &confirm_};
  std::size_t at_ = 0;
};

Search::Search(Space space, Options options)
    : state_(std::make_unique<State>(std::move(space), std::move(options))) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

std::vector<TrialRequest> Search::next() {
  return state_->next();
}
void Search::learn(const TrialRequest& request, const TrialResult& result) {
  state_->learn(request, result);
}
void Search::spend(double seconds) {
  state_->spend(seconds);
}
void Search::deliver(std::vector<Candidate> of_targets) {
  state_->deliver(std::move(of_targets));
}
Outcome Search::outcome() const {
  return state_->outcome();
}

} // namespace ncclprobe::analysis::search
