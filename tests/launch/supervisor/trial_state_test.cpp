// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "launch/supervisor/trial_state.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::launch;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t k_second = 1'000'000'000;
const StopOrder k_stop{Haste::normal, Ask::no};
const StopOrder k_ask_and_stop{Haste::normal, Ask::yes};
const StopOrder k_stop_fast{Haste::fast, Ask::yes};
const ExitStatus k_clean{};
const ExitStatus k_exit_3{ExitStatus::How::exited, 3};
const ExitStatus k_segfault{ExitStatus::How::signalled, 11};

std::string words(const TrialPhase& phase) {
  constexpr const char* k_names[] = {"prepared", "spoilt",   "running",    "failing",
                                     "asking",   "stopping", "discarding", "over"};
  std::string text = k_names[phase.index()];
  if (const auto* spoilt = std::get_if<phase::Spoilt>(&phase))
    text += ": " + spoilt->why;
  if (const auto* failing = std::get_if<phase::Failing>(&phase);
      failing && failing->ask == Ask::yes)
    text += " late";
  if (const auto* asking = std::get_if<phase::Asking>(&phase))
    text += fmt::format(" {}", fmt::join(asking->silent, " "));
  return text;
}

struct Words {
  std::string operator()(const action::Start& start) {
    return fmt::format("start {}", start.worker);
  }
  std::string operator()(const action::Send& send) {
    const auto* whole = std::get_if<wire::Exchange>(&send.body);
    return fmt::format("{} {}", whole ? "deliver " + whole->key + " to" : "ask", send.worker);
  }
  std::string operator()(const action::Tell& tell) { return std::visit(*this, tell.body); }
  std::string operator()(const action::Examine&) { return "examine"; }
  std::string operator()(const action::Stop& stop) {
    return stop.haste == Haste::fast ? "stop fast" : "stop";
  }
  std::string operator()(const action::Report& report) {
    return report.ended_early ? "report early end" : "report";
  }
  std::string operator()(const action::RemoveSpools&) { return "remove spools"; }

  std::string operator()(const Trouble& trouble) {
    constexpr const char* k_kinds[] = {"interrupted", "skipped",   "failed",
                                       "exited",      "signalled", "timed out"};
    return fmt::format("tell {} {} in {}{}{}", model::format_ranks(trouble.ranks),
                       k_kinds[static_cast<int>(trouble.kind)],
                       trouble.phase ? base::to_string(*trouble.phase) : "nowhere",
                       trouble.reason.empty() ? "" : ": ", trouble.reason);
  }
  std::string operator()(const ProgressNote& note) {
    return fmt::format("tell progress {}", base::to_string(note.phase));
  }
  std::string operator()(const ExchangePart& part) { return "tell part of " + part.exchange.key; }
  std::string operator()(const Finished&) { return "tell finished"; }
  std::string operator()(const Heartbeat&) { return "tell heartbeat"; }
  template <typename Other>
  std::string operator()(const Other&) {
    return "something that only a leader says";
  }
};

// One trial with a cell on two workers with one rank each. Its time begins at 0.
struct StateLab {
  model::TrialSpec spec = test_launch::make_spec(2, 1);
  SupervisorOptions options;
  TrialState state{spec, options, {{{0}}, {{1}}}, phase::Running{}, 0};

  explicit StateLab(TrialPhase phase = phase::Running{}) { state.phase = std::move(phase); }
  // The actions, in words.
  std::string take(TrialEvent event, std::int64_t now_ns = 0) {
    TrialStep next = step(std::move(state), std::move(event), now_ns);
    state = std::move(next.state);
    std::vector<std::string> all;
    for (const TrialAction& action : next.actions)
      all.push_back(std::visit(Words{}, action));
    return fmt::format("{}", fmt::join(all, ", "));
  }
  std::string both_say(const std::function<wire::Body(int)>& body, std::int64_t now_ns = 0) {
    std::string first = take(event::Said{0, {0, body(0)}}, now_ns);
    std::string second = take(event::Said{1, {1, body(1)}}, now_ns);
    return first + (first.empty() || second.empty() ? "" : ", ") + second;
  }
  std::string both_wait_at(const std::string& key, std::int64_t now_ns = 0) {
    return both_say([&](int rank) { return wire::Exchange{key, {0, 1}, {{rank, "x"}}}; }, now_ns);
  }
  std::string both_finish() {
    both_say([](int) { return wire::CellEnd{0, {}}; });
    return both_say([](int) { return wire::Done{}; });
  }
};

event::Said says(std::size_t worker, wire::Body body) {
  return {worker, {-1, std::move(body)}};
}
wire::Failure failure(model::OutcomeKind kind) {
  return {{kind, "no interface", {}}, -1};
}

struct Row {
  TrialPhase before;
  TrialEvent event;
  std::string after;
  std::string actions = "";
  std::int64_t now_ns = 0;
};

} // namespace

