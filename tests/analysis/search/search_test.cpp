// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/default_level.h"
#include "analysis/search/simulated_machine.h"
#include "base/error.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::analysis::search;
using namespace ncclprobe::analysis::search::simulation;

namespace {

struct Log {
  std::vector<TrialRequest> requests;
  Outcome outcome;
};

Log logged(const Surface& surface, Options options = {}) {
  options.expected_s = SimulatedMachine::expected_s;
  SimulatedMachine machine(surface, options.seed);
  Search search(surface.space, options);
  Log log;
  for (auto trials = search.next(); !trials.empty(); trials = search.next())
    for (const TrialRequest& trial : trials) {
      log.requests.push_back(trial);
      search.learn(trial, machine.run(trial));
    }
  log.outcome = search.outcome();
  return log;
}

const Reason* reason_of(const Outcome& outcome, const Candidate& candidate) {
  auto found = std::ranges::find(outcome.reasons, candidate, &Reason::candidate);
  return found == outcome.reasons.end() ? nullptr : &*found;
}

int requests_of(const Log& log, const Candidate& candidate) {
  int count = 0;
  for (const TrialRequest& trial : log.requests)
    count +=
        std::ranges::find(trial.cells, candidate, &CellRequest::candidate) != trial.cells.end();
  return count;
}

} // namespace

TEST_CASE("a search proves the settings and the rows of the table") {
  const Outcome outcome = logged(small_surface()).outcome;
  CHECK(outcome.complete);
  CHECK(outcome.settings.proven);
  CHECK(outcome.settings.candidate == Candidate{1, 0, 0});
  CHECK(outcome.settings.over_default.interval.low > outcome.settings.needed);
  REQUIRE(outcome.table.size() == 2);
  for (const Decision& row : outcome.table) {
    CHECK(row.proven);
    CHECK(row.candidate == Candidate{1, 0, 2});
    CHECK(row.needed >= 1.02);
    CHECK(row.over_default.interval.low > row.needed);
  }
}

// P=1 is 20% faster. S changes nothing, and A=1 and B=1 do the same, 10%.
Surface surface_with_needless_changes() {
  Surface surface{.name = "needless", .kind = small_surface().kind};
  for (const char* name : {"S", "P", "A", "B"})
    surface.space.parameters.push_back({.name = name, .values = {"", "1"}});
  surface.space.targets = {{.name = "1M", .weight = 1, .bytes = 1 << 20}};
  surface.log_time = [](const Candidate& one, std::size_t) {
    return -0.2 * one[1] - (one[2] == 1 || one[3] == 1 ? 0.1 : 0.0);
  };
  return surface;
}

TEST_CASE("changes that gain nothing are left out, but not both of a pair") {
  int needless = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO(seed);
    const Surface surface = surface_with_needless_changes();
    const Outcome outcome = logged(surface, {.seed = seed}).outcome;
    const Candidate& found = outcome.settings.candidate;
    CHECK(outcome.settings.proven);
    CHECK(found[1] == 1);
    CHECK(found[2] + found[3] >= 1);
    needless += found[0] + (found[2] + found[3] == 2);
    if (found == Candidate{0, 1, 1, 0}) {
      REQUIRE(outcome.of_changes.size() == 2);
      CHECK(outcome.of_changes.at(1).speed == Approx(std::exp(0.2)).epsilon(0.01));
      CHECK(outcome.of_changes.at(2).interval.low > 1);
    }
    CHECK(outcome.each_change_counts);
    for (const LeftOut& one : outcome.left_out) {
      CHECK(found[one.parameter] == 0);
      CHECK(one.gain.interval.low <= 1);
    }
  }
  CHECK(needless <= 4); // each of 40 with a probability of 5%, one-sided half of it
}

TEST_CASE("a candidate said to be beaten was slower by its own trials, or only by the estimate") {
  int estimated = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const Reason& one :
         logged(surface_with_needless_changes(), {.seed = seed}).outcome.reasons) {
      INFO(seed << ": " << one.speed << " against " << one.needed);
      if (one.fate == Fate::not_chosen)
        CHECK(one.speed < one.needed);
      if (one.fate == Fate::estimated_slower)
        CHECK(one.speed >= one.needed);
      estimated += one.fate == Fate::estimated_slower;
    }
  CHECK(estimated > 0);
}

