// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_matrix.h"
#include "analysis/p2p/p2p_runs.h"
#include "analysis/report/written.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"
#include "support/paths.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using support::check_golden;
using enum model::P2pMethod;
using model::P2pLabel;
using model::P2pTransfer;

namespace {

// A slow pair, a figure that cannot be, a cell that was skipped, one with wrong data.
model::Run run_with_everything() {
  auto rates = [](const P2pLabel& label, const P2pTransfer& way) {
    if (label.method == latency)
      return way.from == way.to ? 312.0 : way.to.host ? 1650.0 : 690.0 + 4 * way.to.rank;
    if (label.method == host)
      return 55.4;
    bool slow = way.from.rank == 1 && way.to.rank == 3;
    bool impossible =
        label.direction == model::P2pDirection::uni && way.from.rank == 3 && way.to.rank == 0;
    return slow ? 310.0 : impossible ? 471.0 : 386.5 + way.from.rank;
  };
  model::Run run = analysis_test::make_p2p_run(4, {ce, latency, host}, rates);
  model::TrialRecord& trial = run.trials.front();
  trial.cells[1] = {{model::OutcomeKind::skipped, "planted: no direct path", {0}}, {}, {}, {}};
  trial.cells[2].outcome = {
      model::OutcomeKind::wrong_data, "1 of 67108864 elements are wrong", {3}};
  trial.cells[2].check.wrong = 1;
  trial.cells[2].check.first_wrong = "rank 3 element 17: bits 0x1 instead of 0x2 (2)";
  trial.outcome = trial.cells[2].outcome;
  return run;
}

// Two H200 of a virtual machine, as `ncclprobe p2p` measured them.
model::Run recorded_run() {
  return base::value_or_throw(
      store::read_run(support::source_dir() + "/tests/machines/two-h200-vm-p2p.h5"));
}

} // namespace

TEST_CASE("a recorded run on two H200 exceeds no ceiling, and nothing in it is low") {
  model::Run run = recorded_run();

  std::vector<P2pMatrix> matrices = p2p_matrices(run);
  CHECK(beyond_limits(matrices).empty());
  std::size_t with_limit = 0;
  for (const P2pMatrix& matrix : matrices)
    for (const P2pEntry& entry : matrix.entries)
      for (const auto& figure : {entry.figure, entry.both_ways})
        if (auto share = figure ? figure->share() : std::nullopt) {
          INFO(describe(matrix, entry));
          CHECK(*share <= 1.02);
          CHECK(*share > 0.5);
          ++with_limit;
        }
  CHECK(with_limit >= 30);
  std::string text = render_report(run, Format::table);
  check_golden("report-p2p-two-h200.txt", text);
  CHECK_THAT(text, ContainsSubstring("normal: 673.38 GB/s"));
  CHECK(text.find(" low: ") == std::string::npos);
}

TEST_CASE("the test for figures beyond their ceiling sees one in a recorded run") {
  model::Run run = recorded_run();
  for (model::CellRecord& cell : run.trials.at(0).cells)
    for (model::Sample& sample : cell.samples)
      sample.elapsed_ns = sample.elapsed_ns * 4 / 5; // a quarter faster: 393 becomes 491 of 450

  CHECK_FALSE(beyond_limits(p2p_matrices(run)).empty());
}

TEST_CASE("the report of P2P matrices reads as agreed") {
  check_golden("report-p2p.txt", render_report(run_with_everything(), Format::table));
  check_golden("report-p2p.csv", render_report(run_with_everything(), Format::csv));
}

TEST_CASE("the JSON of P2P matrices has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add(render_report(run_with_everything(), Format::json));
  schema.add(render_report(recorded_run(), Format::json));
  model::Run unknown = run_with_everything();
  for (model::CudaDevice& gpu : unknown.header.hosts[0].gpus)
    gpu = {.index = gpu.index, .name = "a GPU of tomorrow"};
  schema.add(render_report(unknown, Format::json));
  model::Run nothing = recorded_run();
  for (model::CellRecord& cell : nothing.trials.front().cells)
    cell = {.outcome = {model::OutcomeKind::skipped, "planted", {0}}};
  schema.add(render_report(nothing, Format::json));
  schema.add_all<model::HostInventory>("run/hosts/*");

  support::check_document("docs/schemas/p2p.json", schema.text("ncclprobe p2p --format json"));
}

