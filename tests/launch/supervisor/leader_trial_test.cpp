// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "launch/supervisor/leader_trial.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <thread>

using namespace ncclprobe;
using namespace ncclprobe::launch;
using model::OutcomeKind;

namespace {

// A leader of two supervisors with two ranks each; what it tells them is kept.
struct Lab {
  model::TrialSpec spec;
  Layout layout = test_launch::make_layout(4, 2);
  SupervisorOptions options;
  ActiveClock clock;
  std::vector<std::pair<int, MessageBody>> told;
  std::optional<LeaderTrial> leader;

  explicit Lab(std::filesystem::path rows_folder = {}, std::vector<int> launch_ranks = {})
      : spec(test_launch::make_spec(4, 2)) {
    spec.launch_ranks = std::move(launch_ranks);
    options.rows_folder = std::move(rows_folder);
    leader.emplace(spec, layout, 2, options, clock,
                   [this](const RankSet& to, const MessageBody& body) { tell(to, body); });
    leader->start();
  }
  void tell(const RankSet& to, const MessageBody& body) {
    to.each([&](int supervisor) { told.emplace_back(supervisor, body); });
  }

  template <typename Kind>
  std::vector<int> told_to() const {
    std::vector<int> supervisors;
    for (const auto& [to, body] : told)
      if (std::holds_alternative<Kind>(body))
        supervisors.push_back(to);
    return supervisors;
  }
  model::Outcome outcome_after_reports() {
    leader->on_report(0, {});
    leader->on_report(1, {});
    REQUIRE(leader->over());
    return leader->take_record().outcome;
  }
};

Trouble trouble(Trouble::Kind kind, int rank, const std::string& reason) {
  return {kind, reason, {rank}, WorkerPhase::cell, 0, 0};
}

const std::vector<int> k_both{0, 1};

constexpr int k_many_batches =
    150'000; // two ranks have more samples of two cells than stay in memory

// Of the ranks 2 * supervisor and the next one. Rank 3 did not end the second cell.
TrialReport long_report(int supervisor) {
  TrialReport report;
  WorkerReport& worker = report.workers.emplace_back();
  for (int rank : {2 * supervisor, 2 * supervisor + 1}) {
    RankReport& one = worker.ranks.emplace_back();
    one.rank = rank;
    for (int cell = 0; cell < (rank == 3 ? 1 : 2); ++cell)
      for (int batch = 0; batch < k_many_batches; ++batch)
        one.results[cell].samples.push_back({rank, batch, 1, 1000 + rank});
    one.results[0].marks.push_back({rank, 0, 0, 0, 5});
  }
  return report;
}

} // namespace

TEST_CASE("the order goes to all supervisors, and the record is made when all have reported") {
  Lab lab;

  CHECK(lab.told_to<TrialOrder>() == k_both);
  lab.leader->on_report(1, {});
  CHECK(!lab.leader->over());
  lab.leader->on_report(0, {});
  CHECK(lab.leader->over());
}

TEST_CASE(
    "an exchange goes back when the last part is in, to the supervisors of its members only") {
  Lab lab;

  lab.leader->on_exchange({"world", {0, 1, 2, 3}, {{2, "c"}, {3, "d"}}});
  CHECK(lab.told_to<ExchangeWhole>().empty());
  lab.leader->on_exchange({"world", {0, 1, 2, 3}, {{0, "a"}, {1, "b"}}});
  CHECK(lab.told_to<ExchangeWhole>() == k_both);
  lab.leader->on_exchange({"first half", {0, 1}, {{0, "a"}, {1, "b"}}});

  CHECK(lab.told_to<ExchangeWhole>() == std::vector<int>{0, 1, 0});
  CHECK(std::get<ExchangeWhole>(lab.told[3].second).exchange.contributions ==
        std::map<int, std::string>{{0, "a"}, {1, "b"}, {2, "c"}, {3, "d"}});
}

TEST_CASE("ranks that disagree on the members of an exchange end the trial") {
  Lab lab;

  lab.leader->on_exchange({"world", {0, 1, 2, 3}, {{0, "a"}, {1, "b"}}});
  lab.leader->on_exchange({"world", {2, 3}, {{2, "c"}, {3, "d"}}});

  CHECK(lab.outcome_after_reports().kind == OutcomeKind::failed);
}

