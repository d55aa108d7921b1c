// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/baseline.h"
#include "analysis/compare/compared_runs.h"
#include "analysis/compare/comparison_tests.h"
#include "analysis/compare/comparison_words.h"
#include "support/error_of.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

TEST_CASE("gates are read, and select cells") {
  const Gate gate = gate_of("busbw(all_reduce,>=1M) -3%");
  CellKey key;
  key.label.what = model::CollectiveLabel{};
  key.label.bytes = k_1m;
  key.ranks = 2;

  CHECK(gate.least_speed_ratio == Approx(0.97));
  CHECK(gate.selects(key));
  key.label.bytes = k_1m - 1;
  CHECK_FALSE(gate.selects(key));
  CHECK(gate_of("busbw(*) -3%").selects(key));
  CHECK_FALSE(gate_of("latency(all_reduce) +3%").selects(key));
  CHECK(gate_of("time(ddp_step) +3%").workload == "ddp_step");
  CHECK(gate_of("algbw(p2p_ce) -3%").workload == "p2p_ce");
  CHECK(gate_of("time(all_reduce, 64K-1M) +25%").least_speed_ratio == Approx(0.8));
}

TEST_CASE("what is no gate is refused") {
  const std::string text =
      GENERATE(as<std::string>(), "busbw", "busbw(all_reduce) 3%", "busbw(all_reduce) +3%",
               "time(all_reduce) -3%", "busbw() -3%", "busbw(all_reduce,big) -3%",
               "speed(all_reduce) -3%", "busbw(all_reduce) -3", "busbw(all_reduce) -100%",
               "busbw(all_reduce,<0) -3%", "busbw(*,>18446744073709551615) -3%",
               "busbw(*,64K-1K) -3%", "busbw(*) -1e-20%", "time(*) +1e-20%", "time(*) +nan%");

  const auto gate = parse_gate(text);
  REQUIRE_FALSE(gate);
  CHECK(gate.error().code == Errc::invalid_argument);
}

TEST_CASE("a gate with a mistake says what is meant") {
  for (const auto& [text, words] :
       {std::pair("busbw(allreduce) -3%",
                  "'allreduce' is not a workload; did you mean all_reduce?"),
        std::pair("time(ddp) +3%", "did you mean ddp_step?"),
        std::pair("busbw(all_reduce,1M:4M) -3%", "sizes are 1M, 1K-64K, ")})
    CHECK_THAT(parse_gate(text).error().message, ContainsSubstring(words));
}

TEST_CASE("a gate on cells without its metric says so") {
  const auto comparison = compare_with_baseline("b", some_runs(5), some_runs(1), {});
  const auto gate = judged("latency(all_reduce) +3%", comparison);

  CHECK(gate.verdict == GateVerdict::not_comparable);
  CHECK(gate.reason == GateReason::lacks_metric);
  CHECK_THAT(why_in_words(gate, comparison), ContainsSubstring("have no latency"));
}

TEST_CASE("a gate passes, fails, or is not decided") {
  const std::string gate = "busbw(all_reduce,>=1M) -3%";

  CHECK(judged(gate, compare_with_baseline("b", some_runs(5), some_runs(1), {})).verdict ==
        GateVerdict::passed);
  CHECK(judged(gate, compare_with_baseline("b", some_runs(5), some_runs(1, 10), {})).verdict ==
        GateVerdict::regression);
  const auto two_runs = judged(gate, compare_runs(some_runs(1)[0], some_runs(1, 10)[0], {}));
  CHECK(two_runs.verdict == GateVerdict::undecided);
  CHECK(two_runs.reason == GateReason::between_runs_unknown);
  const auto weak =
      judged("busbw(all_reduce) -0.1%", compare_with_baseline("b", some_runs(3), some_runs(1), {}));
  CHECK(weak.verdict == GateVerdict::undecided);
  CHECK(weak.reason == GateReason::too_little_power);
  CHECK(weak.mean->repeats.has_value());
  CHECK(judged("busbw(broadcast) -3%", compare_runs(some_runs(1)[0], some_runs(1)[0], {})).reason ==
        GateReason::nothing_selected);
}

TEST_CASE("a gate does not pass while the whole interval of a cell is beyond its limit") {
  auto against = [](double percent) {
    return compare_with_baseline("b", runs_with_a_noisy_cell(), {run_with_a_slower_cell(percent)},
                                 {});
  };
  const auto comparison = against(24);
  const CellComparison& slow = comparison.cells.back();
  REQUIRE(slow.verdict == CellVerdict::not_decided); // Holm, over 13 cells
  REQUIRE(slow.interval->high < 0.95);

  const auto gate = judged("busbw(*) -5%", comparison);

  CHECK(gate.mean->interval->low > 0.95);
  CHECK(gate.verdict == GateVerdict::undecided);
  CHECK(gate.reason == GateReason::cells_beyond_limit);
  REQUIRE(gate.repeats);
  CHECK(*gate.repeats > 1);
  CHECK_THAT(why_in_words(gate, comparison),
             ContainsSubstring("of 1 of 13 cells is beyond it: all_reduce, f32 sum, 4G, 2 ranks: "
                               "-19.") &&
                 ContainsSubstring("; it takes ") && ContainsSubstring(" new runs (now 1)"));
  CHECK_THAT(written(report_of(comparison, {"busbw(*) -5%", "time(*) +400%"}), Format::csv),
             ContainsSubstring(",beyond_gates") && ContainsSubstring(",141,busbw(*) -5%"));
  // The interval only straddles the limit.
  const auto straddling = against(8);
  CHECK(straddling.cells.back().speed_ratio < 0.95);
  CHECK(judged("busbw(*) -5%", straddling).verdict == GateVerdict::passed);
  // Beyond the noise.
  CHECK(judged("busbw(*) -5%", against(100)).verdict == GateVerdict::regression);
}

