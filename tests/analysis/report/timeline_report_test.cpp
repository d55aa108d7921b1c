// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/captured_report.h"
#include "analysis/report/timeline_report.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/written.h"
#include "analysis/timeline/trace_builder.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::timeline;
using namespace ncclprobe::analysis_test;

namespace {

// Two hosts with a rank each, two cells of 20 steps. A step has computation of 40 us (55 us if half
// of it overlaps communication), a copy, and an all-reduce that NCCL reported; rank 1 comes 8 us
// late, and sometimes 12.
TraceSource example(bool second_host) {
  std::vector<RankBuilder> ranks(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::uint32_t step = 0; step < 40; ++step) {
      RankBuilder& trace = ranks[static_cast<std::size_t>(rank)];
      StepKey key{static_cast<int>(step / 20), 0, step % 20};
      std::int64_t at = 1'000'000 + 200'000 * static_cast<std::int64_t>(step);
      std::int64_t late = rank * (step % 5 == 0 ? 12'000 : 8000);
      bool beside = step % 2 == 0;
      trace.compute({at, at + (beside ? 55'000 : 40'000)},
                    trace.operation(key, 0, trace::OperationKind::compute, at - 30'000));
      trace.copy({at + 2000, at + 5000},
                 trace.operation(key, 1, trace::OperationKind::copy, at - 25'000));
      auto reduce = trace.operation(key, 2, trace::OperationKind::collective, at - 20'000);
      std::int64_t start = at + (beside ? 15'000 : 40'000) + late, end = at + 90'000;
      trace.communicate({start, end}, reduce);
      trace.nccl(step, {start + 7'000'500, end + 6'999'500}, reduce);
    }
  TraceSource source = source_of(ranks);
  for (int rank = 0; rank < 2; ++rank) {
    RankHead& head = source.ranks[static_cast<std::size_t>(rank)];
    head.losses = {{80, 0, trace::LossKind::launches_seen},
                   {rank == 0 ? 80u : 78u, 0, trace::LossKind::kernels_delivered}};
    for (std::uint64_t at : {0u, 20'000'000u})
      head.clocks.push_back({at + 7'000'000, -7'000'000, 300, 600, trace::ClockKind::globaltimer});
  }
  source.ranks[1].losses.push_back({1, 0, trace::LossKind::no_times});
  if (second_host) {
    source.ranks[1].host = "other";
    for (std::uint64_t at : {0u, 20'000'000u})
      source.ranks[1].clocks.push_back({at, 0, 900, 1800, trace::ClockKind::host});
  }
  return source;
}

constexpr FindingKind k_left_out{"left_out", Severity::note, "{what} were not traced"};

TimelineHeading heading() {
  return {"trial 7 of run.h5, kernels",
          "+0.3% [0.1, 0.5]",
          {{&k_left_out, {{"what", "NCCL's network events"}}}},
          {{0, "all_reduce 1M"}, {1, "all_reduce 2M"}}};
}

Timeline timeline_of(const TraceSource& source) {
  return base::value_or_throw(analyse(source));
}

} // namespace

TEST_CASE("The timeline of two ranks on one host") {
  support::check_golden("report-timeline.txt",
                        text_of(timeline_report(timeline_of(example(false)), heading())));
}

TEST_CASE("Where clocks are not good enough the timeline says so") {
  std::string text = text_of(timeline_report(timeline_of(example(true)), heading()));
  CHECK(text.find("+- 0.90 us") != std::string::npos);
  CHECK(text.find("+- each") != std::string::npos);
  TraceSource source = example(true);
  std::erase_if(source.ranks[1].clocks,
                [](const auto& reading) { return reading.kind == trace::ClockKind::host; });
  const Report report = timeline_report(timeline_of(source), {});
  text = text_of(report);
  CHECK(text.find("never compared") != std::string::npos);
  CHECK(values_of(json_of(report), "lateness_unknown")["collectives"] == 20);
  CHECK(text.find("no untraced trial") != std::string::npos);
}

TEST_CASE("Times below twice the clocks' error are not shown as a delay") {
  TraceSource source = example(true);
  for (auto& reading : source.ranks[1].clocks)
    reading.error_ns = 9000;
  std::string text = text_of(timeline_report(timeline_of(source), heading()));
  CHECK(text.find("below 2 x") != std::string::npos);
  CHECK(text.find("<2x +-") != std::string::npos);
}

TEST_CASE("A timeline begins with how a step is spent, who holds the others up, and what to do") {
  const Report report = timeline_report(timeline_of(example(false)), heading());

  const auto json = json_of(report);
  const auto step = values_of(json, "mean_step");
  CHECK(step["step_ns"] == 194'500);
  CHECK(step["compute"] == Approx(47.5 / 194.5).epsilon(1e-3));
  CHECK(step["exposed_transfer"] == Approx(38.1 / 194.5).epsilon(1e-2));
  CHECK(values_of(json, "rank_holds_up")["rank"] == 1);
  CHECK(values_of(json, "rank_holds_up")["delay_ns"] == 8800);
  CHECK(values_of(json, "idle_streams")["share"] > 0.5);
  CHECK(report.sections[0].part == Section::Part::provenance);
  CHECK(report.sections[1].part == Section::Part::answer);
  CHECK(report.sections[2].part == Section::Part::method);
}

TEST_CASE("Clocks that collectives contradict carry no comparison of ranks") {
  std::vector<RankBuilder> ranks(2);
  for (int rank = 0; rank < 2; ++rank)
    for (std::uint32_t step = 0; step < 10; ++step) {
      RankBuilder& trace = ranks[static_cast<std::size_t>(rank)];
      const std::int64_t at = 100'000 * (step + 1) + 20'000 * rank; // rank 1 begins after the end
      trace.compute({at - 5000, at},
                    trace.operation({0, 0, step}, 0, trace::OperationKind::compute));
      trace.communicate({at, at + 10'000}, trace.operation({0, 0, step}, 1));
    }
  const Timeline timeline = base::value_or_throw(analyse(source_of(ranks), {.keep_steps = true}));

  CHECK(timeline.physics.beyond_bound == 10);
  CHECK(timeline.clocks_are_wrong());
  CHECK(timeline.stragglers.empty());
  for (const RankTimeline& rank : timeline.ranks) {
    CHECK(rank.cells.at(0).parts.exposed_wait_ns == 0);
    CHECK(rank.cells.at(0).parts.exposed_transfer_ns == 100'000);
    CHECK(rank.steps.front().parts.exposed_transfer_ns == 10'000);
  }
  const Report report = timeline_report(timeline, {});
  const std::string text = text_of(report);
  CHECK(ids_of(report) ==
        std::vector<std::string_view>{"mean_step", "clocks_are_wrong", "idle_streams"});
  CHECK(text.find("10 of 10 collectives end before all ranks have begun") != std::string::npos);
  CHECK(text.find("last in") == std::string::npos);
}

TEST_CASE("A timeline of nothing is a heading") {
  const Report report = timeline_report({}, {"nothing", "", {}, {}});
  CHECK(text_of(report).find("Mean step") == std::string::npos);
}

TEST_CASE("A captured job says what it lacks") {
  RankBuilder rank;
  rank.nccl(1, {100, 200});
  TraceSource source = source_of({rank, rank});
  for (RankHead& head : source.ranks)
    head.clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  const Report report = timeline_report(timeline_of(source), {"job/", "", {}, {}});
  const std::string text = text_of(report);
  CHECK(ids_of(report) ==
        std::vector<std::string_view>{"mean_step", "exposed_transfer", "no_kernels_traced"});
  CHECK(text.find("no steps") != std::string::npos);
  CHECK(text.find("not counted") != std::string::npos);
  CHECK(text.find("AllReduce") != std::string::npos);
  CHECK(text.find("operations with kernels") == std::string::npos); // there are none
}

TEST_CASE("A rank that left no trace is named, and nobody is late") {
  RankBuilder rank;
  rank.nccl(1, {100, 200});
  TraceSource source = source_of({rank});
  source.ranks[0].clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  const Report report = timeline_report(timeline_of(source), {"job/", "", {}, {}});
  const std::string text = text_of(report);
  REQUIRE(ids_of(report) ==
          std::vector<std::string_view>{"mean_step", "exposed_communication", "no_kernels_traced",
                                        "ranks_without_trace", "lateness_unknown"});
  CHECK(findings(report)[3]->values == Object{{"communicator_size", 2},
                                              {"communicators", 1U},
                                              {"ranks", List{1}},
                                              {"who", "rank 1"}});
  CHECK(text.find("0.10     -      0.10") != std::string::npos); // all counts as transfer
}

TEST_CASE("Gaps say whether events could have been told from others") {
  Timeline timeline;
  timeline.gaps[0].of(GapCause::other) = {2, 1000};
  CHECK(text_of(gaps_report(timeline, {})).find("--trace api") != std::string::npos);
  timeline.gaps[0].events_traced = true;
  CHECK(text_of(gaps_report(timeline, {})).find("--trace api") == std::string::npos);
}

TEST_CASE("Channels of NCCL's are compared, the fastest and the slowest by number") {
  RankBuilder rank;
  for (std::int64_t i = 0; i < 3; ++i) {
    rank.nccl(static_cast<std::uint64_t>(i), {20'000 * i + 1000, 20'000 * i + 11'000});
    trace::NcclChannelRow second = rank.trace.nccl_channels.back();
    second.channel = 5;
    second.stop_gt += 3000;
    rank.trace.nccl_channels.push_back(second);
  }
  TraceSource source = source_of({rank, rank});
  for (RankHead& head : source.ranks)
    head.clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  const Timeline timeline = timeline_of(source);
  std::string text = text_of(choices_report(timeline));
  CHECK(text.find("0: 10.0  5: 13.0") != std::string::npos);
}

TEST_CASE("No line is wider than the report, whatever the figures") {
  TraceSource source = example(true);
  for (auto& reading : source.ranks[1].clocks)
    reading.error_ns = 1'000'000;
  auto load = source.load;
  source.load = [load](int rank, Pass pass) {
    auto trace = load(rank, pass);
    for (auto& row : trace->operations)
      row.cell += row.cell * 9;
    for (auto& start_ns : trace->kernels.start_ns)
      start_ns *= 9973;
    return trace;
  };
  source.texts[k_all_reduce] = "ReduceScatter";
  source.texts[k_ring] = "COLLNET_DIRECT";
  TimelineHeading names = heading();
  for (int cell = 0; cell < 11; ++cell)
    names.cells[cell] = std::string(90, 'x') + " " + std::string(60, 'y');
  Timeline timeline = timeline_of(source);
  // Starts that were moved contradict the clocks, and then no rank is compared.
  REQUIRE(timeline.clocks_are_wrong());
  timeline.physics = {};
  timeline.stragglers = timeline_of(example(true)).stragglers;
  timeline.ranks.front().matched = 1;
  // Both signs and the largest numbers of digits, on clocks that are good enough to show them.
  REQUIRE_FALSE(timeline.choices.empty());
  for (auto& [choice, time] : timeline.choices) {
    time.operations = 999'999;
    time.wait_ns = time.length_ns / 2;
    time.wait_error_ns = static_cast<double>(time.length_ns) / 10;
    time.channels.operations = 999'999;
    for (std::uint8_t channel : {9, 31})
      time.channels.lengths_ns[channel].add(channel * 30'000.0);
    time.channels.starts_apart_ns.add(999'900);
    time.channels.ends_apart_ns.add(999'900);
  }
  auto all_lines_fit = [&](const std::string& must_have) {
    const Report report = timeline_report(timeline, names);
    CHECK(write_text(report).find(must_have) != std::string::npos);
    for (int columns : {80, 100, 120}) {
      std::istringstream lines(write_text(report, columns));
      for (std::string line; std::getline(lines, line);)
        CHECK(line.size() <= static_cast<std::size_t>(columns));
    }
  };
  all_lines_fit("31: 930.0");
  for (double scale : {1.0, 1e3, 1e6}) {
    for (Straggler& rank : timeline.stragglers.at(0).ranks) {
      rank.lateness = Aligned{-1'499 * scale, 149 * scale};
      rank.lateness_interval = Interval{-1'999 * scale, -1'001 * scale};
      rank.score = -998;
      rank.score_interval = Interval{-1000, -998};
      rank.times_last = 9'999'999;
      rank.delay = {1'499 * scale, 149 * scale};
      rank.delay_interval = Interval{1'001 * scale, 1'999 * scale};
    }
    all_lines_fit("Who comes late");
  }
  for (Straggler& rank : timeline.stragglers.at(0).ranks) {
    rank.lateness_interval = Interval{-999'900, -100'100};
    rank.delay_interval = Interval{100'100, 999'900};
  }
  all_lines_fit("Who comes late");
}

TEST_CASE("Cells of different kinds share no mean, no sum and no share") {
  // Cell 0 computes and communicates. Cell 1 only communicates, ten times as fast. Cell 2 belongs
  // to rank 0 alone. Rank 1 is late in cell 0, rank 0 in cell 1.
  std::vector<RankBuilder> ranks(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankBuilder& trace = ranks[static_cast<std::size_t>(rank)];
    for (std::uint32_t step = 0; step < 10; ++step) {
      const std::int64_t at = 100'000 * (step + 1);
      trace.compute({at, at + 60'000},
                    trace.operation({0, 0, step}, 0, trace::OperationKind::compute));
      trace.communicate({at + 40'000 + 5'000 * rank, at + 80'000},
                        trace.operation({0, 0, step}, 1));
    }
    for (std::uint32_t step = 0; step < 10; ++step) {
      const std::int64_t then = 5'000'000 + 10'000 * step;
      trace.communicate({then + 1'000 * (1 - rank), then + 8'000},
                        trace.operation({1, 0, step}, 0));
    }
    if (rank == 0)
      trace.compute({9'000'000, 9'003'000},
                    trace.operation({2, 0, 0}, 0, trace::OperationKind::compute));
  }
  const Timeline timeline = timeline_of(source_of(ranks));
  const std::string text = text_of(timeline_report(timeline, {}));

  CHECK(text.find("rank in cell 0, us") != std::string::npos);
  CHECK(text.find("rank in cell 1, us") != std::string::npos);
  CHECK(text.find("     0     10  98.0     60.0  40.0    20.0    50.0%") != std::string::npos);
  CHECK(text.find("     0     10  9.70  7.00") != std::string::npos);
  CHECK(text.find("Who comes late in cell 0") != std::string::npos);
  CHECK(text.find("Who comes late in cell 1") != std::string::npos);
  CHECK(timeline.stragglers.at(0).ranks[1].delay.value_ns == 5'000);
  CHECK(timeline.stragglers.at(1).ranks[0].delay.value_ns == 1'000);
  CHECK(timeline.gaps.at(0).of(GapCause::other).length_ns +
            timeline.gaps.at(0).of(GapCause::launch_late).length_ns ==
        9 * (40'000 + 40'000) + 9 * (60'000 + 65'000));
  CHECK(timeline.gaps.at(1).of(GapCause::other).count +
            timeline.gaps.at(1).of(GapCause::launch_late).count ==
        18);
  for (const RankTimeline& rank : timeline.ranks) {
    CHECK(rank.streams.at(0).front().hidden_ns == (rank.rank == 0 ? 200'000 : 150'000));
    CHECK(rank.streams.at(1).front().hidden_ns == 0);
  }

  const auto json = json_of(timeline_report(timeline, {}));
  CHECK(json["stragglers"].size() == 2);
  CHECK(json["stragglers"][1]["cell"] == 1);
  CHECK(json["gaps"][0]["cell"] == 0);
  CHECK_FALSE(json["ranks"][0].contains("all"));
  CHECK(json["ranks"][0]["cells"].size() == 3);
  CHECK(json["ranks"][0]["cells"][1]["overlap"] == 0);
}

TEST_CASE("The JSON of timelines has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  const auto add = [&](const TraceSource& source, bool keep_steps, TimelineHeading of) {
    const auto timeline = analyse(source, {.keep_steps = keep_steps});
    REQUIRE(timeline);
    schema.add(written(timeline_report(*timeline, std::move(of)), Format::json));
  };
  add(example(false), true, {}); // without findings
  add(example(true), false, heading());
  TraceSource captured = source_of({RankBuilder(), RankBuilder()});
  add(captured, false, {}); // nothing was traced
  RankBuilder rank;
  rank.nccl(1, {100, 200});
  captured = source_of({rank, rank});
  for (RankHead& head : captured.ranks)
    head.clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  add(captured, false, {});
  add(source_of({rank}), false, {}); // a rank left no trace
  schema.add(written(captured_report(training_job(), {"rank:3=median"}), Format::json));
  // Transfers hold it up: their cause is a communicator and no rank.
  const Report slow_messages =
      captured_report(analysis::job::pipelines(0, 5 * analysis::job::k_ms));
  REQUIRE(json_of(slow_messages)["job_causes"]["hold_ups"][0]["cause_rank"].is_null());
  schema.add(written(slow_messages, Format::json));
  rank.nccl(2, {300, 400});
  captured = source_of({rank, rank});
  for (RankHead& head : captured.ranks)
    head.clocks = {{0, 0, 5, 10, trace::ClockKind::globaltimer}};
  add(captured, false, {}); // a gap without steps

  support::check_document("docs/schemas/timeline.json",
                          schema.text("ncclprobe report --timeline --format json"));
}

TEST_CASE("The timeline as JSON has every figure") {
  TraceSource source = example(false);
  source.texts[k_gemm] = "gemm \xff";
  auto timeline = analyse(source, {.threads = 2, .keep_steps = true});
  REQUIRE(timeline);
  auto json = json_of(timeline_report(*timeline, heading()));
  CHECK(json["ledger"]["unexplained"] == 1);
  CHECK(json["joins"]["kernels_by_key"] == 80);
  CHECK(json["physics"]["violations"] == 0);
  CHECK(json["tracing_cost"] == "+0.3% [0.1, 0.5]");
  CHECK(json["stragglers"][0]["ranks"][1]["times_last"] == 20);
  CHECK(json["stragglers"][0]["ranks"][1]["delay"]["value_ns"] == 8800);
  CHECK(json["ranks"][0]["cells"][1]["name"] == "all_reduce 2M");
  const auto& all = json["ranks"][0]["cells"][0];
  CHECK(all["length_ns"] == all["compute_ns"].get<int>() + all["exposed_wait_ns"].get<int>() +
                                all["exposed_transfer_ns"].get<int>() +
                                all["memory_ns"].get<int>() + all["helper_ns"].get<int>() +
                                all["idle_ns"].get<int>());
  CHECK(json["ranks"][0]["steps"].size() == 40);
  // CSV has a row for each rank and step, without steps for each rank and cell.
  auto rows = [&](Timeline one) {
    const std::string csv = written(timeline_report(std::move(one), heading()), Format::csv);
    return std::ranges::count(csv, '\n') - 1;
  };
  CHECK(rows(*timeline) == 80);
  CHECK(rows(timeline_of(source)) == 4);
  CHECK(json["nccl"][0]["algorithm"] == "RING");
  CHECK(json["slowdowns"][0]["kernel"].get<std::string>().starts_with("gemm"));
}
