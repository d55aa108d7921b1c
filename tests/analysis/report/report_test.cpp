// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/example_reports.h"
#include "analysis/report/written.h"
#include "base/text_layout.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using ncclprobe::support::check_golden;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

// Field names of a CSV line without quoted commas.
std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');)
    fields.push_back(field);
  return fields;
}

} // namespace

TEST_CASE("the report of a sweep reads as agreed") {
  check_golden("report-sweep.txt", render_report(sweep_run(), Format::table));
}

TEST_CASE("a run that was resumed under other conditions says so in the heading") {
  model::Run run = sweep_run();
  run.header.forced = {"nccl on a: was 2.28.3, is 2.27.5"};

  const auto values = values_of(json_of(run_report(run)), "resumed_under_other_conditions");
  REQUIRE(values.is_object());
  CHECK(values["differences"] == "nccl on a: was 2.28.3, is 2.27.5");
}

TEST_CASE("the report of a run with failures reads as agreed") {
  check_golden("report-failures.txt", render_report(failures_run(), Format::table));
  check_golden("report-failures.csv", render_report(failures_run(), Format::csv));
}

TEST_CASE("the report of a synthetic run reads as agreed") {
  check_golden("report-synthetic.txt", render_report(synthetic_run(), Format::table));
  check_golden("report-synthetic.csv", render_report(synthetic_run(), Format::csv));
}

TEST_CASE("The report of settings within processes") {
  check_golden("report-in-process.txt", render_report(in_process_run(), Format::table));
}

TEST_CASE("the report of single launches reads as agreed") {
  check_golden("report-latency.txt", render_report(latency_run(), Format::table));
  check_golden("report-latency.csv", render_report(latency_run(), Format::csv));
}

TEST_CASE("the report of training steps reads as agreed") {
  check_golden("report-steps.txt", render_report(steps_run(), Format::table, {}, traced_steps()));
}

TEST_CASE("the JSON of training steps has the figures of the whole step, its halves and scaling") {
  auto json = nlohmann::json::parse(render_report(steps_run(), Format::json, {}, traced_steps()));
  auto found = [&](const std::string& section, std::size_t ranks) {
    for (const auto& one : json[section])
      if (one["is_default"] == true && one["ranks"].size() == ranks && one["parts"] == "all")
        return one;
    return nlohmann::json();
  };

  const auto step = found("steps", 4);
  CHECK(step["processes"] == 7);
  CHECK(step["step_ms"] == 36.07);
  CHECK(step["compute_ms"] == 33.0574);
  CHECK(step["covered_ms"] == 8.33935);
  CHECK(step["uncovered_transfer_ms"] == 2.65979);
  CHECK(step["step_interval_ms"] == nlohmann::json{36.03, 36.13});
  CHECK(step["by_kernels"]["exposed_ms"] == 2.1);
  CHECK(step["most_memory_bytes"] == std::uint64_t{21} << 30);
  CHECK(step["by_rank"].size() == 4);
  CHECK(step["buckets"][1]["transfer_ms"] == 2.2);
  CHECK(step["channels"] == 16);
  const auto overlap = found("overlap", 2);
  CHECK(overlap["overlap_efficiency"]["value"] == 0.648066);
  CHECK(overlap["compute_slowdown"]["value"] == 1.03625);
  CHECK(overlap["communication_slowdown"]["interval"] == nlohmann::json{1.09973, 1.10027});
  const auto point = found("scaling", 1)["points"][2];
  CHECK(point["efficiency"]["value"] == 0.888559);
  CHECK(point["account"]["uncovered transfer"]["interval"] == nlohmann::json{0.0736745, 0.0738049});
  const auto break_even = found("break_even", 2);
  CHECK(break_even["bound_by"] == "compute-bound");
  CHECK(break_even["break_even_as_it_is_ms"] == 40.2625);
}

