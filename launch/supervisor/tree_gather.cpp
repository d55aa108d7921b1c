// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "launch/supervisor/tree_fleet.h"
#include "wire/packing.h"

#include <algorithm>

// The gathers of all fleets.
namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

// How long the leader's children may take for an answer, from the last progress of anybody.
constexpr auto k_delivery_patience = 30s;
// From half of the patience on, the leader looks so often for those that are below a silent one.
constexpr int k_looks_per_patience = 16;

Result<std::vector<std::string>> by_rank(const Gathered& gathered, int size) {
  if (!gathered.problem.empty())
    return fail(Error{Errc::unavailable, gathered.problem, gathered.hint});
  std::vector<std::string> all(static_cast<std::size_t>(size));
  for (const auto& part : gathered.parts) {
    if (!part.second.sound(size))
      return fail(Errc::protocol, "a gather's answer names ranks that do not exist");
    part.second.each([&](int rank) { all[static_cast<std::size_t>(rank)] = part.first; });
  }
  return all;
}

} // namespace

int TreeFleet::begin_gather(std::string bytes) {
  const int gather = ++gathers_;
  Up up{gather, 0, true, rank_, "", {{std::move(bytes), rank_}}};
  if (rank_ == 0)
    deliver(std::move(up));
  else
    hold(std::move(up));
  flush_if_due();
  return gather;
}

Gathered TreeFleet::end_gather(int gather, const std::optional<Error>& problem) {
  auto found = gathering_.extract(gather);
  Gathered answer = problem ? Gathered{problem->message, problem->hint, {}}
                            : Gathered{"", "", std::move(found.mapped().parts)};
  gathers_ended_ = gather;
  std::erase_if(sent_down_, [](const Down& one) { return one.gather != 0; });
  send_down({0, gather, 0, {}, wire::pack(answer)}, Keep::yes, When::now);
  return answer;
}

std::optional<Gathered> TreeFleet::gather_answer(int gather) {
  auto found = answers_.extract(gather);
  if (found.empty())
    return std::nullopt;
  std::erase_if(sent_up_, [&](const Kept& one) { return one.gather == gather && one.trial == 0; });
  std::erase_if(seen_, [&](const auto& one) { return one.second.gather == gather; });
  return wire::unpack<Gathered>(found.mapped());
}

void TreeFleet::bypass_missing(int gather) {
  RankSet missing;
  for (int rank = 0; rank < size_; ++rank)
    if (!here(gather).contains(rank))
      missing.add(rank, rank + 1);
  bypass(missing);
}

Result<std::vector<std::string>> TreeFleet::all_gather(std::string bytes,
                                                       std::chrono::nanoseconds patience) {
  if (alone_)
    return fail(Errc::unavailable, "the other supervisors no longer answer");
  alone_ = true; // reset on success; stays true if a link throws
  const int gather = begin_gather(std::move(bytes));
  auto all = rank_ == 0 ? gather_here(gather, patience) : hand_in(gather, patience);
  alone_ = !all;
  return all;
}

Result<std::vector<std::string>> TreeFleet::gather_here(int gather,
                                                        std::chrono::nanoseconds patience) {
  const base::Deadline until = base::Deadline::after(patience);
  base::Deadline look = base::Deadline::after(patience / 2);
  auto some_are_lost = [&] {
    return std::ranges::any_of(lost(), [&](int rank) { return !here(gather).contains(rank); });
  };
  for (PatientSleep rest; !leader_has_all(gather) && !until.expired() && !some_are_lost();) {
    if (look.expired()) {
      bypass_missing(gather);
      look = base::Deadline::after(patience / k_looks_per_patience);
    }
    wait(rest);
    pump();
  }
  std::optional<Error> problem;
  std::set<int> missing;
  if (!leader_has_all(gather)) {
    for (int rank = 0; rank < size_; ++rank)
      if (!here(gather).contains(rank))
        missing.insert(rank);
    std::set<int> ended;
    std::ranges::set_intersection(missing, lost(), std::inserter(ended, ended.end()));
    problem = ended.empty() ? no_answer(missing, hosts_, patience, network()) : gone(ended, hosts_);
    bypass(RankSet::of(ended)); // those below them need the answer too
  }
  const Gathered answer = end_gather(gather, problem);
  // Those that are missing are not waited for: whoever hears of the problem ends, and its launcher
  // then ends this process too.
  auto still_unsent = [&] {
    std::set<int> receivers = unsent();
    std::erase_if(receivers, [&](int rank) { return missing.contains(rank); });
    return receivers;
  };
  std::size_t left = 0;
  std::set<int> unreached = still_unsent();
  base::Deadline delivered = base::Deadline::after(k_delivery_patience);
  for (PatientSleep rest; !unreached.empty() && !delivered.expired(); unreached = still_unsent()) {
    if (unreached.size() != std::exchange(left, unreached.size()))
      delivered = base::Deadline::after(k_delivery_patience);
    wait(rest);
  }
  if (problem)
    return fail(std::move(*problem));
  if (!unreached.empty())
    return fail(no_answer(unreached, hosts_, k_delivery_patience, network()));
  return by_rank(answer, size_);
}

// Waits for twice the patience, because rank 0 may have begun to wait that much later.
Result<std::vector<std::string>> TreeFleet::hand_in(int gather, std::chrono::nanoseconds patience) {
  const std::chrono::nanoseconds longest = 2 * patience + k_delivery_patience;
  const base::Deadline until = base::Deadline::after(longest);
  for (PatientSleep rest; true;) {
    pump();
    if (auto answer = gather_answer(gather)) {
      // What it passes on must be on its way before it does something that takes long.
      const base::Deadline passed_on = base::Deadline::after(k_delivery_patience);
      auto waits = [&] {
        const std::set<int> receivers = unsent();
        return std::ranges::any_of(
            place_.children, [&](const Branch& child) { return receivers.contains(child.first); });
      };
      while (waits() && !passed_on.expired())
        wait(rest);
      return by_rank(*answer, size_);
    }
    // At the end of a job rank 0 may be gone, and its last answer still on its way down the tree.
    if (lost().contains(0) && !linked(parent_))
      return fail(gone({0}, hosts_));
    if (until.expired())
      return fail(no_answer({0}, hosts_, longest, network()));
    wait(rest);
  }
}

} // namespace ncclprobe::launch