TEST_CASE(
    "the report begins with whether the links are as fast as expected, and which pair is slow") {
  const auto report_of = [](double of_all, double of_one) {
    return json_of(run_report(
        analysis_test::make_p2p_run(4, {ce}, [=](const P2pLabel&, const P2pTransfer& transfer) {
          return transfer.from.rank == 1 && transfer.to.rank == 3 ? of_one : of_all;
        })));
  };

  const auto normal = report_of(386.5, 386.5);
  CHECK(values_of(normal, "links_normal")["verdict"].get<std::string>().starts_with("normal"));
  CHECK_FALSE(values_of(normal, "no_pair_slow").is_null());
  const auto one_slow = report_of(386.5, 200);
  CHECK_THAT(values_of(one_slow, "pairs_slow")["worst"].get<std::string>(),
             ContainsSubstring("1 to 3"));
  CHECK_FALSE(values_of(one_slow, "examine_links").is_null());
  const auto all_slow = report_of(100, 100);
  CHECK(values_of(all_slow, "links_slow")["low"] == 2); // one way and both
}

TEST_CASE("problems name the pairs they are of, the first six of many") {
  model::Run run = analysis_test::make_p2p_run(
      4, {ce}, [](const P2pLabel&, const P2pTransfer&) { return 386.5; });
  model::TrialRecord& trial = run.trials.front();
  for (std::size_t c = 0; c < trial.cells.size(); ++c)
    if (trial.spec.cells[c].label.p2p()->direction != model::P2pDirection::together)
      trial.cells[c].outcome = {model::OutcomeKind::skipped, "planted", {0}};

  std::string text = render_report(run, Format::table);

  CHECK_THAT(text, ContainsSubstring("p2p_ce 512M, uni 0 to 1; uni 0 to 2; uni 0 to 3;"));
  CHECK_THAT(text, ContainsSubstring("uni 1 to 3 and 15 more:"));
  CHECK(text.find("WRONG DATA") == std::string::npos);
}

TEST_CASE("the JSON of P2P matrices holds every cell with its unit, limit and share") {
  auto json = nlohmann::json::parse(render_report(run_with_everything(), Format::json));

  CHECK(json["schema"] == "ncclprobe.p2p");
  CHECK(json["synthetic"] == false);
  const auto& matrix = json["matrices"][0];
  CHECK(matrix["method"] == "ce");
  CHECK(matrix["size_bytes"] == 512 << 20);
  REQUIRE(matrix["cells"].size() == 12);
  const auto& first = matrix["cells"][0];
  CHECK(first["from"] == "0");
  CHECK(first["to"] == "1");
  CHECK(first["one_way"]["gb_per_s"].get<double>() == Approx(386.5).epsilon(1e-6));
  CHECK(first["one_way"]["limit_gb_per_s"] == 450);
  CHECK(first["one_way"]["share_of_limit"].get<double>() == Approx(386.5 / 450).epsilon(1e-6));
  CHECK(matrix["cells"][1]["one_way"].is_null());
  CHECK(matrix["cells"][1]["reason"] == "planted: no direct path");
  CHECK(matrix["cells"][2]["data"] == "wrong");
  CHECK(json["beyond_limits"].size() == 1);
}

TEST_CASE("synthetic matrices say so in every view") {
  model::Run run = run_with_everything();
  run.header.synthetic = true;

  std::string text = render_report(run, Format::table);

  CHECK_THAT(text, ContainsSubstring("SYNTHETIC NUMBERS"));
  CHECK_THAT(text, ContainsSubstring("one way, 512M, GB/s [SYNTHETIC]"));
  CHECK_THAT(render_report(run, Format::csv), ContainsSubstring("\r\ntrue,"));
  CHECK(nlohmann::json::parse(render_report(run, Format::json))["synthetic"] == true);
}