TEST_CASE("the JSON of single launches has percentiles over launches, and what throttled them") {
  auto json = nlohmann::json::parse(render_report(latency_run(), Format::json));

  const auto& result = json["results"][0];
  CHECK(result["variant"] == "graph");
  CHECK(result["timing_mode"] == "latency");
  CHECK(result["time_us"] == 11.4955);
  CHECK(result["latency"]["p99_us"] == 11.9806);
  CHECK(result["latency"]["launches"] == 200);
  CHECK(result["throttle_reasons"] == "software power cap");
  CHECK(result["throttled_processes"] == 1);
  CHECK(result["check_methods"] == nlohmann::json{"every launch"});
  CHECK(json["run"]["conditions"]["sm_clock_mhz"] == nlohmann::json{1965, 1980});
  CHECK(json["run"]["conditions"]["throttled_cells"] == 2);
}

TEST_CASE("the JSON of failures names trials, ranks and findings by id") {
  auto json = nlohmann::json::parse(render_report(failures_run(), Format::json));

  REQUIRE(json["problems"].size() == 6);
  const auto& hang = json["problems"][2];
  CHECK(hang["trial"] == 3);
  CHECK(hang["setting"] == "NCCL_P2P_DISABLE=1");
  CHECK(hang["outcome"] == "timed_out");
  CHECK(hang["failed_ranks"] == nlohmann::json{2});
  CHECK(hang["cells"][0]["size_bytes"] == 1 << 20);
  CHECK(hang["workers"][2]["exit"] == "stopped: signal 9 (Killed)");
  std::vector<std::string> ids;
  for (const auto& finding : json["findings"])
    ids.push_back(finding["id"]);
  CHECK(ids == std::vector<std::string>{"wrong_data", "too_few_processes", "delivers_wrong_data"});
  CHECK(json["findings"][0]["values"]["trial"] == 5);
  CHECK(json["findings"][2]["values"]["setting"] == "NCCL_PROTO=LL128");
}

TEST_CASE("steps are not shown with bandwidths") {
  std::string table = render_report(steps_run(), Format::table);
  auto json = nlohmann::json::parse(render_report(steps_run(), Format::json));

  CHECK(occurrences(table, "GB/s") == 0);
  for (const auto& result : json["results"]) {
    CHECK(result["algbw_gb_per_s"].is_null());
    CHECK(result["busbw_gb_per_s"].is_null());
  }
}

TEST_CASE("every loss account in a report adds up") {
  auto json = nlohmann::json::parse(render_report(steps_run(), Format::json));

  REQUIRE(json["scaling"].size() == 2); // two settings
  for (const auto& scaling : json["scaling"])
    for (const auto& point : scaling["points"]) {
      double sum = 0;
      for (const auto& term : point["account"])
        sum += term["share"].get<double>();
      CHECK(std::abs(sum - point["lost"].get<double>()) < 1e-12);
    }
}

TEST_CASE("the reports of runs that did not come to their end read as agreed") {
  check_golden("report-stopped.txt", render_report(stopped_run(), Format::table));
  check_golden("report-empty.txt", render_report(empty_run(), Format::table));
  check_golden("report-empty.json", render_report(empty_run(), Format::json));
  check_golden("report-empty.csv", render_report(empty_run(), Format::csv));
}

TEST_CASE("the terminal report fits its columns and is plain text") {
  for (const model::Run& of_run : {sweep_run(), failures_run(), synthetic_run(), latency_run(),
                                   steps_run(), stopped_run(), empty_run()}) {
    const RunSummary run(of_run);
    const Report report = run_report(run);
    for (int columns : {80, 100, 120})
      for (const std::string& line : lines_of(write_text(report, columns))) {
        INFO(columns << ": " << line);
        CHECK(line.size() <= static_cast<std::size_t>(columns));
        CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
        CHECK((line.empty() || line.back() != ' '));
      }
  }
}

TEST_CASE("huge sizes and long settings still fit 100 columns") {
  RunBuilder run(2);
  auto plain = run.trial();
  auto swept = run.trial({{"NCCL_TOPO_FILE", std::string(200, 'x')}});
  for (model::Placement placement : {model::Placement::out_of_place, model::Placement::in_place}) {
    constexpr std::uint64_t bytes = (std::uint64_t{1} << 40) - 1;
    plain.cell("reduce_scatter", bytes, 3'600'000'000'000, {.placement = placement});
    swept.cell("reduce_scatter", bytes, 1'800'000'000'000, {.placement = placement});
  }

  for (const std::string& line : lines_of(render_report(run, Format::table))) {
    INFO(line);
    CHECK(line.size() <= static_cast<std::size_t>(base::k_report_columns));
  }
}