TEST_CASE("without time to leave out each change in turn, the search says so") {
  const Outcome outcome = logged(surface_with_needless_changes(), {.budget_s = 55}).outcome;
  CHECK(outcome.settings.proven);
  CHECK(changes(outcome.settings.candidate) > 1);
  CHECK(!outcome.each_change_counts);
  CHECK(outcome.left_out.empty());
}

// The first look of confirming, in order: D for the default, F for the finalist.
std::string first_look(std::uint64_t seed) {
  const Surface surface = small_surface();
  SimulatedMachine machine(surface, seed);
  Search search(surface.space, {.seed = seed});
  auto trials = search.next();
  for (; trials.front().stage != Stage::confirm; trials = search.next())
    for (const TrialRequest& trial : trials)
      search.learn(trial, machine.run(trial));
  std::string order;
  for (const TrialRequest& trial : trials)
    order += changes(trial.process) == 0 ? 'D' : 'F';
  return order;
}

TEST_CASE("the default and the finalist come first in half of the pairs each, in random order, and "
          "every finalist runs between two trials of the default") {
  const std::set<std::string> possible{"DFDFFDFDFD", "DFDFDFFDFD", "DFDFDDFDFDFD", "DFDFDFDDFDFD"};
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 32; ++seed)
    seen.insert(first_look(seed));
  CHECK(seen == possible);
}

TEST_CASE("the same seed leads to the same requests, another one to others") {
  const Log first = logged(small_surface(), {.seed = 7}),
            second = logged(small_surface(), {.seed = 7}),
            other = logged(small_surface(), {.seed = 8});
  REQUIRE(first.requests.size() == second.requests.size());
  bool all_as_other = first.requests.size() == other.requests.size();
  for (std::size_t i = 0; i < first.requests.size(); ++i) {
    CHECK(first.requests[i].cells == second.requests[i].cells);
    all_as_other = all_as_other && first.requests[i].cells == other.requests[i].cells;
  }
  CHECK(!all_as_other);
}

TEST_CASE("every candidate that was tried has a reason") {
  const Log log = logged(small_surface());
  std::set<Candidate> tried;
  for (const TrialRequest& trial : log.requests)
    for (const CellRequest& cell : trial.cells)
      tried.insert(cell.candidate);
  tried.erase(Candidate{0, 0, 0});
  for (const Candidate& candidate : tried) {
    INFO(to_text(small_surface().space, candidate));
    CHECK(reason_of(log.outcome, candidate));
  }
  REQUIRE(reason_of(log.outcome, {1, 0, 0}));
  CHECK(reason_of(log.outcome, {1, 0, 0})->fate == Fate::won);
  CHECK(reason_of(log.outcome, {0, 1, 0})->speed < 1);
}

TEST_CASE("cells of one trial share its process parameters, and ids count trials") {
  const Log log = logged(small_surface());
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    CHECK(log.requests[i].id == static_cast<int>(i));
    for (const CellRequest& cell : log.requests[i].cells)
      CHECK(process_part(small_surface().space, cell.candidate) == log.requests[i].process);
  }
  CHECK(log.outcome.trials == static_cast<int>(log.requests.size()));
}

TEST_CASE("what hangs, crashes or gives wrong data loses, and is never tried again") {
  for (auto outcome : {model::OutcomeKind::timed_out, model::OutcomeKind::crashed,
                       model::OutcomeKind::wrong_data, model::OutcomeKind::failed}) {
    INFO(model::to_string(outcome));
    Surface surface = small_surface();
    surface.outcome = [=](const Candidate& one) {
      return one[0] == 1 || one[2] == 2 ? outcome : model::OutcomeKind::ok;
    };
    const Log log = logged(surface);
    CHECK(requests_of(log, {1, 0, 0}) == 1);
    CHECK(requests_of(log, {1, 1, 0}) == 0); // sets all that a failed one sets
    REQUIRE(reason_of(log.outcome, {1, 0, 0}));
    CHECK(reason_of(log.outcome, {1, 0, 0})->fate == Fate::failed);
    CHECK(reason_of(log.outcome, {1, 0, 0})->outcome == outcome);
    CHECK(reason_of(log.outcome, {0, 0, 2})->fate == Fate::failed);
    CHECK(!log.outcome.settings.proven);
    for (const Decision& row : log.outcome.table)
      CHECK(row.candidate == Candidate{0, 0, 0});
  }
}