TEST_CASE("a crash stops all at once") {
  Lab lab;

  lab.leader->on_trouble(trouble(Trouble::Kind::signalled, 3, "signal 11"));

  CHECK(lab.told_to<StopOrder>() == k_both);
}

TEST_CASE("an error waits a moment for the crash that may have caused it") {
  Lab lab;

  lab.leader->on_trouble(trouble(Trouble::Kind::failed, 0, "connection closed"));
  lab.leader->look_at_clock();
  CHECK(lab.told_to<StopOrder>().empty());
  CHECK(lab.leader->settling());
  lab.leader->on_trouble(trouble(Trouble::Kind::signalled, 3, "signal 9"));

  CHECK(lab.told_to<StopOrder>() == k_both);
  CHECK(lab.outcome_after_reports().ranks == std::vector<int>{3});
}

TEST_CASE("a rank's own error explains what others say of its end, in whatever order they come") {
  Trouble consequence = trouble(Trouble::Kind::failed, 0, "connection closed");
  consequence.peer_ended = true;
  const Trouble cause = trouble(Trouble::Kind::failed, 3, "there is not enough memory");
  const bool cause_first = GENERATE(true, false);
  Lab lab;

  lab.leader->on_trouble(cause_first ? cause : consequence);
  lab.leader->on_trouble(cause_first ? consequence : cause);

  const model::Outcome outcome = lab.outcome_after_reports();
  CHECK(outcome.ranks == std::vector<int>{3});
  CHECK(outcome.reason.ends_with("there is not enough memory"));
}

TEST_CASE("an error that stays alone stops all after that moment") {
  Lab lab;
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));

  lab.leader->on_trouble(trouble(Trouble::Kind::failed, 0, "no interface"));
  while (lab.leader->settling() && !patience.expired())
    lab.leader->look_at_clock();

  CHECK(lab.told_to<StopOrder>() == k_both);
  CHECK(lab.outcome_after_reports().kind == OutcomeKind::failed);
}

TEST_CASE("what ranks say after a crash does not hide it") {
  Lab lab;

  lab.leader->on_trouble(trouble(Trouble::Kind::signalled, 3, "signal 9"));
  lab.leader->on_trouble(trouble(Trouble::Kind::failed, 0, "connection closed"));
  lab.leader->on_trouble(trouble(Trouble::Kind::exited, 1, "exit 1"));

  model::Outcome outcome = lab.outcome_after_reports();
  CHECK(outcome.kind == OutcomeKind::crashed);
  CHECK(outcome.ranks == std::vector<int>{3});
}

TEST_CASE("ranks with the same error are named together") {
  Lab lab;

  for (int rank : {2, 0, 3})
    lab.leader->on_trouble(trouble(Trouble::Kind::failed, rank, "no interface"));

  CHECK(lab.outcome_after_reports().ranks == std::vector<int>{0, 2, 3});
}

TEST_CASE("an interruption stops all in haste") {
  Lab lab;

  lab.leader->on_trouble({Trouble::Kind::interrupted, "interrupted", {}, {}, -1, 0});

  CHECK(std::get<StopOrder>(lab.told.back().second).haste == Haste::fast);
  CHECK(lab.outcome_after_reports().kind == OutcomeKind::not_run);
}

TEST_CASE("an error that an interruption caused does not hide it, a crash before it does") {
  const Trouble interruption{Trouble::Kind::interrupted, "interrupted", {}, {}, -1, 0};
  Lab lab;
  SECTION("what its end causes elsewhere") {
    lab.leader->on_trouble(
        trouble(GENERATE(Trouble::Kind::skipped, Trouble::Kind::failed, Trouble::Kind::exited), 0,
                "connection closed"));
    lab.leader->on_trouble(interruption);

    CHECK(std::get<StopOrder>(lab.told.back().second).haste == Haste::fast);
    CHECK(lab.outcome_after_reports().kind == OutcomeKind::not_run);
  }
  SECTION("what it cannot have caused") {
    lab.leader->on_trouble(trouble(Trouble::Kind::signalled, 3, "signal 11"));
    lab.leader->on_trouble(interruption);

    CHECK(lab.outcome_after_reports().kind == OutcomeKind::crashed);
  }
}

