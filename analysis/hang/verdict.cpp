// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/verdict.h"

#include "analysis/hang/mismatches.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ncclprobe::analysis::hang {
namespace {

constexpr std::size_t k_most_open_messages = 64; // of a rank in a group

struct Blame {
  Cause cause = Cause::none;
  std::vector<int> members; // ranks in the group
  const Mismatch* mismatch = nullptr;
};

// Ranks that wait for one reason.
struct Event {
  CallPlace call;
  const Mismatch* mismatch = nullptr;
  std::set<std::pair<std::size_t, int>> blamed; // group, member
  std::set<std::size_t> waiting;                // indexes in Job::ranks
};
// The reason, the group, the collective or message, and of a message the receiver and the sender.
using EventKey = std::tuple<Cause, std::size_t, std::uint64_t, int, int>;

class Judge {
public:
  Judge(const Job& job, std::int64_t least_ns) : job_(job), least_ns_(least_ns) {
    verdict_.mismatches = find_mismatches(job);
    for (std::size_t i = 0; i < job.ranks.size(); ++i)
      index_of_[job.ranks[i].rank] = i;
    stuck_.resize(job.ranks.size());
    current_.resize(job.ranks.size());
    color_.resize(job.ranks.size(), Color::white);
    roots_.resize(job.ranks.size());
    for (std::size_t group = 0; group < job.groups.size(); ++group)
      add_standings(group);
    for (std::size_t i = 0; i < job.ranks.size(); ++i)
      find_stuck(i);
  }

  Verdict take() {
    for (std::size_t i = 0; i < job_.ranks.size(); ++i) {
      resolve(i);
      for (const EventKey& root : roots_[i])
        events_[root].waiting.insert(i);
    }
    choose();
    return std::move(verdict_);
  }

private:
  enum class Color { white, gray, black };

  const Call& call_at(CallPlace place) const { return job_.ranks[place.rank].calls[place.call]; }
  std::int64_t wait_ns(CallPlace place) const {
    return job_.ranks[place.rank].known_until_ns - call_at(place).at_ns;
  }
  std::optional<std::size_t> record_of(std::size_t group, int member) const {
    const std::vector<int>& ranks = job_.groups[group].ranks;
    if (member < 0 || static_cast<std::size_t>(member) >= ranks.size())
      return std::nullopt;
    const auto found = index_of_.find(ranks[static_cast<std::size_t>(member)]);
    return found == index_of_.end() ? std::nullopt : std::optional(found->second);
  }
  int member_of(std::size_t group, std::size_t record) const {
    const std::vector<int>& ranks = job_.groups[group].ranks;
    return static_cast<int>(std::ranges::find(ranks, job_.ranks[record].rank) - ranks.begin());
  }
  const Standing& standing(std::size_t group, int member) const {
    return verdict_.standings[first_standing_.at(group) + static_cast<std::size_t>(member)];
  }

  void add_standings(std::size_t group);
  void find_stuck(std::size_t record);
  const std::vector<CallPlace>& current(std::size_t record);
  std::vector<CallPlace> find_current(std::size_t record) const;
  Blame blame(CallPlace place) const;
  Blame blame_of_message(CallPlace place) const;
  Blame blame_of_collective(CallPlace place) const;
  const Call* call_of(std::size_t group, int member, std::uint64_t position) const;
  void resolve(std::size_t record);
  void add_event(std::size_t record, CallPlace place, const Blame& blame,
                 const std::vector<int>& members);
  void choose();