TEST_CASE("every view says synthetic wherever there is a number of the model") {
  model::Run run = synthetic_run();

  std::string table = render_report(run, Format::table);
  auto json = nlohmann::json::parse(render_report(run, Format::json));
  auto csv = lines_of(render_report(run, Format::csv));

  CHECK_THAT(lines_of(table)[0], ContainsSubstring("SYNTHETIC"));
  for (const std::string& line : lines_of(table))
    if (line.rfind("broadcast", 0) == 0)
      CHECK_THAT(line, ContainsSubstring("[SYNTHETIC]"));
  CHECK(json["synthetic"] == true);
  REQUIRE_FALSE(json["results"].empty());
  for (const auto& result : json["results"])
    CHECK(result["synthetic"] == true);
  REQUIRE(csv.size() > 1);
  for (std::size_t i = 1; i < csv.size(); ++i)
    CHECK(csv[i].rfind("true,", 0) == 0);
}

TEST_CASE("a synthetic trial is enough, whatever the header says") {
  model::Run run = synthetic_run();
  run.header.synthetic = false;
  run.header.backend = "host";

  CHECK(std::ranges::count(ids_of(run_report(run)), "synthetic_numbers") == 1);
}

TEST_CASE("measured numbers never say synthetic") {
  std::string table = render_report(sweep_run(), Format::table);

  CHECK(occurrences(table, "SYNTHETIC") == 0);
  CHECK(occurrences(render_report(sweep_run(), Format::json), "\"synthetic\": true") == 0);
}

TEST_CASE("wrong data shouts before and after everything else") {
  std::string table = render_report(failures_run(), Format::table);

  CHECK(occurrences(table, "!!! WRONG DATA") == 2);
  CHECK(table.find("!!! WRONG DATA") < table.find("all_reduce, f32 sum, out of place"));
  const auto wrong = values_of(json_of(run_report(failures_run())), "wrong_data");
  CHECK_THAT(wrong["what"].get<std::string>(),
             ContainsSubstring("rank 3 element 17: 5 instead of 6"));
}

TEST_CASE("wrong data shows even if the cell left no samples") {
  RunBuilder run(2);
  run.trial().cell(make_cell("all_reduce", 8),
                   make_record(model::OutcomeKind::wrong_data, "wrong data on rank 1", {1}));

  const auto wrong = values_of(json_of(run_report(run)), "wrong_data");
  REQUIRE(wrong.is_object());
  CHECK(wrong["what"] == "wrong data on rank 1");
}

TEST_CASE("a wrong setting is not presented as a gain") {
  auto json = nlohmann::json::parse(render_report(failures_run(), Format::json));

  bool seen = false;
  for (const auto& result : json["results"])
    if (result["data"] == "wrong") {
      seen = true;
      CHECK(result["against_default"].is_null());
    }
  CHECK(seen);
}

TEST_CASE("escape sequences of workers never reach the terminal") {
  std::string table = render_report(failures_run(), Format::table);

  CHECK(table.find('\x1b') == std::string::npos);
  CHECK_THAT(table, ContainsSubstring("no socket interface found"));
}

TEST_CASE("output that is not UTF-8 still gives JSON") {
  model::Run run = failures_run();
  run.trials[4].workers[1].output_tail = "bad \xff\xfe bytes";

  auto json = nlohmann::json::parse(render_report(run, Format::json), nullptr, false);

  CHECK_FALSE(json.is_discarded());
}

TEST_CASE("JSON names its schema and is complete") {
  auto json = nlohmann::json::parse(render_report(failures_run(), Format::json));

  CHECK(json["schema"] == "ncclprobe.report");
  CHECK(json["schema_version"] == 1);
  CHECK(json["run"]["complete"] == true);
  CHECK(json["problems"].size() == 6);
  CHECK(json["problems"][0]["failed_ranks"].size() == 4);
}

