// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/progress.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace ncclprobe::analysis::search {

// The blocks of trials that are being measured. Cells that were not reached, and trials that were
// disturbed, are measured again; a block lacks those for which the budget has no room.
//
// A trial is disturbed if the default's trial before or after it is off: a disturbance began or
// ended in between. Then the default alone is measured until it is as before, and the disturbed
// trials again. If it stays off, this is its new level. A trial in which the default itself fails
// is repeated too: a program that runs without any setting can fail only by a disturbance. If that
// happens again and again, nothing can be compared.
class RunningBlocks {
public:
  RunningBlocks(Progress& progress, std::vector<Disturbance>& disturbances)
      : progress_(progress), disturbances_(disturbances) {}

  void start(const std::vector<std::vector<TrialRequest>>& blocks);
  // The trials to run now. Empty: the blocks are complete.
  std::vector<TrialRequest> next();
  void learn(const TrialRequest& request, const TrialResult& result);
  std::vector<Block> take();
  std::vector<Rejection> rejections() const;
  int trials() const { return next_id_; }
  // How the first trial of the delivery that failed did so. ok: none did.
  model::OutcomeKind delivery() const { return delivery_; }
  bool default_failed() const { return default_failures_ > k_most_default_failures; }

private:
  struct Running {
    MeasuredTrial measured;
    std::vector<int> ids; // of that trial, and of those with the cells that it did not reach
    bool settled = false;
    bool disturbed = false;
  };
  struct RunningBlock {
    std::vector<TrialRequest> planned;
    std::vector<Running> trials; // as planned
    bool is_wait = false;        // for the default
  };
  struct Pending {
    TrialRequest request;
    std::size_t block = 0;
    std::size_t trial = 0;
  };
  static constexpr int k_most_default_failures = 2;
  bool fails_by_default(const TrialRequest& request, const TrialResult& result) const;
  void request(TrialRequest trial, Cause cause, std::size_t block, std::size_t place);
  void blame(const TrialRequest& request, const TrialResult& result);
  void note_failure_of_delivery(const TrialResult& result);
  void ask_for_rest(const Pending& pending, const TrialResult& result);
  void reject(const Running& trial) {
    for (const int id : trial.ids)
      rejections_.try_emplace(id, false);
  }
  void mark_repeated(const Running& trial) {
    for (const int id : trial.ids)
      rejections_[id] = true;
  }
  void settle();
  // Whether each of these trials, in the order of time, is the default's and off.
  std::vector<bool> off(const std::vector<const MeasuredTrial*>& trials);
  void wait_for_default();
  void settle_wait();
  void repeat();

  Progress& progress_;
  std::vector<Disturbance>& disturbances_;
  std::vector<RunningBlock> blocks_;
  std::vector<Pending> pending_;    // handed out or to be handed out
  int repeats_ = 0;                 // of these blocks
  std::set<std::size_t> disturbed_; // blocks that wait for the default
  std::vector<double> off_times_;   // the default's since then, while it is off
  std::map<int, bool> rejections_;  // whether it was repeated, by id
  int next_id_ = 0;
  int default_failures_ = 0;
  model::OutcomeKind delivery_ = model::OutcomeKind::ok;
};

} // namespace ncclprobe::analysis::search