TEST_CASE("a gate refuses another NCCL, unless it may vary") {
  auto newer = run_of(6);
  newer.header.hosts[0].libraries[0].version = "2.28.9";
  const auto comparison = compare_with_baseline("b", some_runs(5), {compared(newer)}, {});

  const auto refused = judged("busbw(all_reduce) -3%", comparison);
  CHECK(refused.verdict == GateVerdict::not_comparable);
  CHECK(refused.reason == GateReason::other_machine);
  CHECK(judged("busbw(all_reduce) -3%", comparison, {FactKind::nccl}).verdict ==
        GateVerdict::passed);
}

TEST_CASE("a baseline keeps runs as they were, and takes each once") {
  const support::ScratchFolder folder;
  const auto runs = some_runs(2);

  for (const ComparedRun& run : runs)
    REQUIRE(add_to_baseline(folder.path(), "nightly", run));
  const auto again = add_to_baseline(folder.path(), "nightly", runs[0]);
  const auto read = base::value_or_throw(read_baseline(folder.path(), "nightly"));

  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::invalid_argument);
  REQUIRE(read.size() == 2);
  CHECK(read[0].run_id == runs[0].run_id);
  ComparedRun imported = runs[0];
  imported.started_utc.clear();
  CHECK(base::value_or_throw(add_to_baseline(folder.path(), "old", imported)).filename() ==
        "run-0-0.json");
  CHECK(read[0].facts == runs[0].facts);
  CHECK(read[0].floors == runs[0].floors);
  CHECK(read[0].cells[0].key == runs[0].cells[0].key);
  CHECK(read[0].cells[0].times_ns == runs[0].cells[0].times_ns);
}

TEST_CASE("a baseline is not read from elsewhere") {
  const support::ScratchFolder folder;
  std::filesystem::create_directories(folder.path() / "nightly");
  std::ofstream(folder.path() / "nightly" / "other.json") << "{}";

  for (const auto& [name, code] :
       {std::pair("nightly", Errc::protocol), std::pair("../nightly", Errc::invalid_argument),
        std::pair("weekly", Errc::not_found)}) {
    const auto read = read_baseline(folder.path(), name);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == code);
  }
}

TEST_CASE("only runs of the same machine and NCCL match") {
  auto other = run_of(6);
  other.header.run_id = "other";
  other.header.hosts[0].libraries[0].version = "2.28.9";
  const ComparedRun run = compared(other);

  const auto refused = matching(some_runs(3), run, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::mismatch);
  CHECK(refused.error().hint == "--vary allows a difference");
  CHECK(base::value_or_throw(matching(some_runs(3), run, {FactKind::nccl})).size() == 3);
  // --vary takes no ranks.
  CHECK_THAT(matching(some_runs(3), compared(run_of(6, 0, 10, 4)), {}).error().hint,
             !ContainsSubstring("--vary"));
  // A run is no baseline of itself.
  CHECK(base::value_or_throw(matching(some_runs(3), some_runs(1)[0], {})).size() == 2);
}

TEST_CASE("JUnit has a case per gate and cell, and escapes what it quotes") {
  using State = JUnitCase::State;
  std::vector<JudgedComparison> all(1);
  all[0].comparison = compare_with_baseline("b", some_runs(5), some_runs(1, 10), {});
  all[0].gates = judge_gates({gate_of("busbw(all_reduce,>=1M) -3%")}, all[0].comparison, {});

  const auto suites = comparison_tests(all);
  const std::string text = write_junit(suites);

  REQUIRE(suites.size() == 1);
  REQUIRE(suites[0].cases.size() == 2);
  CHECK(suites[0].cases[0].state == State::failed);
  CHECK(suites[0].cases[0].kind == "regression");
  CHECK_THAT(suites[0].cases[0].message, ContainsSubstring("all_reduce, f32 sum, 1M, 2 ranks: -9"));
  CHECK_THAT(text, ContainsSubstring("busbw(all_reduce,&gt;=1M) -3%"));
  // A cell may be slower than a gate of others allows, so only gates fail.
  CHECK(suites[0].cases[1].state == State::passed);
  CHECK_THAT(text, ContainsSubstring("failures=\"1\""));
  all[0].gates.clear();
  CHECK(comparison_tests(all)[0].cases[1].state == State::failed);
}

TEST_CASE("JUnit of a comparison without gates fails for wrong data") {
  auto wrong = run_of(6);
  wrong.trials[0].cells[0].outcome = {model::OutcomeKind::wrong_data, "1 of 8 elements wrong", {}};
  std::vector<JudgedComparison> all(1);
  all[0].comparison = compare_runs(compared(run_of(6)), compared(wrong), {});

  const auto cases = comparison_tests(all)[0].cases;

  REQUIRE(cases.size() == 2);
  CHECK(cases[1].state == JUnitCase::State::failed);
  CHECK(cases[1].message == "wrong data");
}