TEST_CASE("cells that a hang kept from running are asked for again") {
  Surface surface = small_surface();
  surface.outcome = [](const Candidate& one) {
    return one[2] == 1 ? model::OutcomeKind::timed_out : model::OutcomeKind::ok;
  };
  int asked_again = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) { // the hang comes early or late
    const Log log = logged(surface, {.seed = seed});
    asked_again += std::ranges::any_of(log.requests, [](const TrialRequest& trial) {
      return trial.cause == Cause::cells_not_run;
    });
    CHECK(log.outcome.settings.candidate == Candidate{1, 0, 0});
    for (const Decision& row : log.outcome.table)
      CHECK(row.candidate == Candidate{1, 0, 2});
  }
  CHECK(asked_again > 0);
}

TEST_CASE("a candidate that is not possible for a target is not tried for it") {
  Surface surface = small_surface();
  surface.space.possible = [](const Candidate& one, std::size_t target) {
    return target == 1 || (one[0] != 1 && one[2] != 2);
  };
  const Log log = logged(surface);
  for (const TrialRequest& trial : log.requests)
    for (const CellRequest& cell : trial.cells)
      CHECK(surface.space.possible(cell.candidate, cell.target));
  CHECK(log.outcome.table[0].candidate == Candidate{0, 0, 0});
  CHECK(log.outcome.table[1].candidate == Candidate{0, 0, 2});
}

TEST_CASE("trials near a disturbance are measured again, and it is told") {
  Surface surface = small_surface();
  surface.drift = [](double seconds) { return seconds > 9 && seconds < 14 ? 0.3 : 0.0; };
  const Log log = logged(surface);
  REQUIRE(!log.outcome.disturbances.empty());
  CHECK(log.outcome.disturbances[0].ratio > 1.2);
  CHECK(!log.outcome.disturbances[0].new_level);
  CHECK(std::ranges::any_of(
      log.requests, [](const TrialRequest& trial) { return trial.cause == Cause::default_off; }));
  REQUIRE(!log.outcome.rejections.empty());
  CHECK(std::ranges::all_of(log.outcome.rejections, &Rejection::repeated));
  CHECK(std::ranges::count(log.requests, Cause::default_off, &TrialRequest::cause) ==
        std::ssize(log.outcome.rejections));
  CHECK(log.outcome.table[0].candidate == Candidate{1, 0, 2});
}

namespace {

// Two changes that help, and of which both together are slower in the first `cells` cells.
Surface slower_together(int cells) {
  Surface surface = small_surface();
  surface.log_time = [cells, measured = 0](const Candidate& one, std::size_t) mutable {
    const bool together = one[0] == 1 && one[1] == 1;
    const double more = together && measured++ < cells ? 0.25 : 0;
    return (one[0] == 1 ? -0.1 : 0.0) + (one[1] == 1 ? -0.06 : 0.0) + more;
  };
  return surface;
}

} // namespace

TEST_CASE("a combination that is slower than its changes lead to expect is measured once more") {
  const auto first_trial = static_cast<int>(small_surface().space.targets.size());
  const Log disturbed = logged(slower_together(first_trial));
  CHECK(std::ranges::count(disturbed.requests, Cause::slower_than_expected, &TrialRequest::cause) ==
        1);
  CHECK(disturbed.outcome.settings.candidate == Candidate{1, 1, 0});

  const Log slower = logged(slower_together(1'000'000));
  CHECK(std::ranges::count(slower.requests, Cause::slower_than_expected, &TrialRequest::cause) ==
        1);
  CHECK(slower.outcome.settings.candidate == Candidate{1, 0, 0});
}