TEST_CASE("what happens to a trial in each phase, and what is done") {
  const phase::Prepared prepared{5 * k_second};
  const phase::Spoilt spoilt{"why"};
  const phase::Running running;
  const phase::Failing failing{Ask::no, 5 * k_second};
  const phase::Asking asking{5 * k_second, {0, 1}};
  const phase::Asking asking_one{5 * k_second, {1}};
  const phase::Stopping stopping;
  const phase::Discarding discarding;
  const phase::Over over;
  const std::string wrong = "tell 0 failed in spawned: does not follow the worker protocol: ";
  const std::string timed_out = "tell 0,1 timed out in spawned";
  const Row rows[] = {
      {prepared, event::Tick{}, "prepared"},
      {prepared, event::Tick{}, "spoilt: not prepared within 20000 ms", "", 5 * k_second},
      {prepared, says(0, wire::Hello{}), "prepared", "start 0"},
      {prepared, event::Exited{0, k_exit_3, "oh"},
       "spoilt: rank 0: ended with exit 3, its last output: oh"},
      {prepared, event::Failed{1, Trouble::Kind::skipped, "no CPU"}, "spoilt: rank 1: no CPU"},
      {prepared, event::Promoted{}, "running"},
      {prepared, event::Discarded{Haste::fast}, "discarding", "stop fast"},
      {prepared, event::StopAsked{k_stop}, "prepared"},
      {prepared, event::AllGone{}, "over", "remove spools"},

      {spoilt, event::Tick{}, "spoilt: why", "", 5 * k_second},
      {spoilt, event::Exited{1, k_exit_3, ""}, "spoilt: why"},
      {spoilt, event::Discarded{Haste::normal}, "discarding", "stop"},
      {spoilt, event::AllGone{}, "over", "remove spools"},

      {running, event::Tick{}, "running", "tell progress spawned"},
      {running, event::Tick{}, "failing late",
       timed_out + ", tell progress spawned, tell heartbeat", 20 * k_second},
      {running, says(0, wire::Hello{}), "running", "start 0"},
      {running, says(0, failure(model::OutcomeKind::failed)), "failing",
       "tell 0 failed in spawned: no interface"},
      {running, says(1, failure(model::OutcomeKind::skipped)), "failing",
       "tell 1 skipped in spawned: no interface"},
      {running, says(0, wire::Position{}), "failing",
       wrong + "sent a message that only a supervisor sends"},
      {running, event::Said{0, {1, wire::Done{}}}, "failing",
       wrong + "sent a message for rank 1, which it does not drive"},
      {running, event::Broke{0, "bad magic"}, "failing", wrong + "bad magic"},
      {running, event::Exited{0, k_segfault, ""}, "failing",
       "tell 0 signalled in spawned: ended with signal 11 (Segmentation fault)"},
      {running, event::Exited{1, k_clean, ""}, "failing",
       "tell 1 exited in spawned: ended with exit 0"},
      {running, event::StopAsked{k_stop}, "stopping", "stop"},
      {running, event::StopAsked{k_ask_and_stop}, "asking 0 1", "ask 0, ask 1"},
      {running, event::StopAsked{k_stop_fast}, "stopping", "stop fast"},
      {running, event::AllGone{}, "over", "report"},

      {failing, event::Tick{}, "failing", "tell heartbeat"},
      {failing, event::Tick{}, "failing", "tell heartbeat", 20 * k_second}, // late is no news
      {failing, event::Exited{1, k_segfault, ""}, "failing",
       "tell 1 signalled in spawned: ended with signal 11 (Segmentation fault)"},
      {failing, event::StopAsked{k_stop}, "stopping", "stop"},
      {failing, event::StopAsked{k_ask_and_stop}, "asking 0 1", "ask 0, ask 1"},
      {failing, event::AllGone{}, "over", "report early end"},

      {asking, says(0, wire::Position{}), "asking 1"},
      {asking, says(0, wire::Done{}), "asking 0 1"},
      {asking, event::Exited{0, k_segfault, ""}, "asking 1"},
      {asking, event::Broke{0, "bad magic"}, "asking 1"},
      {asking, event::StopAsked{k_stop}, "asking 0 1"},
      {asking, event::StopAsked{k_stop_fast}, "stopping", "stop fast"},
      {asking, event::Tick{}, "asking 0 1", "tell heartbeat"},
      {asking, event::Tick{}, "stopping", "examine, stop, tell heartbeat", 5 * k_second},
      {asking_one, says(1, wire::Position{}), "stopping", "examine, stop"},
      {asking_one, event::Exited{1, k_clean, ""}, "stopping", "examine, stop"},

      {stopping, event::Tick{}, "stopping", "tell heartbeat", 20 * k_second},
      {stopping, event::StopAsked{k_ask_and_stop}, "stopping", "stop"},
      {stopping, event::StopAsked{k_stop_fast}, "stopping", "stop fast"},
      {stopping, event::AllGone{}, "over", "report early end"}, // also if one outlived SIGKILL

      {discarding, event::Tick{}, "discarding", "", 20 * k_second},
      {discarding, event::Discarded{Haste::fast}, "discarding", "stop fast"},
      {discarding, event::StopAsked{k_stop}, "discarding"},
      {discarding, event::AllGone{}, "over", "remove spools"},

      {over, event::Tick{}, "over", "", 20 * k_second},
      {over, event::Discarded{Haste::fast}, "over"},
      {over, event::StopAsked{k_stop_fast}, "over"},
  };
  for (const Row& row : rows) {
    StateLab lab(row.before);
    INFO("row " << &row - rows << ": " << words(row.before) << ", event " << row.event.index());

    CHECK(lab.take(row.event, row.now_ns) == row.actions);
    CHECK(words(lab.state.phase) == row.after);
  }
}

