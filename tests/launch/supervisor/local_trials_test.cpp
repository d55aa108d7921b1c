// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Trials that are prepared while the one before is in its start-up.
#include "processes.h"
#include "trial_lab.h"

#include "launch/supervisor/local_trials.h"
#include "launch/supervisor/supervisor.h"
#include "model/document.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <algorithm>
#include <fstream>

using namespace ncclprobe;
using model::OutcomeKind;
using test_launch::make_spec;

namespace {

// One supervisor that prepares, on a local fleet.
struct Lab {
  std::string token = test_launch::make_token();
  std::unique_ptr<launch::Fleet> fleet = launch::make_local_fleet();
  launch::SupervisorOptions options;
  std::optional<launch::Supervisor> supervisor;

  explicit Lab(const std::string& worker, std::vector<std::string> environment = {}) {
    environment.push_back(token);
    options = test_launch::make_options(worker, environment);
    options.prepare = true;
  }
  launch::Supervisor& begin(int ranks) {
    return supervisor.emplace(*fleet, test_launch::make_layout(ranks), options);
  }
  std::size_t left() {
    supervisor->release();
    return test_launch::processes_with(token).size();
  }
};

std::vector<model::TrialSpec> make_plan(int trials, int ranks) {
  std::vector<model::TrialSpec> plan;
  for (int id = 0; id < trials; ++id) {
    plan.push_back(make_spec(ranks, 2));
    plan.back().id = id;
  }
  return plan;
}

std::vector<model::TrialRecord> run_all(launch::Supervisor& supervisor,
                                        const std::vector<model::TrialSpec>& plan) {
  std::vector<model::TrialRecord> records;
  for (std::size_t next = 0; next < plan.size(); ++next)
    records.push_back(supervisor.run(plan[next], std::span(plan).subspan(next + 1)));
  return records;
}

} // namespace

TEST_CASE("the next trial starts up beside this one, but nothing else happens while one measures") {
  support::ScratchFolder folder;
  std::string diary = folder / "diary";
  Lab lab("diary", {"DIARY=" + diary});
  std::vector<model::TrialSpec> plan = make_plan(4, 2);
  // Each but the last stays in its teardown until it is the next one's turn.
  for (int id = 0; id < 3; ++id)
    plan[static_cast<std::size_t>(id)].process.common = {
        {"LEAVE_AFTER", "turn " + std::to_string(id + 1)}};

  std::vector<model::TrialRecord> records = run_all(lab.begin(2), plan);

  for (const model::TrialRecord& record : records) {
    CHECK(record.outcome.reason == "");
    CHECK(record.prepared == (record.spec.id > 0));
    CHECK(record.workers.at(1).exit == "exit 0");
    CHECK(record.startup_ns > 0);
  }
  std::vector<std::string> lines;
  std::ifstream file(diary);
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  auto first = [&](const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) - lines.begin();
  };
  auto last = [&](const std::string& line) {
    return lines.rend() - std::find(lines.rbegin(), lines.rend(), line) - 1;
  };
  for (int id = 0; id < 3; ++id) {
    std::string number = std::to_string(id);
    std::string next = std::to_string(id + 1);
    // Between the first that measures and the last that has measured there is nothing else.
    CHECK(last("measured " + number) - first("measuring " + number) == 3);
    CHECK(last("loaded " + next) < first("measuring " + number));
    CHECK(first("turn " + next) < first("left " + number));
    CHECK(last("left " + number) < first("measuring " + next));
  }
  CHECK(lab.left() == 0);
}

TEST_CASE("after a failed trial the next one starts afresh") {
  Lab lab("crash_in_cell");
  std::vector<model::TrialSpec> plan = make_plan(3, 2);
  plan[0].process.per_rank[1] = {{"MISBEHAVE", "yes"}};

  std::vector<model::TrialRecord> records = run_all(lab.begin(2), plan);

  CHECK(records[0].outcome.kind == OutcomeKind::crashed);
  CHECK(records[1].outcome.ok());
  CHECK(!records[1].prepared);
  CHECK(records[2].outcome.ok());
  CHECK(records[2].prepared);
  CHECK(lab.left() == 0);
}

TEST_CASE("a preparation that hangs or dies is given up, and the trial started in the usual way") {
  std::string worker = GENERATE("never_exchange", "exit_early");
  Lab lab(worker);
  lab.options.prepare_patience = std::chrono::milliseconds(200);
  std::vector<model::TrialSpec> plan = make_plan(2, 2);
  plan[1].process.per_rank[0] = {{"MISBEHAVE", "yes"}};
  plan[1].startup_deadline_ns = 300'000'000;
  launch::Supervisor& supervisor = lab.begin(2);

  std::vector<model::TrialRecord> records = run_all(supervisor, plan);
  model::TrialRecord third = supervisor.run(plan[0]);

  CHECK(records[0].outcome.reason == "");
  CHECK(!records[1].outcome.ok());
  CHECK(!records[1].prepared);
  CHECK(third.outcome.ok());
  CHECK(lab.left() == 0);
}

