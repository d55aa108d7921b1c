// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/leader_trial.h"

#include "launch/supervisor/launch_ranks.h"
#include "launch/supervisor/stop_ladder.h"
#include "launch/supervisor/trial_outcome.h"
#include "model/document.h"

#include <algorithm>

namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// A crash and the errors it causes elsewhere arrive in any order within this time.
constexpr auto k_settle = 100ms;
// How much longer than the stop ladder supervisors may take to report, if they send heartbeats.
constexpr auto k_report_slack = 15s;
constexpr auto k_backstop_slack = 30s;

constexpr std::size_t k_most_bytes_of_rows = 16 << 20;

template <typename Rows>
std::size_t bytes_of(const Rows& rows) {
  return rows.size() * sizeof(typename Rows::value_type);
}

void for_each_result(TrialReport& report,
                     const std::function<void(int, model::CellRecord&)>& visit) {
  for (WorkerReport& worker : report.workers)
    for (RankReport& rank : worker.ranks)
      for (auto& [cell, result] : rank.results)
        visit(cell, result);
}

// The weight of what follows from no peer's end.
constexpr int k_explains_itself = 3;

// Of two troubles in the settling time, the heavier one explains the other.
int weight(const Trouble& trouble) {
  switch (trouble.kind) {
  case Trouble::Kind::skipped:
  case Trouble::Kind::failed:
    return trouble.peer_ended ? 0 : 1;
  case Trouble::Kind::exited:
    return 2;
  default:
    return k_explains_itself; // an interruption ends peers
  }
}

// The start-up deadline may begin again after each gate. Before the second gate the earlier trial
// may still be leaving.
std::chrono::nanoseconds all_deadlines(const model::TrialSpec& spec) {
  std::chrono::nanoseconds sum{3 * spec.startup_deadline_ns + 3 * spec.teardown_deadline_ns};
  for (const model::Cell& cell : spec.cells)
    sum += 2 * std::chrono::nanoseconds(cell.deadline_ns);
  return sum;
}

} // namespace

LeaderTrial::LeaderTrial(const model::TrialSpec& spec, const Layout& layout, int supervisors,
                         const SupervisorOptions& options, const ActiveClock& clock, Tell tell)
    : spec_(spec), layout_(layout), options_(options), clock_(clock), tell_(std::move(tell)),
      everybody_(0, supervisors), heartbeats_(supervisors), reports_(supervisors) {
  for (const RankPlacement& placement : layout.of_trial(spec.launch_ranks).placements)
    supervisor_of_rank_.push_back(placement.supervisor);
  members_left_.insert(supervisor_of_rank_.begin(), supervisor_of_rank_.end());
}

void LeaderTrial::start() {
  started_utc_ = base::utc_now();
  started_ns_ = base::monotonic_ns();
  backstop_ns_ = clock_.in(all_deadlines(spec_) + options_.prepare_patience + k_backstop_slack);
  tell_(everybody_, TrialOrder{model::write_json(spec_)});
}

void LeaderTrial::on_exchange(wire::Exchange part) {
  if (stop_sent_ || exchanged_.contains(part.key))
    return;
  auto found = exchanges_.find(part.key);
  if (found == exchanges_.end()) {
    std::int64_t allowed_ns =
        part.key == wire::k_leave_key ? spec_.teardown_deadline_ns : spec_.startup_deadline_ns;
    found = exchanges_
                .try_emplace(part.key, OpenExchange{{part.key, part.members, {}},
                                                    clock_.now_ns() + allowed_ns})
                .first;
  }
  wire::Exchange& whole = found->second.whole;
  if (whole.members != part.members) {
    std::vector<int> ranks;
    for (const auto& [rank, bytes] : part.contributions)
      ranks.push_back(rank);
    return on_trouble(
        {.reason = fmt::format("ranks disagree on who takes part in exchange '{}'", part.key),
         .ranks = std::move(ranks)});
  }
  whole.contributions.merge(part.contributions);
  // A member must not be listed twice. A set keeps such a mistake of a worker from blocking the
  // trial.
  std::set<int> members(whole.members.begin(), whole.members.end());
  if (whole.contributions.size() < members.size())
    return;
  std::set<int> supervisors;
  for (int rank : members)
    supervisors.insert(supervisor_of_rank_[rank]);
  exchanged_.insert(whole.key);
  tell_(RankSet::of(supervisors), ExchangeWhole{std::move(whole)});
  exchanges_.erase(found);
}