TEST_CASE("a combination is not doubtful if it is faster than each of its changes") {
  Surface surface = small_surface();
  surface.log_time = [](const Candidate& one, std::size_t) {
    return one[0] == 1 && one[1] == 1 ? -1.1
                                      : (one[0] == 1 ? -0.9 : 0.0) + (one[1] == 1 ? -0.8 : 0.0);
  };
  const Log log = logged(surface);
  CHECK(std::ranges::count(log.requests, Cause::slower_than_expected, &TrialRequest::cause) == 0);
  CHECK(log.outcome.settings.candidate == Candidate{1, 1, 0});
}

TEST_CASE("a doubtful combination that hangs when it is measured again has failed") {
  Surface surface = slower_together(1'000'000);
  surface.outcome = [trials = 0](const Candidate& one) mutable {
    const bool together = one[0] == 1 && one[1] == 1;
    constexpr int k_first_cells = 2;
    return together && ++trials > k_first_cells ? model::OutcomeKind::timed_out
                                                : model::OutcomeKind::ok;
  };
  const Log log = logged(surface);
  CHECK(std::ranges::count(log.requests, Cause::slower_than_expected, &TrialRequest::cause) == 1);
  const Reason* failed = reason_of(log.outcome, {1, 1, 0});
  REQUIRE(failed != nullptr);
  CHECK(failed->fate == Fate::failed);
}

TEST_CASE("a change that the race finds to gain next to nothing stays out") {
  Surface surface = small_surface();
  surface.log_time = [](const Candidate& one, std::size_t) {
    return (one[0] == 1 ? -0.2 : 0.0) + (one[1] == 1 ? -0.004 : 0.0);
  };
  const Outcome outcome = logged(surface).outcome;
  CHECK(outcome.settings.candidate == Candidate{1, 0, 0});
  const Reason* with_it = reason_of(outcome, {1, 1, 0});
  REQUIRE(with_it != nullptr);
  CHECK(with_it->fate == Fate::needless);
  CHECK(with_it->stage == Stage::race);
}

TEST_CASE("a search says that the budget had no room to repeat disturbed trials") {
  Surface surface = small_surface();
  surface.drift = [](double seconds) { return seconds > 9 && seconds < 14 ? 0.3 : 0.0; };
  // Later trials are taken to last for long.
  Options options{.budget_s = 100};
  SimulatedMachine machine(surface, options.seed);
  options.expected_s = [&](const TrialRequest& one) {
    return machine.seconds() > 12 ? 200 : SimulatedMachine::expected_s(one);
  };
  Search search(surface.space, options);
  for (auto trials = search.next(); !trials.empty(); trials = search.next())
    for (const TrialRequest& trial : trials)
      search.learn(trial, machine.run(trial));
  const Outcome outcome = search.outcome();
  CHECK(!outcome.disturbances.empty());
  REQUIRE(!outcome.rejections.empty());
  CHECK(std::ranges::none_of(outcome.rejections, &Rejection::repeated));
}

TEST_CASE("a new level of the default that stays is accepted") {
  Surface surface = small_surface();
  surface.drift = [](double seconds) { return seconds > 9 ? 0.3 : 0.0; };
  const Outcome outcome = logged(surface).outcome;
  CHECK(std::ranges::count_if(outcome.disturbances, &Disturbance::new_level) == 1);
  CHECK(outcome.table[0].candidate == Candidate{1, 0, 2});
}

TEST_CASE("a search keeps its budget, and says that it was cut short") {
  for (double budget_s : {20.0, 30.0, 45.0}) {
    const Log log = logged(small_surface(), {.budget_s = budget_s});
    INFO(budget_s);
    CHECK(log.outcome.seconds <= budget_s + 1e-6);
  }
  CHECK(!logged(small_surface(), {.budget_s = 20}).outcome.complete);
}

TEST_CASE("a budget without room for a table still finds settings") {
  const Log log = logged(small_surface(), {.budget_s = 28});
  CHECK(std::ranges::none_of(
      log.requests, [](const TrialRequest& trial) { return trial.stage == Stage::screen; }));
  CHECK(log.outcome.settings.proven);
  CHECK(!log.outcome.complete);
}