TEST_CASE("a trial that differs from what was announced is run as it was ordered") {
  Lab lab("good");
  std::vector<model::TrialSpec> plan = make_plan(3, 2);
  launch::Supervisor& supervisor = lab.begin(2);

  CHECK(supervisor.run(plan[0], std::span(plan).subspan(1, 1)).outcome.ok());
  model::TrialRecord record = supervisor.run(plan[2]);

  CHECK(record.spec.id == 2);
  CHECK(record.outcome.ok());
  CHECK(!record.prepared);
  CHECK(lab.left() == 0);
}

TEST_CASE("a stop ends what is prepared too") {
  Lab lab("wait_in_cell");
  launch::Supervisor* running = nullptr;
  lab.options.on_progress = [&](const launch::TrialProgress& progress) {
    if (progress.phase != launch::WorkerPhase::cell)
      return;
    // Two trials of two workers with a child each.
    CHECK(test_launch::processes_with(lab.token).size() == 8);
    running->request_stop();
  };
  running = &lab.begin(2);
  std::vector<model::TrialSpec> plan = make_plan(2, 2);

  std::vector<model::TrialRecord> records = run_all(*running, plan);

  CHECK(records[0].outcome == model::Outcome{OutcomeKind::not_run, "interrupted", {}});
  CHECK(records[1].outcome.kind == OutcomeKind::not_run);
  CHECK(lab.left() == 0);
}

TEST_CASE("a teardown that does not end is stopped, and the trial begun beside it starts anew") {
  Lab lab("slow_teardown");
  std::vector<model::TrialSpec> plan = make_plan(2, 2);
  plan[0].process.per_rank[0] = {{"MISBEHAVE", "yes"}};
  plan[0].teardown_deadline_ns = 300'000'000;

  std::vector<model::TrialRecord> records = run_all(lab.begin(2), plan);

  CHECK(records[0].outcome.kind == OutcomeKind::timed_out);
  CHECK(records[0].cells[1].outcome.ok());
  CHECK(records[1].outcome.ok());
  CHECK(!records[1].prepared);
  CHECK(lab.left() == 0);
}

TEST_CASE(
    "of a preparation that dies the leader hears nothing, and orders after a stop are refused") {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options("exit_early", {token});
  launch::Layout layout = test_launch::make_layout(1);
  std::vector<launch::SupervisorMessage> told;
  launch::ActiveClock clock;
  launch::LocalTrials trials(layout, 0, options, clock, [&](int trial, launch::MessageBody body) {
    told.push_back({trial, std::move(body)});
  });
  auto turn = [&] {
    std::vector<pollfd> watched;
    trials.watch(watched);
    ::poll(watched.data(), watched.size(), 1);
    trials.serve(watched);
  };
  auto reports_of = [&](int trial) {
    return std::ranges::count_if(told, [&](const launch::SupervisorMessage& message) {
      return message.trial == trial && std::holds_alternative<launch::TrialReport>(message.body);
    });
  };
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(20));
  auto part_of = [&](int trial) {
    auto found = std::ranges::find_if(told, [&](const launch::SupervisorMessage& message) {
      return message.trial == trial && std::holds_alternative<launch::ExchangePart>(message.body);
    });
    return found == told.end() ? nullptr : std::get_if<launch::ExchangePart>(&found->body);
  };

  trials.order(1, model::write_json(make_spec(1, 1)));
  trials.prepare(2, model::write_json(make_spec(1, 1, 0)));
  while (part_of(1) == nullptr && !patience.expired())
    turn();
  REQUIRE(part_of(1) != nullptr);
  trials.deliver(1, part_of(1)->exchange); // past its turn; its next exchange is not answered
  base::Deadline dead_by = base::Deadline::after(std::chrono::milliseconds(500));
  while (!dead_by.expired())
    turn();
  CHECK(reports_of(2) == 0);

  trials.stop_all(launch::Haste::fast);
  trials.order(3, model::write_json(make_spec(1, 1)));
  while (!trials.idle() && !patience.expired())
    turn();

  CHECK(reports_of(1) == 1);
  CHECK(reports_of(2) == 0);
  CHECK(reports_of(3) == 1); // refused: the run is over
  CHECK(test_launch::processes_with(token).empty());
}

