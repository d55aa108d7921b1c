// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/baseline.h"
#include "analysis/compare/comparison_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/run_builder.h"
#include "support/scratch_folder.h"

#include <fstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

namespace {

constexpr std::uint64_t k_1m = 1 << 20;

// Processes of the default; `percent` slower than 10 us, scattering by `scatter_ns`.
support::RunBuilder run_of(int processes, double percent = 0, std::int64_t scatter_ns = 10,
                           int ranks = 2) {
  support::RunBuilder run(ranks);
  for (int process = 0; process < processes; ++process)
    run.trial().cell("all_reduce", k_1m,
                     static_cast<std::int64_t>(10'000 * (1 + percent / 100)) +
                         scatter_ns * (process % 3));
  return run;
}

ComparedRun compared(const support::RunBuilder& run, std::string name = "run.h5") {
  return compared_run(RunSummary(static_cast<const model::Run&>(run)), std::move(name));
}

// Runs that differ a little from each other.
std::vector<ComparedRun> some_runs(int count, double percent = 0) {
  std::vector<ComparedRun> runs;
  for (int i = 0; i < count; ++i) {
    auto run = run_of(6, percent + 0.1 * (i % 3));
    run.header.run_id = fmt::format("run-{}-{}", percent, i);
    run.header.started_utc = fmt::format("2026-03-0{}T12:00:00Z", i + 1);
    runs.push_back(compared(run, run.header.run_id));
  }
  return runs;
}

const CellComparison& only_cell(const RunComparison& comparison) {
  REQUIRE(comparison.cells.size() == 1);
  return comparison.cells.front();
}

Gate gate_of(const std::string& text) {
  return base::value_or_throw(parse_gate(text));
}

GateResult judged(const std::string& gate, const RunComparison& comparison,
                  const std::vector<FactKind>& vary = {}) {
  return judge_gates({gate_of(gate)}, comparison, vary).front();
}

// All of a comparison, as a wide terminal shows it.
std::string text_of(const RunComparison& comparison, const std::vector<std::string>& gates = {}) {
  auto judged = std::make_shared<std::vector<JudgedComparison>>();
  judged->push_back({comparison, {}});
  std::vector<Gate> parsed;
  for (const std::string& gate : gates)
    parsed.push_back(gate_of(gate));
  judged->front().gates = judge_gates(parsed, judged->front().comparison, {});
  return written(comparison_report(judged), Format::table, 400);
}

} // namespace

TEST_CASE("two runs that differ get a verdict for the cell, but are no regression") {
  const auto comparison = compare_runs(compared(run_of(6)), compared(run_of(6, 10)), {});

  CHECK(only_cell(comparison).verdict == CellVerdict::slower);
  CHECK(only_cell(comparison).speed_ratio == Approx(1 / 1.1).epsilon(0.001));
  CHECK(comparison.conclusion == Conclusion::differ);
  CHECK_FALSE(comparison.overall);
}

TEST_CASE("two equal runs show no difference") {
  const auto comparison = compare_runs(compared(run_of(6)), compared(run_of(6)), {});

  CHECK(only_cell(comparison).verdict == CellVerdict::no_difference);
  CHECK(comparison.conclusion == Conclusion::no_difference);
}

TEST_CASE("one process has no scatter, so there is no verdict") {
  const auto comparison = compare_runs(compared(run_of(1)), compared(run_of(6, 10)), {});

  CHECK(only_cell(comparison).verdict == CellVerdict::not_decided);
  CHECK(only_cell(comparison).reason == Reason::one_process);
  CHECK(comparison.repeats() == 5);
  CHECK(comparison.conclusion == Conclusion::undecided);
}

TEST_CASE("noisy runs are not decided, and the answer says how many processes would do") {
  const auto comparison =
      compare_runs(compared(run_of(6, 0, 1000)), compared(run_of(6, 0, 1000)), {});

  CHECK(only_cell(comparison).reason == Reason::too_noisy);
  REQUIRE(comparison.repeats());
  CHECK(*comparison.repeats() > 6);
}

TEST_CASE("runs without a default are decided, as runs of P2P transfers are") {
  auto without_default = [](double percent) {
    support::RunBuilder run(2);
    for (int process = 0; process < 6; ++process)
      run.trial({{"NCCL_ALGO", "Ring"}})
          .cell("all_reduce", k_1m,
                static_cast<std::int64_t>(10'000 * (1 + percent / 100)) + 10 * (process % 3));
    return compared(run);
  };

  const auto equal = compare_runs(without_default(0), without_default(0), {});
  CHECK(only_cell(equal).verdict == CellVerdict::no_difference);
  CHECK(only_cell(equal).floor > 1);
  CHECK(only_cell(compare_runs(without_default(0), without_default(10), {})).verdict ==
        CellVerdict::slower);
}

TEST_CASE("without an A/A comparison the answer names what decides instead") {
  auto run = run_of(6);
  for (model::TrialRecord& trial : run.trials)
    trial.spec.replicate = 0;

  const auto comparison = compare_runs(compared(run), compared(run_of(6)), {});

  CHECK(only_cell(comparison).reason == Reason::no_noise_floor);
  CHECK_THAT(text_of(comparison),
             ContainsSubstring("--against") && ContainsSubstring("--interleave"));
}

TEST_CASE("what cannot be compared says why") {
  auto reasons = [](const RunComparison& comparison) {
    std::vector<Reason> all;
    for (const CellComparison& one : comparison.cells) {
      CHECK(one.verdict == CellVerdict::not_comparable);
      all.push_back(one.reason);
    }
    CHECK(comparison.conclusion == Conclusion::not_comparable);
    return all;
  };
  const ComparedRun a = compared(run_of(6));

  SECTION("other ranks") {
    CHECK(reasons(compare_runs(a, compared(run_of(6, 0, 10, 4)), {})) ==
          std::vector{Reason::other_ranks, Reason::other_ranks});
  }
  SECTION("other sizes") {
    support::RunBuilder b(2);
    b.trial().cell("all_reduce", 2 * k_1m, 10'000);
    CHECK(reasons(compare_runs(a, compared(b), {})) ==
          std::vector{Reason::other_size, Reason::other_size});
  }
  SECTION("another collective") {
    support::RunBuilder b(2);
    b.trial().cell("all_gather", k_1m, 10'000);
    CHECK(reasons(compare_runs(a, compared(b), {})) ==
          std::vector{Reason::not_measured, Reason::not_measured});
  }
  SECTION("wrong data") {
    support::RunBuilder b(2);
    b.trial().cell("all_reduce", k_1m, 10'000,
                   {.outcome = {model::OutcomeKind::wrong_data, "1 of 8 elements wrong", {}}});
    CHECK(reasons(compare_runs(a, compared(b), {})) == std::vector{Reason::wrong_data});
  }
  SECTION("numbers of a model against measurements") {
    auto b = run_of(6);
    b.header.synthetic = true;
    CHECK(reasons(compare_runs(a, compared(b), {})) == std::vector{Reason::synthetic_against_real});
  }
}

TEST_CASE("facts that differ between the runs are suspects") {
  auto b = run_of(6);
  b.header.hosts[0].libraries[0].version = "2.28.9";
  b.header.environment = {{"NCCL_ALGO", "Tree"}};

  const auto found = compare_runs(compared(run_of(6)), compared(b), {}).suspects;

  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == FactKind::nccl);
  CHECK(found[0].a == "2.28.3");
  CHECK(found[0].b == "2.28.9");
  CHECK(found[1].kind == FactKind::variable);
  CHECK(found[1].name == "NCCL_ALGO");
  CHECK(found[1].a.empty());
}

TEST_CASE("a newer firmware of the GPUs is a suspect") {
  auto with_firmware = [](const char* version) {
    auto run = run_of(6);
    topology::Gpu gpu;
    gpu.vbios = {version, topology::Source::nvml};
    run.header.hosts[0].topology.gpus = {gpu};
    return compared(run);
  };

  const auto found =
      compare_runs(with_firmware("96.00.a5.00.01"), with_firmware("96.00.b1.00.02"), {}).suspects;

  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == FactKind::firmware);
  CHECK(found[0].b == "96.00.b1.00.02");
}

TEST_CASE("suspects of a baseline are what none of its runs had") {
  auto some = [](std::vector<std::string> drivers, const char* variable_of_first = nullptr) {
    std::vector<ComparedRun> runs = some_runs(static_cast<int>(drivers.size()));
    for (std::size_t i = 0; i < runs.size(); ++i)
      runs[i].facts = {{FactKind::driver, "", drivers[i]}};
    if (variable_of_first)
      runs.front().facts.push_back({FactKind::variable, "NCCL_ALGO", variable_of_first});
    return runs;
  };
  const auto baseline = some({"580", "580", "570"}, "Ring");
  auto suspects_of = [&](const std::vector<ComparedRun>& runs) {
    return compare_with_baseline("b", baseline, runs, {}).suspects;
  };

  CHECK(suspects_of(some({"570"})).empty());
  CHECK(suspects_of(some({"580"}, "Ring")).empty());
  const auto newer = suspects_of(some({"590"}, "Tree"));
  REQUIRE(newer.size() == 2);
  CHECK(newer[0].a == "580 (2 of 3 runs), 570 (1 of 3 runs)");
  CHECK(newer[0].b == "590");
  CHECK(newer[1].a == "not set (2 of 3 runs), Ring (1 of 3 runs)");
  // Two commands that took turns differ in what either side has alone.
  CHECK(compare_pairs("a", baseline, "b", some({"580", "580", "580"}), {}).suspects.size() == 2);
}

TEST_CASE("a baseline of three runs finds a regression, one of two decides nothing") {
  const auto slower = some_runs(1, 10);

  CHECK(compare_with_baseline("b", some_runs(3), slower, {}).conclusion == Conclusion::regression);
  const auto of_two = compare_with_baseline("b", some_runs(2), slower, {});
  CHECK(of_two.conclusion == Conclusion::undecided);
  CHECK(only_cell(of_two).reason == Reason::too_few_runs);
  CHECK(of_two.repeats() == 3);
  CHECK_THAT(text_of(of_two),
             ContainsSubstring("It takes 3 runs in the baseline (now 2) and 3 new runs (now 1)"));
}

TEST_CASE("runs in turns find a regression and an improvement") {
  CHECK(compare_pairs("a", some_runs(5), "b", some_runs(5, 10), {}).conclusion ==
        Conclusion::regression);
  CHECK(compare_pairs("a", some_runs(5, 10), "b", some_runs(5), {}).conclusion ==
        Conclusion::improvement);
}

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
  CHECK(gate_of("time(all_reduce, 64K-1M) +25%").least_speed_ratio == Approx(0.8));
}

TEST_CASE("what is no gate is refused") {
  const std::string text = GENERATE(
      as<std::string>(), "busbw", "busbw(all_reduce) 3%", "busbw(all_reduce) +3%",
      "time(all_reduce) -3%", "busbw() -3%", "busbw(all_reduce,big) -3%", "speed(all_reduce) -3%",
      "busbw(all_reduce) -3", "busbw(all_reduce) -100%", "busbw(all_reduce,<0) -3%");

  const auto gate = parse_gate(text);
  REQUIRE_FALSE(gate);
  CHECK(gate.error().code == Errc::invalid_argument);
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
  CHECK(base::value_or_throw(matching(some_runs(3), run, {FactKind::nccl})).size() == 3);
  // A run is no baseline of itself.
  CHECK(base::value_or_throw(matching(some_runs(3), some_runs(1)[0], {})).size() == 2);
}

TEST_CASE("JUnit has a case per gate and cell, and escapes what it quotes") {
  std::vector<JudgedComparison> all(1);
  all[0].comparison = compare_with_baseline("b", some_runs(5), some_runs(1, 10), {});
  all[0].gates = judge_gates({gate_of("busbw(all_reduce,>=1M) -3%")}, all[0].comparison, {});

  const auto suites = comparison_tests(all);
  const std::string text = write_junit(suites);

  REQUIRE(suites.size() == 1);
  REQUIRE(suites[0].cases.size() == 2);
  CHECK(suites[0].cases[0].state == JUnitCase::State::failed);
  CHECK(suites[0].cases[0].kind == "regression");
  CHECK(suites[0].cases[1].state == JUnitCase::State::failed);
  CHECK_THAT(text, ContainsSubstring("busbw(all_reduce,&gt;=1M) -3%"));
  CHECK_THAT(text, ContainsSubstring("failures=\"2\""));
}