void LeaderTrial::on_trouble(Trouble trouble) {
  if (!cause_) {
    cause_ = std::move(trouble);
    settled_ns_ = clock_.in(k_settle);
  } else if (clock_.past(settled_ns_)) {
    return; // a consequence of the stop
  } else if (weight(trouble) > weight(*cause_) && trouble.kind != Trouble::Kind::timed_out) {
    cause_ = std::move(trouble);
  } else if (trouble.kind == cause_->kind && trouble.reason == cause_->reason) {
    cause_->ranks.insert(cause_->ranks.end(), trouble.ranks.begin(), trouble.ranks.end());
    std::ranges::sort(cause_->ranks);
    // A report may come again on another way.
    cause_->ranks.erase(std::unique(cause_->ranks.begin(), cause_->ranks.end()),
                        cause_->ranks.end());
  }
  // An error may follow from a crash that is not reported yet. Stopping at once would hide the
  // crash.
  if (weight(*cause_) == k_explains_itself)
    send_stop(cause_->kind == Trouble::Kind::interrupted ? Haste::fast : Haste::normal);
}

void LeaderTrial::send_stop(Haste haste) {
  if (std::exchange(stop_sent_, true))
    return;
  exchanges_.clear();
  StopLadder ladder = haste == Haste::fast
                          ? fast_stop_ladder()
                          : stop_ladder(options_.stop_wait, options_.term_wait, options_.kill_wait);
  Ask ask = cause_ && cause_->kind == Trouble::Kind::timed_out ? Ask::yes : Ask::no;
  reports_due_ns_ = clock_.in(options_.where_wait + total_wait(ladder) + k_report_slack);
  heartbeats_.expect();
  // Also to those that have reported: their prepared workers must not be used after a failure.
  tell_(everybody_, StopOrder{haste, ask});
}

void LeaderTrial::on_progress(const RankSet& from, const ProgressNote& note) {
  from.each([&](int supervisor) { progress_[supervisor] = note; });
  show_progress();
}

void LeaderTrial::show_progress_from_now_on() {
  shows_progress_ = true;
  show_progress();
}

void LeaderTrial::show_progress() {
  if (!options_.on_progress || progress_.empty() || !shows_progress_)
    return;
  const ProgressNote slowest =
      std::ranges::min_element(progress_, {}, [](const auto& one) { return one.second; })->second;
  if (slowest == shown_)
    return;
  shown_ = slowest;
  options_.on_progress({slowest.cells_done, static_cast<int>(spec_.cells.size()), slowest.phase});
}

void LeaderTrial::on_report(int from, TrialReport report) {
  if (!reported_.insert(from).second)
    return; // it came on another way too
  reports_[from] = std::move(report);
  bound_memory(reports_[from]);
  over_ = reported_.size() == reports_.size();
  if (members_left_.erase(from) > 0 && members_left_.empty())
    rest_due_ns_ = clock_.in(std::chrono::nanoseconds(spec_.teardown_deadline_ns));
  if (heartbeats_.expecting()) // reports arrive one after the other, and each may take long
    heartbeats_.expect();
}