TEST_CASE("a leader that does not answer trouble is not waited for: workers end, then the rest") {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options("crash_in_cell", {token});
  options.cut_off_after = std::chrono::milliseconds(100);
  options.leader_silence = std::chrono::milliseconds(400);
  launch::Layout layout = test_launch::make_layout(2);
  int reports = 0;
  int heartbeats = 0;
  std::vector<wire::Exchange> parts;
  launch::ActiveClock clock;
  launch::LocalTrials trials(layout, 0, options, clock, [&](int, launch::MessageBody body) {
    if (auto* part = std::get_if<launch::ExchangePart>(&body))
      parts.push_back(part->exchange);
    reports += std::holds_alternative<launch::TrialReport>(body) ? 1 : 0;
    heartbeats += std::holds_alternative<launch::Heartbeat>(body) ? 1 : 0;
  });
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(20));
  auto turn = [&] {
    for (const wire::Exchange& part : std::exchange(parts, {}))
      trials.deliver(1, part);
    std::vector<pollfd> watched;
    trials.watch(watched);
    ::poll(watched.data(), watched.size(), 1);
    trials.serve(watched);
  };

  trials.order(1, model::write_json(make_spec(2, 3, 1)));
  while (!trials.idle() && !patience.expired())
    turn();

  CHECK(reports == 1);
  CHECK(heartbeats >= 1);
  CHECK(test_launch::processes_with(token).empty());
  CHECK_FALSE(trials.forgotten());
  SECTION("the leader stays away") {
    while (!trials.forgotten() && !patience.expired())
      turn();
    CHECK(trials.forgotten());
  }
  SECTION("the leader was only late") {
    trials.stop(1, {launch::Haste::normal, launch::Ask::no});
    base::Deadline later = base::Deadline::after(std::chrono::milliseconds(500));
    while (!later.expired())
      turn();
    CHECK_FALSE(trials.forgotten());
  }
}

namespace {

// Trials of a follower whose leader answers nothing but what the test does.
struct FrozenLeader {
  std::string token = test_launch::make_token();
  launch::SupervisorOptions options = test_launch::make_options("good", {token});
  launch::Layout layout = test_launch::make_layout(2);
  launch::ActiveClock clock;
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(20));
  std::optional<launch::LocalTrials> trials;

  explicit FrozenLeader(std::chrono::milliseconds leader_patience) {
    options.leader_patience = leader_patience;
    trials.emplace(layout, 0, options, clock, [](int, launch::MessageBody) {});
  }
  void turn() {
    std::vector<pollfd> watched;
    trials->watch(watched);
    ::poll(watched.data(), watched.size(), 1);
    trials->serve(watched);
  }
};

} // namespace

TEST_CASE("a leader that orders nothing is overdue, and not after it spoke") {
  FrozenLeader lab(std::chrono::milliseconds(50));

  lab.turn();
  CHECK_FALSE(lab.trials->leader_overdue());
  while (!lab.trials->leader_overdue() && !lab.patience.expired())
    lab.turn();
  REQUIRE(lab.trials->leader_overdue());

  lab.trials->on_leader_heard();
  lab.turn();
  CHECK_FALSE(lab.trials->leader_overdue());
}

TEST_CASE("a leader that does not pass on an exchange is overdue when the others' time is up") {
  FrozenLeader lab(std::chrono::milliseconds(50));
  model::TrialSpec spec = make_spec(2, 1);
  SECTION("their time is not up") {
    spec.startup_deadline_ns = 600'000'000'000;
    lab.trials->order(1, model::write_json(spec));
    while (!lab.trials->waits_for_exchange() && !lab.patience.expired())
      lab.turn();
    for (int i = 0; i < 100; ++i)
      lab.turn();
    CHECK_FALSE(lab.trials->leader_overdue());
  }
  SECTION("their time is up") {
    spec.startup_deadline_ns = 3'000'000'000;
    lab.trials->order(1, model::write_json(spec));
    while (!lab.trials->leader_overdue() && !lab.patience.expired())
      lab.turn();
    REQUIRE(lab.trials->leader_overdue());
    // A heartbeat alone does not end that: the late ranks were reported, and an order answers that.
    lab.trials->stop(1, {.haste = launch::Haste::fast});
    CHECK_FALSE(lab.trials->leader_overdue());
  }
  lab.trials->stop_all(launch::Haste::fast);
  while (!lab.trials->idle() && !lab.patience.expired())
    lab.turn();
  CHECK(test_launch::processes_with(lab.token).empty());
}