TEST_CASE("a good trial passes its gates and is reported, however late its workers exit") {
  StateLab lab;

  CHECK(lab.both_wait_at(wire::k_turn_key) == "tell part of turn");
  CHECK(lab.take(event::Delivered{{wire::k_turn_key, {0, 1}, {}}}) ==
        "deliver turn to 0, deliver turn to 1");
  CHECK(lab.both_wait_at(wire::k_measure_key) == "");
  CHECK(lab.state.at_measure_gate());
  CHECK(lab.take(event::Tick{}, 60 * k_second) == "tell progress spawned"); // waits without limit
  CHECK(lab.take(event::MeasureGateOpened{}) == "tell part of measure");
  CHECK(lab.take(event::Delivered{{wire::k_measure_key, {0, 1}, {}}}, 60 * k_second) ==
        "deliver measure to 0, deliver measure to 1");
  CHECK(lab.both_finish() == "tell finished");
  CHECK(lab.take(event::Exited{0, k_clean, ""}) == "");
  CHECK(lab.take(event::Exited{1, k_clean, ""}) == "");
  CHECK(lab.take(event::AllGone{}) == "report");
}

TEST_CASE("a worker that does not exit after its results, or exits badly, fails the trial") {
  StateLab lab;
  lab.both_finish();
  lab.take(event::Exited{0, k_clean, ""});
  SECTION("not in time") {
    CHECK(lab.take(event::Tick{}, 20 * k_second) ==
          "tell 1 timed out in teardown, tell progress teardown, tell heartbeat");
  }
  SECTION("with an error") {
    CHECK(lab.take(event::Exited{1, k_exit_3, ""}) ==
          "tell 1 exited in teardown: ended with exit 3");
  }
}

TEST_CASE("of a prepared trial the leader hears nothing before its turn, and all from then on") {
  StateLab lab(phase::Prepared{5 * k_second});

  CHECK(lab.both_wait_at(wire::k_turn_key) == "");
  CHECK(lab.state.at_turn());
  CHECK(lab.take(event::Tick{}, 30 * k_second) ==
        ""); // it is prepared; how long it waits is not its doing
  CHECK(lab.take(event::Promoted{}, 30 * k_second) == "tell part of turn");
  CHECK(lab.take(event::Tick{}, 49 * k_second) == "tell progress spawned");
  SECTION("it is reported as prepared, with its start-up counted from its turn") {
    lab.both_say([](int) { return wire::Phase{WorkerPhase::cell, 0}; }, 33 * k_second);
    CHECK(lab.state.report.startup_ns == 3 * k_second);
    CHECK(lab.state.report.prepared);
  }
  SECTION("the trial before fails in its teardown, so this one is stopped and starts anew") {
    CHECK(lab.take(event::StopAsked{k_stop}) == "stop");
    CHECK(lab.take(event::Delivered{{wire::k_turn_key, {0, 1}, {}}}) == ""); // too late
    CHECK(lab.take(event::AllGone{}) == "report early end");
  }
}

TEST_CASE("trouble is told once for each worker, and the leader has to answer it") {
  StateLab lab;
  lab.take(says(0, failure(model::OutcomeKind::failed)));

  CHECK(lab.take(event::Exited{0, k_exit_3, ""}) == ""); // it said why
  CHECK(lab.take(event::Exited{1, k_exit_3, ""}, k_second) ==
        "tell 1 exited in spawned: ended with exit 3");
  CHECK(std::get<phase::Failing>(lab.state.phase).answer_due_ns == 5 * k_second);
  CHECK(lab.state.leader_lost_ns == 31 * k_second);
  lab.take(event::LeaderHeard{}, 2 * k_second);
  CHECK(lab.state.leader_lost_ns == 32 * k_second);
  lab.take(event::LeaderAnswered{});
  CHECK(!lab.state.leader_lost_ns);
}

TEST_CASE("what hanging workers and the kernel say of them is reported") {
  StateLab lab;
  lab.take(event::Said{1, {1, wire::Exchange{"world", {0, 1}, {{1, "x"}}}}});
  lab.take(event::StopAsked{k_ask_and_stop});
  lab.take(says(0, wire::Position{"launch 1 of 2", "main"}));
  lab.take(event::Examined{0, "S", "kernel"});
  lab.take(event::Examined{1, "D", "kernel"});

  const std::vector<WorkerReport>& workers = lab.state.report.workers;
  CHECK(workers[0].record.position == "launch 1 of 2");
  CHECK(workers[0].record.stack == "main"); // its own words go before the kernel's
  CHECK(workers[1].record.stack == "kernel");
  CHECK(workers[1].state == "D");
  CHECK(workers[1].waits_in == "world");
}