TEST_CASE("CSV has one row for each cell of each trial and quotes what needs it") {
  model::Run run = failures_run();
  run.trials[3].cells[1].outcome.reason = "said \"no\", twice";
  std::size_t cells = 0;
  for (const auto& trial : run.trials)
    cells += trial.cells.size();

  std::string csv = render_report(run, Format::csv);

  CHECK(occurrences(csv, "\r\n") == cells + 1);
  CHECK_THAT(csv, ContainsSubstring("\"said \"\"no\"\", twice\""));
}

TEST_CASE("every CSV row has as many fields as the header") {
  auto lines = lines_of(render_report(sweep_run(), Format::csv));

  REQUIRE(lines.size() > 1);
  auto columns = split_fields(lines[0]).size();
  for (const std::string& line : lines)
    CHECK(split_fields(line).size() == columns);
}

TEST_CASE("the brief report is the answer alone, with what to set ready to paste") {
  const RunSummary run(sweep_run());

  std::string text = render_report(run, Format::table, {}, {}, Extent::brief);

  CHECK(text.rfind("Answer ", 0) == 0);
  CHECK_THAT(text,
             ContainsSubstring(
                 "\n             export NCCL_ALGO=Tree NCCL_PROTO=Simple NCCL_MIN_CTAS=16\n") &&
                 !ContainsSubstring("How the verdicts were reached"));
  const Report without = run_report(RunSummary(steps_run()), {}, {}, Extent::brief);
  CHECK(std::ranges::count_if(ids_of(without), [](std::string_view id) {
          return id == "keep_defaults" || id == "keep_defaults_unless";
        }) == 1);
}

TEST_CASE("what to set is named by ranges of sizes") {
  const RunSummary run(sweep_run());
  auto json = nlohmann::json::parse(render_report(run, Format::json));

  const auto& to_set = json["verdicts"]["to_set"];
  REQUIRE(to_set.size() == 2);
  CHECK(to_set[0]["workload"] == "all_reduce");
  CHECK(to_set[0]["first_bytes"] == 1 << 10);
  CHECK(to_set[0]["last_bytes"] == 256 << 20);
  CHECK(to_set[0]["settings"][2]["name"] == "NCCL_MIN_CTAS");
  CHECK(to_set[1]["workload"] == "all_gather");
  CHECK(to_set[1]["first_bytes"] == 16 << 20); // at 1M nothing is better
}

TEST_CASE("the answer stands last as well as first") {
  std::string text = render_report(RunSummary(sweep_run()), Format::table);

  CHECK(occurrences(text, "\nAnswer  ") == 2);
  CHECK(text.rfind("export NCCL_ALGO=Tree") > text.find("In short, with default settings"));
}

TEST_CASE("a report in Markdown has its tables in pipes and its lines to paste as code") {
  std::string text = render_report(RunSummary(sweep_run()), Format::markdown);

  CHECK_THAT(text, ContainsSubstring("| size | time us | algbw GB/s | busbw GB/s |") &&
                       ContainsSubstring("\n    export NCCL_ALGO=Tree"));
  CHECK_THAT(render_report(RunSummary(failures_run()), Format::markdown),
             !ContainsSubstring("\x1b"));
}

TEST_CASE("a run that was cut short says how far it came") {
  CHECK_THAT(render_report(stopped_run(), Format::table),
             ContainsSubstring("unfinished: 1 of 6 trials"));
}

TEST_CASE("a size without a verdict counts as no difference in its range") {
  RunBuilder run(1);
  for (int id = 0; id < 10; ++id)
    run.trial().cell("broadcast", 8, 1000 + id % 3).cell("broadcast", 16, 4000 + id % 3);
  for (int id = 10; id < 15; ++id)
    run.trial({{"NCCL_ALGO", "Tree"}})
        .cell("broadcast", 8, 1000 + id % 3)
        .cell("broadcast", 16, 1000 + id % 3);

  std::string text = render_report(run, Format::table);

  // sqrt(1 x 4)
  CHECK_THAT(text, ContainsSubstring("NCCL_ALGO=Tree  2.00x       1      0     1     0"));
  const auto better = values_of(json_of(run_report(run)), "better");
  REQUIRE(better.is_object());
  CHECK(better["setting"] == "NCCL_ALGO=Tree");
  CHECK(better["better"] == 1);
  CHECK(better["cells"] == 2);
}