TEST_CASE("finalists that were not confirmed are unfinished") {
  const Surface surface = small_surface();
  SimulatedMachine machine(surface, 1);
  Search search(surface.space, {});
  auto trials = search.next();
  while (trials.front().stage != Stage::confirm) {
    for (const TrialRequest& trial : trials)
      search.learn(trial, machine.run(trial));
    trials = search.next();
  }
  const Outcome outcome = search.outcome();
  CHECK(!outcome.complete);
  CHECK(!outcome.settings.proven);
  for (const Candidate& finalist : {Candidate{1, 0, 0}, Candidate{1, 0, 2}}) {
    REQUIRE(reason_of(outcome, finalist));
    CHECK(reason_of(outcome, finalist)->fate == Fate::unfinished);
  }
}

TEST_CASE("the outcome before the first trial keeps the default") {
  const Search search(small_surface().space, {});
  const Outcome outcome = search.outcome();
  CHECK(!outcome.complete);
  CHECK(!outcome.settings.proven);
  REQUIRE(outcome.table.size() == 2);
  CHECK(outcome.table[0].candidate == Candidate{0, 0, 0});
}

TEST_CASE("a search ends if the default itself fails") {
  Surface surface = small_surface();
  surface.outcome = [](const Candidate&) { return model::OutcomeKind::crashed; };
  const Log log = logged(surface);
  CHECK(!log.outcome.complete);
  CHECK(log.outcome.default_failed);
  CHECK(log.requests.size() <= 4);
}

TEST_CASE("a default that fails once is measured again, and nobody else is blamed") {
  Surface surface = small_surface();
  int trials_of_default = 0;
  surface.outcome = [&](const Candidate& candidate) {
    const bool fails = candidate == Candidate{0, 0, 0} && ++trials_of_default == 3;
    return fails ? model::OutcomeKind::crashed : model::OutcomeKind::ok;
  };
  const Log log = logged(surface);
  CHECK(log.outcome.complete);
  CHECK(!log.outcome.default_failed);
  CHECK(std::ranges::none_of(log.outcome.reasons,
                             [](const Reason& one) { return one.fate == Fate::failed; }));
  CHECK(std::ranges::count(log.requests, Cause::default_failed, &TrialRequest::cause) == 1);
  REQUIRE(log.outcome.rejections.size() == 1);
  CHECK(log.outcome.rejections[0].repeated);
}

TEST_CASE("a search refuses a space in which there is nothing to tune or to compare with") {
  CHECK_THROWS_AS(Search(Space{}, {}), base::Exception);
  Space space = small_surface().space;
  space.possible = [](const Candidate&, std::size_t) { return false; };
  CHECK_THROWS_AS(Search(space, {}), base::Exception);
  space = small_surface().space;
  space.parameters[0].values.clear();
  CHECK_THROWS_AS(Search(space, {}), base::Exception);
}

TEST_CASE("the default is off if it is beyond its scatter so far") {
  DefaultLevel level;
  CHECK(!level.check(0, 1.0));
  for (int trial = 0; trial < 6; ++trial)
    level.add(trial, trial % 2 ? 0.001 : -0.001);
  REQUIRE(level.check(6, 0.02));
  CHECK(!level.check(6, 0.02)->is_off()); // below 3%
  CHECK(level.check(6, 0.05)->is_off());
  CHECK(level.check(6, -0.05)->is_off());
  level.restart();
  CHECK(!level.check(7, 0.05));
}

TEST_CASE("the default's level follows slow drift") {
  DefaultLevel level;
  for (int trial = 0; trial <= 40; trial += 5)
    level.add(trial, 0.001 * trial);
  CHECK(std::abs(level.near(20) - 0.02) < 1e-6);
  CHECK(std::abs(level.near(22) - 0.022) < 0.001);
}

TEST_CASE("steady drift is no disturbance, and a jump during it is one") {
  DefaultLevel level;
  for (int trial = 0; trial <= 40; trial += 5)
    level.add(trial, 0.004 * trial);
  REQUIRE(level.check(45, 0.18));
  CHECK(!level.check(45, 0.18)->is_off()); // 4% above the mean of the last three
  CHECK(level.check(45, 0.35)->is_off());
  CHECK(level.check(45, 0.0)->is_off());
}
