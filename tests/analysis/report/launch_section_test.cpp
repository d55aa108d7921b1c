// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/launch_section.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/run_builder.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

model::CellRecord record_of(std::int64_t time_ns, std::int64_t launch_ns) {
  model::CellRecord record = make_record(2, time_ns);
  for (model::Sample& sample : record.samples)
    sample.launch_ns = launch_ns < 0 ? -1 : launch_ns * sample.iterations;
  return record;
}

model::Cell cell_of(const model::CollectiveLabel& what, std::uint64_t bytes = 512) {
  model::Cell cell = make_cell("all_reduce", bytes);
  cell.label.what = what;
  return cell;
}

RunBuilder run_with(std::vector<model::Setting> settings = {}) {
  RunBuilder run(2);
  run.trial(std::move(settings))
      .cell(cell_of({}), record_of(12'000, 4'000))
      .cell(cell_of({.launch = model::Launch::graph}), record_of(9'000, 3'000))
      .cell(cell_of({.priority = -5}), record_of(12'600, 4'100))
      .cell(cell_of({.launch = model::Launch::graph}, 1024),
            record_of(9'000, 3'000)); // not measured directly
  return run;
}

} // namespace

TEST_CASE("the same operation launched in another way is found by the word that differs") {
  model::Run run = run_with();
  auto results = setting_results(run);
  auto pairs = launch_pairs(results);

  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].word == "graph");
  CHECK(pairs[0].plain->label.variant().empty());
  CHECK(pairs[0].plain->launch_ns == Approx(4000));
  CHECK(pairs[0].changed->launch_ns == Approx(3000));
  CHECK(pairs[1].word == "priority=-5");
  CHECK(pairs[1].changed->time_ns == Approx(12'600.5));
  CHECK(launch_pairs(setting_results(run_with({{"NCCL_ALGO", "Ring"}}))).empty());
}

TEST_CASE("the report shows what a graph and a priority change") {
  model::Run run = run_with();
  const auto results = setting_results(run);
  std::string text = text_of(launch_report(run, results));

  CHECK(text ==
        "Launched directly and as a graph, default settings\n"
        "  operation            ranks  size  timed  launch us  graph  time us  graph  change\n"
        "  all_reduce, f32 sum      2   512  batch       4.00   3.00    12.00   9.00  -25.0%\n"
        "\n"
        "Launched with priority=-5 and without, default settings\n"
        "  operation            ranks  size  timed  launch us  with it  time us  with it  "
        "change\n"
        "  all_reduce, f32 sum      2   512  batch       4.00     4.10    12.00    12.60   "
        "+5.0%\n");
}

TEST_CASE("long names of what was launched in two ways wrap") {
  RunBuilder run(2);
  auto trial = run.trial();
  model::Cell cell = make_cell("reduce_scatter", 1'048'572, model::Placement::in_place);
  cell.label.type = model::DataType::f8e4m3;
  for (model::Launch launch : {model::Launch::direct, model::Launch::graph}) {
    cell.label.what = model::CollectiveLabel{
        .collective = model::Collective::reduce_scatter, .launch = launch, .streams = 2};
    trial.cell(cell, record_of(1'000'000, 900'000));
  }

  const auto results = setting_results(run);
  CHECK(text_of(launch_report(run, results)) ==
        "Launched directly and as a graph, default settings\n"
        "  operation              ranks     size  timed  launch us   graph  time us    graph  "
        "change\n"
        "  reduce_scatter,            2  1048572  batch     900.00  900.00  1000.00  1000.00   "
        "+0.0%\n"
        "    f8e4m3 sum,\n"
        "    streams=2, in place\n");
}

TEST_CASE("what moves no data has no size and no bandwidth") {
  RunBuilder run(2);
  run.trial().cell(make_cell("empty_kernel", 0), record_of(4'000, 3'000));

  std::string text = render_report(run, Format::table);

  CHECK_THAT(text, ContainsSubstring("\n  time us  launch us  ") &&
                       !ContainsSubstring("algbw GB/s") && !ContainsSubstring("us at 0"));
}

TEST_CASE("runs that did not measure the host's part show none") {
  RunBuilder run(2);
  run.trial().cell(cell_of({}), record_of(12'000, -1));

  auto results = setting_results(run);
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].launch_ns.has_value());
  CHECK_THAT(render_report(run, Format::table), !ContainsSubstring("launch us"));
  CHECK_THAT(render_report(run_with(), Format::csv),
             ContainsSubstring("launch_us,imported\r\n") && ContainsSubstring(",4,false\r\n"));
}