  const Job& job_;
  std::int64_t least_ns_;
  Verdict verdict_;
  std::map<int, std::size_t> index_of_;                        // by global rank
  std::map<std::size_t, std::size_t> first_standing_;          // by group
  std::vector<std::vector<CallPlace>> stuck_;                  // by rank, in the order of the calls
  std::vector<std::optional<std::vector<CallPlace>>> current_; // what each rank waits in
  std::vector<Color> color_;
  std::vector<std::set<EventKey>> roots_;
  std::map<EventKey, Event> events_;
};

bool is_over(const Call& call) {
  return call.state == CallState::ended;
}

void Judge::add_standings(std::size_t group) {
  first_standing_[group] = verdict_.standings.size();
  const int size = static_cast<int>(job_.groups[group].ranks.size());
  std::set<std::uint64_t> positions; // of the group's collectives
  for (int member = 0; member < size; ++member) {
    Standing one{.group = group,
                 .member = member,
                 .rank = job_.groups[group].ranks[static_cast<std::size_t>(member)],
                 .of = record_of(group, member)};
    for (std::size_t i = 0; one.of && i < job_.ranks[*one.of].calls.size(); ++i) {
      const Call& call = job_.ranks[*one.of].calls[i];
      if (call.group != group)
        continue;
      one.last = CallPlace{*one.of, i};
      if (call.kind == CallKind::collective) {
        positions.insert(call.position);
        one.called = call.position + 1;
      }
      if (!is_over(call) && (!one.open || call_at(*one.open).state == CallState::unknown))
        one.open = one.last;
    }
    if (one.open)
      one.waits_ns = wait_ns(*one.open);
    verdict_.standings.push_back(one);
  }
  for (int member = 0; member < size; ++member) {
    Standing& one = verdict_.standings[first_standing_[group] + static_cast<std::size_t>(member)];
    one.behind = static_cast<std::uint64_t>(
        std::distance(positions.lower_bound(one.called), positions.end()));
  }
}

// Of each group the first collective that is not over, and the messages before it. Of a source that
// does not know ends, the last ones.
void Judge::find_stuck(std::size_t record) {
  const std::vector<Call>& calls = job_.ranks[record].calls;
  std::map<std::size_t, CallPlace> collective, unknown; // by group
  std::map<std::size_t, std::size_t> messages;          // how many, by group
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const CallPlace place{record, i};
    if (is_over(call) || collective.contains(call.group))
      continue;
    verdict_.ends_known &= call.state != CallState::unknown;
    if (wait_ns(place) < least_ns_) {
      verdict_.in_progress = true;
      continue;
    }
    if (call.state == CallState::unknown && call.kind == CallKind::collective)
      unknown[call.group] = place;
    else if (call.kind == CallKind::collective)
      collective[call.group] = place;
    else if (++messages[call.group] <= k_most_open_messages)
      stuck_[record].push_back(place);
  }
  for (const auto& [group, place] : collective)
    stuck_[record].push_back(place);
  for (const auto& [group, place] : unknown)
    if (!collective.contains(group))
      stuck_[record].push_back(place);
  std::ranges::sort(stuck_[record], {}, &CallPlace::call);
}

// What a rank waits in: what its GPU runs, or else what it called first.
std::vector<CallPlace> Judge::find_current(std::size_t record) const {
  std::vector<CallPlace> running;
  std::optional<CallPlace> first;
  for (const CallPlace place : stuck_[record]) {
    if (blame(place).cause == Cause::none)
      continue;
    const CallState state = call_at(place).state;
    if (state != CallState::queued)
      running.push_back(place);
    else if (!first)
      first = place;
  }
  if (running.empty() && first)
    return {*first};
  return running;
}

const std::vector<CallPlace>& Judge::current(std::size_t record) {
  if (!current_[record])
    current_[record] = find_current(record);
  return *current_[record];
}

const Call* Judge::call_of(std::size_t group, int member, std::uint64_t position) const {
  const std::optional<std::size_t> record = record_of(group, member);
  if (!record)
    return nullptr;
  const std::vector<Call>& calls = job_.ranks[*record].calls;
  const auto found = std::ranges::find_if(calls.rbegin(), calls.rend(), [&](const Call& call) {
    return call.group == group && call.kind == CallKind::collective && call.position == position;
  });
  return found == calls.rend() ? nullptr : &*found;
}

Blame Judge::blame(CallPlace place) const {
  return call_at(place).kind == CallKind::collective ? blame_of_collective(place)
                                                     : blame_of_message(place);
}

Blame Judge::blame_of_collective(CallPlace place) const {
  const Call& call = call_at(place);
  const std::size_t group = call.group;
  for (const Mismatch& one : verdict_.mismatches)
    if (one.group == group &&
        (one.position == call.position ||
         (one.position < call.position && one.argument == Argument::function))) {
      Blame mismatch{.cause = Cause::mismatch, .members = {}, .mismatch = &one};
      for (const int rank : one.ranks)
        mismatch.members.push_back(member_of(group, index_of_.at(rank)));
      return mismatch;
    }
  Blame absent{.cause = Cause::not_called}, queued{.cause = Cause::not_begun};
  Blame running{.cause = Cause::transfer};
  for (int member = 0; member < static_cast<int>(job_.groups[group].ranks.size()); ++member) {
    const Standing& other = standing(group, member);
    if (!other.of || other.called <= call.position)
      absent.members.push_back(member);
    else if (const Call* theirs = call_of(group, member, call.position); theirs == nullptr)
      continue;
    else if (theirs->state == CallState::queued || theirs->state == CallState::calling)
      queued.members.push_back(member);
    else if (theirs->state == CallState::running)
      running.members.push_back(member);
  }
  if (!absent.members.empty())
    return absent;
  if (call.state == CallState::unknown)
    return {};
  if (!queued.members.empty())
    return queued;
  if (running.members.size() == job_.groups[group].ranks.size())
    running.members.clear(); // no rank differs from the others
  return running;
}