TEST_CASE("with few processes a difference is shown in parentheses, without a verdict") {
  RunBuilder run(1);
  run.trial().cell("broadcast", 1024, 1000);
  run.trial({{"NCCL_ALGO", "Tree"}}).cell("broadcast", 1024, 800);

  std::string text = render_report(run, Format::table);

  CHECK(ids_of(run_report(run)).front() == "too_few_processes");
  CHECK_THAT(text, ContainsSubstring("NCCL_ALGO=Tree  (1.25x)       0      0     0     1"));
}

TEST_CASE("companion trials are no measurements in any format") {
  std::string csv = render_report(latency_run(), Format::csv);
  auto json = nlohmann::json::parse(render_report(latency_run(), Format::json));

  CHECK(occurrences(csv, "\r\n") == 1 + 3 * 2);
  for (const auto& result : json["results"])
    if (result["setting"] == "NCCL_PROTO=LL")
      CHECK(result["processes"].size() == 1);
}

TEST_CASE("verdicts are in every format") {
  auto json = nlohmann::json::parse(render_report(sweep_run(), Format::json));
  auto csv = lines_of(render_report(sweep_run(), Format::csv));

  CHECK(json["verdicts"]["tested"] == 24);
  CHECK(json["verdicts"]["settings"][1]["worse"] == 8);
  std::set<std::string> of_cells;
  for (const auto& result : json["results"])
    if (!result["against_default"].is_null())
      of_cells.insert(result["against_default"]["verdict"].get<std::string>());
  CHECK(of_cells == std::set<std::string>{"better", "worse", "no_difference"});
  auto names = split_fields(csv[0]);
  auto verdict = std::find(names.begin(), names.end(), "verdict") - names.begin();
  REQUIRE(static_cast<std::size_t>(verdict) < names.size());
  CHECK(split_fields(csv.back())[static_cast<std::size_t>(verdict)] == "better");
}

TEST_CASE("throttled cells are marked in every format") {
  model::Run run = sweep_run();
  run.trials.back().cells[5].conditions = {
      {.when = model::Condition::When::after, .throttle_reasons = 0x4}};

  std::string table = render_report(run, Format::table);
  auto json = nlohmann::json::parse(render_report(run, Format::json));

  CHECK_THAT(table, ContainsSubstring("THROTTLED in 1 of 1 cells measured"));
  CHECK_THAT(table, ContainsSubstring("better *  256M"));
  CHECK(occurrences(render_report(run, Format::csv), "software power cap") == 1);
  int marked = 0;
  for (const auto& result : json["results"])
    marked += result["throttled_processes"] == 1;
  CHECK(marked == 1);
}

TEST_CASE("a size without elements has no data that could be ok") {
  RunBuilder run(1);
  run.trial().cell("broadcast", 0, 1000)->cells[0].check.elements = 0;

  std::string data = split_fields(lines_of(render_report(run, Format::csv))[1])[25];
  std::string text = render_report(run, Format::table);

  CHECK(data == "checked");
  CHECK_THAT(text, ContainsSubstring("3 batches        -  -\n"));
  CHECK_THAT(text, !ContainsSubstring("  ok\n"));
}

TEST_CASE("workers that the supervisor stopped are no sign of a killer from outside") {
  RunBuilder run(2);
  auto trial = run.trial();
  trial->outcome = {model::OutcomeKind::crashed, "worker of rank 1 died", {1}};
  trial->workers[0].exit = "stopped: signal 9 (Killed)";
  trial->workers[1].exit = "signal 11 (Segmentation fault)";
  CHECK_THAT(render_report(run, Format::table), !ContainsSubstring("out-of-memory"));

  trial->workers[1].exit = "signal 9 (Killed)";
  CHECK_THAT(render_report(run, Format::table), ContainsSubstring("out-of-memory"));
}

TEST_CASE("a start that takes too long points to the time allowed for starting") {
  RunBuilder run(2);
  auto trial = run.trial();
  trial->outcome = {model::OutcomeKind::timed_out, "ranks 0,1 were not ready within 1 s", {0, 1}};
  for (auto& worker : trial->workers)
    worker.last_phase = "communicator_init";

  CHECK_THAT(render_report(run, Format::table), ContainsSubstring("--startup-timeout"));
}