void LeaderTrial::bound_memory(TrialReport& newest) {
  if (rows_)
    return set_rows_aside(newest);
  if (!why_rows_lost_.empty())
    return lose_rows(newest);
  for_each_result(newest, [&](int, model::CellRecord& result) { // it waits for thousands of others
    result.samples.shrink_to_fit();
    result.conditions.shrink_to_fit();
    result.marks.shrink_to_fit();
    rows_bytes_ += bytes_of(result.samples) + bytes_of(result.conditions) + bytes_of(result.marks);
  });
  if (rows_bytes_ < k_most_bytes_of_rows || options_.rows_folder.empty())
    return;
  rows_ = std::make_unique<store::TrialRows>(options_.rows_folder);
  for (std::size_t i = 0; rows_ && i < reports_.size(); ++i)
    set_rows_aside(reports_[i]);
}

void LeaderTrial::set_rows_aside(TrialReport& report) {
  try {
    for_each_result(report, [&](int cell, model::CellRecord& result) {
      number_rows_as_launch(spec_, result);
      rows_->add(cell, result);
    });
  } catch (const Exception& error) { // without room there, there is none to store them either
    why_rows_lost_ = "what the ranks measured cannot be set aside: " + error.error().text();
    rows_.reset();
    for (TrialReport& one : reports_)
      lose_rows(one);
  }
}

// A record without them can still be stored, and says why its cells failed.
void LeaderTrial::lose_rows(TrialReport& report) const {
  for_each_result(report, [&](int, model::CellRecord& result) {
    result = {
        model::worse(std::move(result.outcome), {model::OutcomeKind::failed, why_rows_lost_, {}}),
        std::move(result.check),
        {},
        {},
        {}};
  });
}

void LeaderTrial::look_at_clock() {
  if (over_)
    return;
  if (clock_.past(backstop_ns_) && !cause_)
    on_trouble({.reason = "the supervisors missed every deadline"});
  heartbeats_.look();
  if (!cause_)
    look_for_absent();
  if (cause_ && clock_.past(settled_ns_))
    send_stop(Haste::normal);
  if (!clock_.past(reports_due_ns_) && !all_cut_off())
    return;
  if (cause_->kind == Trouble::Kind::interrupted)
    cause_->kind = Trouble::Kind::failed;
  cause_->reason +=
      fmt::format("{}no report from {}", cause_->reason.empty() ? "" : "; ", silent());
  over_ = true;
}

std::set<int> LeaderTrial::absent_from(const OpenExchange& open) const {
  std::set<int> absent;
  for (int rank : open.whole.members)
    if (!open.whole.contributions.contains(rank))
      absent.insert(supervisor_of_rank_[rank]);
  return absent;
}

// Who keeps others waiting beyond a deadline.
std::vector<LeaderTrial::Absent> LeaderTrial::absent() const {
  std::vector<Absent> all;
  for (const auto& [key, open] : exchanges_)
    if (clock_.past(open.due_ns))
      all.push_back({key == wire::k_leave_key ? WorkerPhase::teardown : WorkerPhase::started,
                     absent_from(open)});
  if (clock_.past(rest_due_ns_)) {
    Absent rest{WorkerPhase::teardown, {}};
    not_reported().each([&](int supervisor) { rest.who.insert(supervisor); });
    all.push_back(std::move(rest));
  }
  return all;
}

// Ranks that wait in an exchange have no deadline of their own. The ranks that they wait for have
// one, but if their host is cut off, nobody reports that it has passed. So the leader asks them
// once it has.
void LeaderTrial::look_for_absent() {
  const bool due =
      clock_.past(rest_due_ns_) || std::ranges::any_of(exchanges_, [this](const auto& entry) {
        return clock_.past(entry.second.due_ns);
      });
  if (!due)
    return heartbeats_.stop_expecting();
  const bool ask = heartbeats_.request_due();
  for (Absent& some : absent()) {
    if (ask)
      tell_(RankSet::of(some.who), HeartbeatRequest{});
    std::erase_if(some.who, [&](int supervisor) {
      return !heartbeats_.silent(supervisor, options_.cut_off_after);
    });
    if (!some.who.empty())
      return cut_off(some.phase, some.who, "the others wait, and {} no longer answer");
  }
}

