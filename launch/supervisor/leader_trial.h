// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/supervisor/active_clock.h"
#include "launch/supervisor/heartbeats.h"
#include "launch/supervisor/layout.h"
#include "launch/supervisor/rank_set.h"
#include "launch/supervisor/supervisor.h"
#include "launch/supervisor/supervisor_message.h"
#include "store/trial_rows.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace ncclprobe::launch {

// The leader's view of one trial. It combines exchanges, decides when and why the trial ends early,
// and makes the record from all reports. Never waits.
class LeaderTrial {
public:
  using Tell = std::function<void(const RankSet& supervisors, MessageBody)>;

  LeaderTrial(const model::TrialSpec& spec, const Layout& layout, int supervisors,
              const SupervisorOptions& options, const ActiveClock& clock, Tell tell);

  void start(); // sends the order to all
  void on_exchange(wire::Exchange part);
  void on_trouble(Trouble trouble);
  void on_progress(const RankSet& from, const ProgressNote& note);
  void on_report(int from, TrialReport report);
  void on_finished(int from) { finished_.insert(from); }
  void on_lost(int supervisor);                            // its connection has ended
  void on_heartbeat(int from) { heartbeats_.heard(from); } // every message counts as one
  void look_at_clock();
  // Who should have sent something for this long, and has not.
  RankSet silent_for(std::chrono::nanoseconds time) const;

  const model::TrialSpec& spec() const { return spec_; }
  bool over() const { return over_; }
  // All have their results and nothing went wrong: the next trial need not wait for the teardown.
  bool only_leaving() const { return !cause_ && finished_.size() == reports_.size(); }
  // Something went wrong, or it was interrupted.
  bool troubled() const { return cause_.has_value(); }
  void show_progress_from_now_on();
  // Supervisors that never reported: nothing more can be run with them.
  bool fleet_broken() const { return over_ && reported_.size() < reports_.size(); }
  // Their names: "the supervisors of ranks 2-3 on beta".
  std::string silent() const;
  // Only these supervisors have not reported yet.
  bool over_but_for(const std::set<int>& lost) const;
  const std::set<int>& reported() const { return reported_; }
  // After the trial: the workers that did not die, in words; empty if none.
  std::string lost_workers() const;
  bool waits_for_exchange() const { return !exchanges_.empty(); }
  // True if something is due that no message will announce.
  bool settling() const { return cause_.has_value() && !stop_sent_; }
  // If the rows of its cells were too many for memory, the record has none: they are in
  // take_rows(), which is called after this.
  model::TrialRecord take_record();
  std::unique_ptr<store::TrialRows> take_rows() { return std::move(rows_); }

private:
  // An exchange, and when the deadlines of all its members end.
  struct OpenExchange {
    wire::Exchange whole;
    std::int64_t due_ns = 0;
  };

  void send_stop(Haste haste);
  void show_progress();
  void look_for_absent();
  struct Absent {
    WorkerPhase phase;
    std::set<int> who;
  };
  std::vector<Absent> absent() const;
  void cut_off(WorkerPhase phase, const std::set<int>& absent, const char* what);
  std::set<int> absent_from(const OpenExchange& open) const;
  bool all_cut_off() const;
  void set_rows_aside(TrialReport& report);
  void lose_rows(TrialReport& report) const;
  void bound_memory(TrialReport& newest);
  std::string names_of(const RankSet& supervisors) const;
  RankSet not_reported() const;

  model::TrialSpec spec_;
  const Layout& layout_;
  const SupervisorOptions& options_;
  const ActiveClock& clock_;
  Tell tell_;
  RankSet everybody_;
  std::vector<int> supervisor_of_rank_;
  std::string started_utc_;
  std::int64_t started_ns_ = 0;
  std::optional<Trouble> cause_;
  std::int64_t settled_ns_ = ActiveClock::k_never;
  // When all deadlines have passed and nobody has reported it.
  std::int64_t backstop_ns_ = ActiveClock::k_never;
  std::int64_t reports_due_ns_ = ActiveClock::k_never;
  // Of supervisors that have no rank in this trial, once all others have reported.
  std::int64_t rest_due_ns_ = ActiveClock::k_never;
  bool stop_sent_ = false;
  bool over_ = false;
  bool shows_progress_ = false;
  std::map<std::string, OpenExchange> exchanges_;
  std::set<std::string> exchanged_; // keys: a part may come again on another way
  Heartbeats heartbeats_;
  std::set<int> cut_off_; // known to be cut off before the stop
  std::vector<TrialReport> reports_;
  std::size_t rows_bytes_ = 0;             // of the rows in reports_
  std::unique_ptr<store::TrialRows> rows_; // once these are too many for memory: all of them
  std::string why_rows_lost_;              // empty: they are not
  std::set<int> reported_;
  std::set<int> members_left_; // supervisors with ranks in this trial that have not reported
  std::set<int> finished_;
  std::map<int, ProgressNote> progress_;
  std::optional<ProgressNote> shown_;
};

} // namespace ncclprobe::launch