TEST_CASE("progress is that of the slowest supervisor, and told once") {
  std::vector<std::pair<int, WorkerPhase>> seen;
  Lab lab;
  lab.options.on_progress = [&](const TrialProgress& progress) {
    seen.emplace_back(progress.cells_done, progress.phase);
  };

  lab.leader->on_progress(0, {1, WorkerPhase::cell});
  CHECK(seen.empty()); // the trial before is still the one shown
  lab.leader->show_progress_from_now_on();
  lab.leader->on_progress(1, {0, WorkerPhase::ready});
  lab.leader->on_progress(0, {2, WorkerPhase::cell});
  lab.leader->on_progress(1, {2, WorkerPhase::teardown});

  CHECK(seen == std::vector<std::pair<int, WorkerPhase>>{
                    {1, WorkerPhase::cell}, {0, WorkerPhase::ready}, {2, WorkerPhase::cell}});
}

TEST_CASE("supervisors that never reported are named by their ranks and hosts") {
  Lab lab;
  CHECK(lab.leader->silent() == "the supervisors of ranks 0-3 on node1");

  lab.leader->on_report(0, {});

  CHECK(lab.leader->silent() == "the supervisors of ranks 2,3 on node1");
}

TEST_CASE(
    "a host that says nothing after a failure is cut off, one that is at work is waited for") {
  Lab lab;
  lab.options.cut_off_after = std::chrono::milliseconds(800);
  lab.leader->on_trouble(trouble(Trouble::Kind::timed_out, 0, ""));
  lab.leader->on_report(0, {});
  base::Deadline at_work = base::Deadline::after(std::chrono::milliseconds(1'000));
  while (!at_work.expired()) {
    lab.leader->on_heartbeat(1);
    lab.leader->look_at_clock();
  }
  CHECK_FALSE(lab.leader->over());

  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  while (!lab.leader->over() && !patience.expired())
    lab.leader->look_at_clock();

  CHECK_FALSE(patience.expired());
  CHECK(lab.leader->fleet_broken());
  CHECK_THAT(lab.leader->take_record().outcome.reason,
             ContainsSubstring("no report from the supervisors of ranks 2,3 on node1"));
}

TEST_CASE("who keeps others waiting beyond its own deadline is asked, and cut off if silent") {
  Lab lab;
  lab.options.cut_off_after = std::chrono::milliseconds(800);
  lab.spec.startup_deadline_ns = 300'000'000;
  LeaderTrial leader(lab.spec, lab.layout, 2, lab.options, lab.clock,
                     [&](const RankSet& to, const MessageBody& body) { lab.tell(to, body); });
  leader.start();
  leader.on_exchange({wire::k_measure_key, {0, 1, 2, 3}, {{0, "a"}, {1, "b"}}});
  leader.look_at_clock();
  CHECK(lab.told_to<HeartbeatRequest>().empty());

  base::Deadline alive = base::Deadline::after(std::chrono::milliseconds(1'200));
  while (!alive.expired()) {
    leader.look_at_clock();
    leader.on_heartbeat(1);
  }
  CHECK(lab.told_to<HeartbeatRequest>() == std::vector<int>{1});
  CHECK_FALSE(leader.troubled());
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  while (lab.told_to<StopOrder>().empty() && !patience.expired())
    leader.look_at_clock();
  leader.on_report(0, {});
  leader.look_at_clock();

  REQUIRE(leader.over()); // it was silent for long enough before
  model::Outcome outcome = leader.take_record().outcome;
  CHECK(outcome.ranks == std::vector<int>{2, 3});
  CHECK(outcome.reason.starts_with("ranks 2,3 in start-up: the others wait, and the "
                                   "supervisors of ranks 2,3 on node1 no longer answer"));
}

TEST_CASE(
    "a supervisor without ranks in the trial is named by those of the launch if it is silent") {
  Lab lab;
  lab.options.cut_off_after = std::chrono::milliseconds(200);
  lab.spec.ranks = 2;
  lab.spec.launch_ranks = {0, 1};
  lab.spec.teardown_deadline_ns = 0;
  LeaderTrial leader(lab.spec, lab.layout, 2, lab.options, lab.clock,
                     [&](const RankSet& to, const MessageBody& body) { lab.tell(to, body); });
  leader.start();
  leader.on_report(0, {});

  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  while (!leader.over() && !patience.expired())
    leader.look_at_clock();

  REQUIRE(leader.over());
  CHECK(lab.told_to<HeartbeatRequest>() == std::vector<int>{1});
  CHECK(leader.silent() == "the supervisors of ranks 2,3 on node1");
}

TEST_CASE("in a time in which the leader did not run itself nobody was late") {
  Lab lab;
  lab.spec.startup_deadline_ns = 0;
  LeaderTrial leader(lab.spec, lab.layout, 2, lab.options, lab.clock,
                     [&](const RankSet& to, const MessageBody& body) { lab.tell(to, body); });
  leader.on_exchange({"turn", {0, 1, 2, 3}, {{0, ""}, {1, ""}}});

  lab.clock.exclude(std::chrono::minutes(1));
  leader.look_at_clock();
  CHECK(lab.told_to<HeartbeatRequest>().empty());

  leader.on_exchange({"measure", {0, 1, 2, 3}, {{0, ""}, {1, ""}}});
  leader.look_at_clock();
  CHECK(lab.told_to<HeartbeatRequest>() == std::vector<int>{1});
}

TEST_CASE("samples that are too many for memory are set aside, as the launch numbers ranks") {
  const support::ScratchFolder folder;
  Lab lab(folder.path(), {3, 2, 1, 0});

  for (int supervisor : {1, 0, 1}) // the first report comes again on another way
    lab.leader->on_report(supervisor, long_report(supervisor));
  REQUIRE(lab.leader->over());
  const model::TrialRecord record = lab.leader->take_record();
  const auto rows = lab.leader->take_rows();

  for (const model::CellRecord& cell : record.cells)
    CHECK((cell.samples.empty() && cell.marks.empty()));
  REQUIRE(rows);
  std::vector<model::Sample> samples;
  bool ended = true; // the second cell did not, on one rank
  rows->drain<model::Sample>([&](int cell, std::span<const model::Sample> some) {
    ended = ended && cell == 0;
    samples.insert(samples.end(), some.begin(), some.end());
  });
  CHECK(ended);
  REQUIRE(samples.size() == 4 * k_many_batches);
  bool in_order = true;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto rank = static_cast<int>(i % 4);
    in_order =
        in_order && samples[i] == model::Sample{rank, static_cast<int>(i / 4), 1, 1003 - rank};
  }
  CHECK(in_order);
  std::vector<int> marked;
  rows->drain<model::Mark>([&](int, std::span<const model::Mark> some) {
    for (const model::Mark& mark : some)
      marked.push_back(mark.rank);
  });
  CHECK(marked == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("if samples cannot be set aside, the cells fail with the reason") {
  Lab lab("/proc/nowhere");

  for (int supervisor : k_both)
    lab.leader->on_report(supervisor, long_report(supervisor));
  const model::TrialRecord record = lab.leader->take_record();

  CHECK(lab.leader->take_rows() == nullptr);
  CHECK(record.outcome.kind == OutcomeKind::failed);
  CHECK(record.cells[0].outcome.kind == OutcomeKind::failed);
  CHECK_THAT(record.cells[0].outcome.reason,
             ContainsSubstring("cannot be set aside") && ContainsSubstring("/proc/nowhere"));
  CHECK(record.cells[0].samples.empty());
}

TEST_CASE("without a folder for them all samples are in the record") {
  Lab lab;

  for (int supervisor : k_both)
    lab.leader->on_report(supervisor, long_report(supervisor));
  const model::TrialRecord record = lab.leader->take_record();

  CHECK(lab.leader->take_rows() == nullptr);
  CHECK(record.cells[0].samples.size() == 4 * k_many_batches);
}
