// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/delivery_step.h"
#include "analysis/search/simulated_machine.h"
#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis::search;
using namespace ncclprobe::analysis::search::simulation;

namespace {

std::vector<Candidate> of_targets(const Outcome& outcome) {
  std::vector<Candidate> all;
  for (const Decision& row : outcome.table)
    all.push_back(row.candidate);
  return all;
}

struct DeliveryLog {
  std::vector<TrialRequest> requests; // of the delivery and of the default beside it
  Outcome outcome;
};

// After a search: the trials of the delivery, where the machine is disturbed from the second one's
// start for so long. `budget_s` is left for repeats.
DeliveryLog logged_delivery(double disturbed_s, double budget_s = 1000) {
  Surface surface = small_surface();
  double from_s = 1e9;
  surface.drift = [&](double seconds) {
    return seconds > from_s && seconds < from_s + disturbed_s ? 0.3 : 0.0;
  };
  SimulatedMachine machine(surface, 1);
  bool delivers = false;
  Options options{.budget_s = 10'000, .expected_s = SimulatedMachine::expected_s};
  double end_s = 0;
  options.end_s = [&](bool) { return delivers ? end_s : 0; };
  Search search(surface.space, options);
  DeliveryLog log;
  auto run_all = [&] {
    for (auto trials = search.next(); !trials.empty(); trials = search.next())
      for (const TrialRequest& trial : trials) {
        if (delivers)
          log.requests.push_back(trial);
        search.learn(trial, machine.run(trial));
      }
  };
  run_all();
  const Outcome found = search.outcome();
  delivers = true;
  from_s = machine.seconds() + 1; // a trial takes 1.4 s
  end_s = options.budget_s - found.seconds - budget_s;
  search.deliver(of_targets(found));
  run_all();
  log.outcome = search.outcome();
  return log;
}

std::string in_order(const std::vector<TrialRequest>& trials) {
  std::string order; // F: the delivery
  for (const TrialRequest& trial : trials)
    order += trial.form == Form::delivered ? 'F' : 'D';
  return order;
}

} // namespace

TEST_CASE("the delivery runs in turns with the default, after a search that stays complete") {
  const DeliveryLog log = logged_delivery(0);
  CHECK(in_order(log.requests) == "FDFDFD");
  CHECK(log.outcome.complete);
  CHECK(log.outcome.rejections.empty());
  for (const TrialRequest& trial : log.requests) {
    CHECK(trial.stage == Stage::delivery);
    REQUIRE(trial.cells.size() == 2);
    for (const CellRequest& cell : trial.cells)
      CHECK(cell.candidate ==
            (trial.form == Form::delivered ? Candidate{1, 0, 2} : Candidate{0, 0, 0}));
  }
}

TEST_CASE("trials of the delivery that are disturbed are repeated once the default is as before") {
  const DeliveryLog log = logged_delivery(2);
  CHECK(!log.outcome.disturbances.empty());
  REQUIRE(!log.outcome.rejections.empty());
  CHECK(std::ranges::all_of(log.outcome.rejections, &Rejection::repeated));
  CHECK(std::ranges::count(log.requests, Cause::default_off, &TrialRequest::cause) ==
        std::ssize(log.outcome.rejections));
  CHECK(log.requests.size() > 6);
  CHECK(log.outcome.complete);
}

TEST_CASE("a delivery is not repeated beyond the budget, and a disturbance that stays ends") {
  const DeliveryLog poor = logged_delivery(2, 5);
  CHECK(in_order(poor.requests) == "FDFDFD");
  REQUIRE(!poor.outcome.rejections.empty());
  CHECK(std::ranges::none_of(poor.outcome.rejections, &Rejection::repeated));

  const DeliveryLog level = logged_delivery(1e6);
  CHECK(std::ranges::count_if(level.outcome.disturbances, &Disturbance::new_level) == 1);
  CHECK(level.requests.size() <= 20);
}

namespace {

// Each trial of the delivery crashes in its first cell.
Outcome crashed_delivery(const std::vector<Candidate>& delivered) {
  const Surface surface = small_surface();
  SimulatedMachine machine(surface, 1);
  Search search(surface.space, {.expected_s = SimulatedMachine::expected_s});
  auto run_all = [&] {
    for (auto trials = search.next(); !trials.empty(); trials = search.next())
      for (const TrialRequest& trial : trials) {
        TrialResult result = machine.run(trial);
        if (trial.form == Form::delivered)
          result.cells = {{model::OutcomeKind::crashed, 0}, {model::OutcomeKind::not_run, 0}};
        search.learn(trial, result);
      }
  };
  run_all();
  search.deliver(delivered);
  run_all();
  return search.outcome();
}

} // namespace

TEST_CASE("a delivery that fails is told, and no candidate is blamed for it") {
  const Candidate winner{1, 0, 2};
  const Outcome of_winner = crashed_delivery({winner, winner});
  CHECK(of_winner.delivery == model::OutcomeKind::crashed);
  for (const Reason& reason : of_winner.reasons)
    CHECK(reason.fate != Fate::failed);
  CHECK(std::ranges::count_if(of_winner.reasons, [&](const Reason& reason) {
          return reason.candidate == winner && reason.fate == Fate::won;
        }) == 2);

  // A table in which the target whose cell fails keeps the default.
  const Outcome of_default = crashed_delivery({{0, 0, 0}, {0, 0, 2}});
  CHECK(of_default.delivery == model::OutcomeKind::crashed);
  CHECK(std::ranges::count(of_default.reasons, Candidate{0, 0, 0}, &Reason::candidate) == 0);

  CHECK(logged_delivery(0).outcome.delivery == model::OutcomeKind::ok);
}

TEST_CASE("a budget holds with companions and with repeats of a disturbed delivery") {
  constexpr double k_companion_s = SimulatedMachine::k_start_s + 2 * SimulatedMachine::k_cell_s;
  constexpr int k_before_confirming = 5;
  int repeated = 0, not_repeated = 0;
  for (int budget_s = 50; budget_s < 80; ++budget_s) {
    INFO(budget_s);
    Surface surface = small_surface();
    double from_s = 1e9;
    surface.drift = [&](double seconds) {
      return seconds > from_s && seconds < from_s + 2 ? 0.3 : 0.0;
    };
    SimulatedMachine machine(surface, 1);
    int companions = 0;
    bool delivers = false;
    Options options{.budget_s = static_cast<double>(budget_s),
                    .expected_s = SimulatedMachine::expected_s};
    options.end_s = [&](bool screened) {
      const int before_delivery =
          k_before_confirming - companions + (screened ? DeliveryStep::k_trials : 0);
      return k_companion_s * (delivers ? 1 : before_delivery + (screened ? 1 : 0));
    };
    Search search(surface.space, options);
    auto run_companions = [&](int count) {
      companions += count;
      search.spend(count * k_companion_s);
    };
    auto run_all = [&] {
      for (auto trials = search.next(); !trials.empty(); trials = search.next()) {
        if (trials.front().stage == Stage::confirm && companions == 0)
          run_companions(k_before_confirming);
        for (const TrialRequest& trial : trials)
          search.learn(trial, machine.run(trial));
      }
    };
    run_all();
    if (Outcome found = search.outcome(); found.table.front().candidate[2] != 0) {
      delivers = true;
      from_s = machine.seconds() + 1;
      search.deliver(of_targets(found));
      run_all();
      run_companions(1);
      for (const Rejection& one : search.outcome().rejections)
        ++(one.repeated ? repeated : not_repeated);
    }

    const double total_s = machine.seconds() + companions * k_companion_s;
    CHECK(search.outcome().seconds == Approx(total_s));
    CHECK(total_s <= budget_s + 1e-6);
  }
  CHECK(repeated > 0);
  CHECK(not_repeated > 0);
}
