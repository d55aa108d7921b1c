// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/compared_runs.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::compare;

TEST_CASE("two runs that differ get a verdict for the cell, but are no regression") {
  const auto comparison = compare_runs(compared(run_of(6)), compared(run_of(6, 10)), {});

  CHECK(only_cell(comparison).verdict == CellVerdict::slower);
  CHECK(only_cell(comparison).speed_ratio == Approx(1 / 1.1).epsilon(0.001));
  CHECK(comparison.conclusion == Conclusion::differ);
  CHECK_FALSE(comparison.overall);
}

TEST_CASE("a ratio has as many digits as its interval, so it lies within") {
  const auto comparison = compare_runs(compared(run_of(6)), compared(run_of(6, 2.6)), {});

  REQUIRE(only_cell(comparison).interval);
  CHECK(only_cell(comparison).interval->low > 0.97);
  CHECK_THAT(text_of(comparison), ContainsSubstring("0.975x"));
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

TEST_CASE("a reason that all cells share stands once, below a table that keeps its columns") {
  const std::string text =
      written(report_of(compare_runs(compared(run_of(1)), compared(run_of(6)), {})), Format::table);

  CHECK_THAT(text, ContainsSubstring("A us") && ContainsSubstring("B us") &&
                       !ContainsSubstring("left out") && !ContainsSubstring("  why"));
  CHECK_THAT(text, ContainsSubstring("  not decided, all of them: only one process was "
                                     "measured"));
}

TEST_CASE("noisy runs are not decided, and the answer says how many processes would do") {
  const auto comparison =
      compare_runs(compared(run_of(6, 0, 1000)), compared(run_of(6, 0, 1000)), {});

  CHECK(only_cell(comparison).reason == Reason::too_noisy);
  REQUIRE(comparison.repeats());
  CHECK(*comparison.repeats() > 6);
}

TEST_CASE("of each noisy cell the text says what it takes, also if that is too many to count") {
  ComparedRun run;
  for (const auto& [bytes, scatter] : {std::pair(1024, 0.3), std::pair(1 << 24, 3.0)}) {
    RunCell& cell = run.cells.emplace_back();
    cell.key.label.bytes = static_cast<std::uint64_t>(bytes);
    cell.key.ranks = 2;
    cell.key.setting = "default";
    for (int process = 0; process < 6; ++process)
      cell.times_ns.push_back(1e4 * std::exp(scatter * (process % 3)));
  }
  run.floors.assign(k_size_classes, 1.001);

  const auto comparison = compare_runs(run, run, {});

  REQUIRE(comparison.cells[0].repeats);
  REQUIRE_FALSE(comparison.cells[1].repeats);
  const std::string text = text_of(comparison);
  const int fewer = *comparison.cells[0].repeats;
  CHECK_THAT(text, ContainsSubstring(fmt::format("2 cells: too noisy. It takes {} to more than "
                                                 "10,000 processes of each, depending on the cell.",
                                                 fewer)));
  CHECK_THAT(text, ContainsSubstring(fmt::format("too noisy: takes {} processes", fewer)) &&
                       ContainsSubstring("too noisy: takes more than 10,000 processes"));
  // Below "No difference" too.
  const auto of_mean =
      compare_with_baseline("b", runs_with_a_noisy_cell(), {run_with_a_slower_cell(8)}, {});
  CHECK_THAT(text_of(of_mean),
             ContainsSubstring("1 of 13 cells is not decided.") &&
                 ContainsSubstring(fmt::format("too noisy: takes {} runs",
                                               of_mean.cells.back().repeats.value())));
}

TEST_CASE("cells of training steps say how many ranks they have") {
  auto run_of_steps = [] {
    ComparedRun run = compared(run_of(6));
    const RunCell cell = run.cells.front();
    run.cells.clear();
    for (const std::vector<int>& ranks : {std::vector{0}, std::vector{0, 1}}) {
      RunCell& step = run.cells.emplace_back(cell);
      step.key.label.what = model::StepLabel{.ranks = ranks};
    }
    return run;
  };
  const auto comparison = compare_runs(run_of_steps(), run_of_steps(), {});

  REQUIRE(comparison.cells.size() == 2);
  CHECK_THAT(text_of(comparison), ContainsSubstring(", 1 rank") && ContainsSubstring(", 2 ranks"));
  const Report report = report_of(comparison);
  CHECK(report.rows->rows == 2);
  std::vector<std::string> ranks, drawn;
  for (const auto& [table, key, into] :
       {std::tuple(report.rows, "ranks", &ranks),
        std::tuple(report.sections.at(2).charts.front().table, "member", &drawn)})
    for (std::size_t row = 0; row < table->rows; ++row)
      into->push_back(shown(std::ranges::find(table->columns, key, &Column::key)->value(row)));
  CHECK(ranks == std::vector<std::string>{"1", "2"});
  CHECK(drawn == std::vector<std::string>{"1 rank", "2 ranks"});
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

TEST_CASE("the answer names wrong data and its side") {
  auto two_cells = [](bool is_wrong) {
    support::RunBuilder run(2);
    const model::Outcome wrong{model::OutcomeKind::wrong_data, "1 of 8 elements wrong", {}};
    for (int process = 0; process < 6; ++process)
      run.trial()
          .cell("all_reduce", k_1m, 10'000 + 10 * (process % 3))
          .cell("all_gather", k_1m, 10'000,
                {.outcome = is_wrong && process == 2 ? wrong : model::Outcome{}});
    return compared(run);
  };

  const auto comparison = compare_runs(two_cells(false), two_cells(true), {});

  CHECK(comparison.conclusion == Conclusion::no_difference);
  CHECK_THAT(text_of(comparison),
             ContainsSubstring("Answer      Wrong data, which is never compared: all_gather, f32, "
                               "1M, 2 ranks (in B). No difference"));
}

TEST_CASE("both A/A floors are shown, and the larger one counts") {
  ComparedRun a = compared(run_of(6)), b = compared(run_of(6));
  a.floors.assign(k_size_classes, 1.002);
  b.floors.assign(k_size_classes, 1.005);

  const auto comparison = compare_runs(a, b, {});

  CHECK(only_cell(comparison).floor == 1.005);
  CHECK_THAT(text_of(comparison), ContainsSubstring("A/A floors of A and B: to 4M 0.2% and 0.5%"));
}

TEST_CASE("cells that are left out are named, if not all") {
  auto run_of_sizes = [](int sizes) {
    support::RunBuilder run(2);
    for (int process = 0; process < 6; ++process) {
      auto trial = run.trial();
      for (int size = 0; size < sizes; ++size)
        trial.cell("all_reduce", k_1m << size, 10'000);
    }
    return compared(run);
  };

  CHECK_THAT(
      text_of(compare_runs(run_of_sizes(1), run_of_sizes(2), {})),
      ContainsSubstring("Left out    1 cell, other size: all_reduce, f32 sum, 2M, 2 ranks\n"));
  CHECK_THAT(text_of(compare_runs(run_of_sizes(1), run_of_sizes(6), {})),
             ContainsSubstring("8M, 2 ranks; and 2 more (--format csv lists them)"));
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
  CHECK_THAT(text_of(of_two), ContainsSubstring("It takes 3 runs in the baseline (now 2).\n"));
}

TEST_CASE("the answer counts the cells that are decided one by one") {
  CHECK_THAT(text_of(compare_with_baseline("b", some_runs(3), some_runs(1, 10), {})),
             ContainsSubstring("Cell by cell: 1 of 1 slower, none faster."));
  CHECK_THAT(text_of(compare_runs(compared(run_of(6)), compared(run_of(6)), {})),
             ContainsSubstring("a difference of 5% or more is excluded.\n"));
}

TEST_CASE("no difference is excluded while the whole interval of a cell is beyond it") {
  const auto comparison =
      compare_with_baseline("b", runs_with_a_noisy_cell(), {run_with_a_slower_cell(24)}, {});

  REQUIRE(comparison.overall->verdict == CellVerdict::no_difference);
  CHECK(comparison.conclusion == Conclusion::undecided);
  CHECK(comparison.repeats() == comparison.cells.back().repeats);
  CHECK_THAT(text_of(comparison),
             ContainsSubstring("the mean over all cells shows no difference of 5% or more, but the "
                               "whole 95% interval of 1 of 13 cells is beyond it: all_reduce, f32 "
                               "sum, 4G, 2 ranks: -19.") &&
                 ContainsSubstring(" It takes ") && !ContainsSubstring("is excluded"));
  const auto straddling =
      compare_with_baseline("b", runs_with_a_noisy_cell(), {run_with_a_slower_cell(8)}, {});
  CHECK(straddling.conclusion == Conclusion::no_difference);
}

TEST_CASE("slower cells beside faster ones are a regression and an improvement") {
  std::vector<ComparedRun> baseline;
  for (const double shift : {0.0, 10.0, 5.0})
    baseline.push_back(run_of_cells({1e4 + shift, 1e4 + shift, 1e4 + shift, 1e4 + shift}));

  const auto both =
      compare_with_baseline("b", baseline, {run_of_cells({5e3, 5e3, 11e3, 11e3})}, {});
  CHECK(both.conclusion == Conclusion::regression);
  CHECK_THAT(text_of(both), ContainsSubstring("Regression in 2 of 4 cells, improvement in 2 of 4 "
                                              "cells, beyond the scatter between runs. Mean speed "
                                              "+34.") &&
                                !ContainsSubstring("B is slower"));
  const Report report = report_of(both);
  CHECK_THAT(written(report, Format::json),
             ContainsSubstring(R"("id": "regression_and_improvement")"));
  // Of equal changes, the mean shows none.
  CHECK_THAT(
      text_of(compare_with_baseline("b", baseline, {run_of_cells({1e4, 1e4, 1e4, 11e3})}, {})),
      ContainsSubstring("Regression: B is slower"));
}

TEST_CASE("an answer says which side is of a model") {
  auto b = run_of(6);
  b.header.synthetic = true;

  const auto comparison = compare_runs(compared(run_of(6)), compared(b), {});
  const std::string text = text_of(comparison);

  // Not a part of the bullet above it.
  CHECK_THAT(written(report_of(comparison), Format::markdown),
             ContainsSubstring("\n\nSYNTHETIC NUMBERS"));
  CHECK_THAT(text, ContainsSubstring("SYNTHETIC NUMBERS in B: they come from a model.") &&
                       !ContainsSubstring("nothing was measured"));
}

TEST_CASE("runs in turns find a regression and an improvement") {
  CHECK(compare_pairs("a", some_runs(5), "b", some_runs(5, 10), {}).conclusion ==
        Conclusion::regression);
  CHECK(compare_pairs("a", some_runs(5, 10), "b", some_runs(5), {}).conclusion ==
        Conclusion::improvement);
}