void LeaderTrial::on_lost(int supervisor) {
  if (over_ || reported_.contains(supervisor) || cut_off_.contains(supervisor))
    return;
  auto progress = progress_.find(supervisor);
  cut_off(progress == progress_.end() ? WorkerPhase::started : progress->second.phase, {supervisor},
          "the connection to {} has ended");
}

// `what`: a sentence with a place for the names.
void LeaderTrial::cut_off(WorkerPhase phase, const std::set<int>& absent, const char* what) {
  cut_off_.insert(absent.begin(), absent.end());
  Trouble trouble{.phase = phase};
  for (std::size_t rank = 0; rank < supervisor_of_rank_.size(); ++rank)
    if (absent.contains(supervisor_of_rank_[rank]))
      trouble.ranks.push_back(static_cast<int>(rank));
  trouble.reason = fmt::format(fmt::runtime(what), names_of(RankSet::of(absent)));
  on_trouble(std::move(trouble));
}

RankSet LeaderTrial::silent_for(std::chrono::nanoseconds time) const {
  RankSet silent;
  if (over_ || !heartbeats_.expecting())
    return silent;
  std::set<int> asked; // before the stop, only the absent are
  if (!stop_sent_)
    for (Absent& some : absent())
      asked.merge(some.who);
  for (int supervisor = 0; supervisor < std::ssize(reports_); ++supervisor)
    if ((stop_sent_ ? !reported_.contains(supervisor) : asked.contains(supervisor)) &&
        heartbeats_.silent(supervisor, time))
      silent.add(supervisor, supervisor + 1);
  return silent;
}

bool LeaderTrial::all_cut_off() const {
  if (!stop_sent_)
    return false;
  for (int supervisor = 0; supervisor < std::ssize(reports_); ++supervisor)
    if (!reported_.contains(supervisor) && !cut_off_.contains(supervisor) &&
        !heartbeats_.silent(supervisor, options_.cut_off_after))
      return false;
  return true;
}

bool LeaderTrial::over_but_for(const std::set<int>& lost) const {
  for (int supervisor = 0; supervisor < std::ssize(reports_); ++supervisor)
    if (!reported_.contains(supervisor) && !lost.contains(supervisor))
      return false;
  return true;
}

RankSet LeaderTrial::not_reported() const {
  RankSet rest;
  for (int supervisor = 0; supervisor < std::ssize(reports_); ++supervisor)
    if (!reported_.contains(supervisor))
      rest.add(supervisor, supervisor + 1);
  return rest;
}

std::string LeaderTrial::silent() const {
  return names_of(not_reported());
}

// By their ranks of the launch: not all of them need to be in the trial.
std::string LeaderTrial::names_of(const RankSet& supervisors) const {
  std::map<std::string, std::vector<int>> ranks_by_host;
  for (const RankPlacement& placement : layout_.placements)
    if (supervisors.contains(placement.supervisor))
      ranks_by_host[layout_.host_name(placement)].push_back(placement.rank);
  std::string words;
  for (const auto& [host, ranks] : ranks_by_host)
    words += fmt::format("{}{} on {}", words.empty() ? "" : ", ", name_ranks(ranks), host);
  return "the supervisors of " + words;
}

std::string LeaderTrial::lost_workers() const {
  std::string words;
  for (const TrialReport& report : reports_)
    for (const WorkerReport& worker : report.workers)
      if (worker.lost)
        words += (words.empty() ? "" : "; ") + describe_lost(worker.record);
  return words;
}

model::TrialRecord LeaderTrial::take_record() {
  if (rows_)
    rows_->leave_out(unended_cells(spec_, reports_));
  number_as_launch(spec_, reports_, cause_);
  model::TrialRecord record = make_record(spec_, cause_, std::move(reports_));
  record.started_utc = started_utc_;
  record.total_ns = base::monotonic_ns() - started_ns_;
  return record;
}

} // namespace ncclprobe::launch