Blame Judge::blame_of_message(CallPlace place) const {
  const Call& call = call_at(place);
  const std::optional<std::size_t> peer = record_of(call.group, call.peer);
  if (!peer)
    return {.cause = Cause::not_called, .members = {call.peer}};
  const int own = member_of(call.group, place.rank);
  const CallKind wanted = call.kind == CallKind::send ? CallKind::receive : CallKind::send;
  for (const Call& one : job_.ranks[*peer].calls)
    if (one.group == call.group && one.kind == wanted && one.peer == own &&
        one.position == call.position) {
      if (call.state == CallState::unknown)
        return {};
      if (call.state != CallState::running)
        return {.cause = Cause::not_begun, .members = {own}};
      if (one.state == CallState::queued || one.state == CallState::calling)
        return {.cause = Cause::not_begun, .members = {call.peer}};
      return {.cause = Cause::transfer};
    }
  return {.cause = Cause::unmatched_message, .members = {call.peer}};
}

void Judge::add_event(std::size_t record, CallPlace place, const Blame& blame,
                      const std::vector<int>& members) {
  const Call& call = call_at(place);
  EventKey key{blame.cause, call.group, call.position, -1, -1};
  if (call.kind == CallKind::send)
    key = {blame.cause, call.group, call.position, call.peer, member_of(call.group, record)};
  else if (call.kind == CallKind::receive)
    key = {blame.cause, call.group, call.position, member_of(call.group, record), call.peer};
  Event& event = events_.try_emplace(key, Event{place, blame.mismatch, {}, {}}).first->second;
  for (const int member : members)
    if (member >= 0 && static_cast<std::size_t>(member) < job_.groups[call.group].ranks.size())
      event.blamed.emplace(call.group, member); // a damaged record may name others
  roots_[record].insert(key);
}

// Follows who waits for whom, down to those that wait for nobody.
void Judge::resolve(std::size_t record) {
  if (color_[record] != Color::white)
    return;
  color_[record] = Color::gray;
  for (const CallPlace place : current(record)) {
    const Blame why = blame(place);
    if (why.cause == Cause::mismatch || why.cause == Cause::transfer) {
      add_event(record, place, why, why.members);
      continue;
    }
    for (const int member : why.members) {
      const std::optional<std::size_t> other = record_of(call_at(place).group, member);
      if (!other || *other == record || current(*other).empty()) {
        add_event(record, place, why, {member});
      } else if (color_[*other] == Color::gray) {
        add_event(record, place, {.cause = Cause::order}, {member});
      } else {
        resolve(*other);
        roots_[record].insert(roots_[*other].begin(), roots_[*other].end());
      }
    }
  }
  color_[record] = Color::black;
}

void Judge::choose() {
  const std::pair<const EventKey, Event>* chosen = nullptr;
  auto rank_of = [](const std::pair<const EventKey, Event>& one) {
    const bool blames = std::get<Cause>(one.first) < Cause::not_begun;
    return std::pair(blames, one.second.waiting.size());
  };
  for (const auto& one : events_)
    if (chosen == nullptr || rank_of(one) > rank_of(*chosen))
      chosen = &one;
  if (chosen == nullptr)
    return;
  const Event& event = chosen->second;
  verdict_.cause = std::get<Cause>(chosen->first);
  verdict_.call = event.call;
  if (event.mismatch != nullptr)
    verdict_.mismatch = *event.mismatch;
  for (const auto& [group, member] : event.blamed)
    verdict_.blamed.push_back(standing(group, member));
  for (const std::size_t record : event.waiting) {
    verdict_.waiting.push_back(job_.ranks[record].rank);
    for (const CallPlace place : current(record))
      verdict_.waits_ns = std::max(verdict_.waits_ns, wait_ns(place));
  }
}

} // namespace

Verdict judge(const Job& job, std::int64_t least_ns) {
  return Judge(job, least_ns).take();
}

} // namespace ncclprobe::analysis::hang
