// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/traffic_section.h"
#include "analysis/report/written.h"
#include "analysis/results/link_traffic.h"
#include "analysis/steps/step_builder.h"
#include "base/text_layout.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

#include <iterator>
#include <sstream>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using When = model::Condition::When;

namespace {

constexpr std::int64_t k_second_ns = 1'000'000'000;

model::Condition reading(int rank, When when, std::int64_t at_ns, std::uint64_t sent_gb,
                         std::int32_t pcie_mb_per_s) {
  model::Condition one{.rank = rank, .when = when, .at_ns = at_ns};
  one.nvlink_sent_bytes = sent_gb * k_second_ns;
  one.nvlink_received_bytes = sent_gb * k_second_ns;
  one.pcie_received_mb_per_s = pcie_mb_per_s;
  return one;
}

RunBuilder run_with(const std::vector<model::Condition>& conditions,
                    std::vector<model::Setting> settings = {}) {
  RunBuilder run(2);
  run.trial(std::move(settings)).cell("all_reduce", 1 << 20, 1'000'000, {.conditions = conditions});
  for (model::CudaDevice& gpu : run.header.hosts[0].gpus) {
    gpu.compute_capability = "9.0";
    gpu.nvlinks = 18;
  }
  return run;
}

// 450 GB/s each way.
std::vector<model::Condition> busy_links() {
  std::vector<model::Condition> readings{reading(0, When::during, k_second_ns, 1000, 12'000),
                                         reading(0, When::during, 2 * k_second_ns, 1450, 60'000)};
  for (model::Condition& one : readings)
    one.pcie_sent_mb_per_s = 60'000;
  return readings;
}

} // namespace

TEST_CASE("traffic is what was counted between two readings that follow one another") {
  auto all = link_traffic(run_with({reading(0, When::during, k_second_ns, 1000, 5),
                                    reading(0, When::during, 2 * k_second_ns, 1100, 1500),
                                    reading(0, When::during, 4 * k_second_ns, 1500, 20),
                                    reading(1, When::during, 5 * k_second_ns, 9000, 20),
                                    reading(1, When::during, 6 * k_second_ns, 9150, 20),
                                    reading(1, When::after, 7 * k_second_ns, 9950, 20)}));

  REQUIRE(all.size() == 1);
  CHECK(all[0].ranks == 2);
  CHECK(all[0].nvlink_sent_gb_per_s == Approx(200));
  CHECK(all[0].nvlink_received_gb_per_s == Approx(200));
  CHECK(all[0].pcie_received_gb_per_s == Approx(1.5));
  CHECK_FALSE(all[0].pcie_sent_gb_per_s.has_value());
}

TEST_CASE("one reading of a counter, a counter that was reset, and other settings tell nothing") {
  model::Condition alone{.when = When::during, .at_ns = 1, .nvlink_sent_bytes = 5};
  model::Condition reset{.when = When::during, .at_ns = 2, .nvlink_sent_bytes = 3};

  CHECK(link_traffic(run_with({alone})).empty());
  CHECK(link_traffic(run_with({alone, reset})).empty());
  CHECK(
      link_traffic(run_with({reading(0, When::during, 1, 0, 7)}, {{"NCCL_ALGO", "Ring"}})).empty());
  CHECK(link_traffic(run_with({reading(0, When::before, 1, 0, 7)})).empty());
}

TEST_CASE("reports show traffic beside busbw with the share of what the links carry") {
  model::Run run = run_with({reading(0, When::during, k_second_ns, 1000, 12'000),
                             reading(0, When::during, 2 * k_second_ns, 1225, 5)});

  std::string text = render_report(run, Format::table);
  auto json = nlohmann::json::parse(render_report(run, Format::json));

  CHECK_THAT(text, ContainsSubstring("Links while long cells ran"));
  REQUIRE(json.at("link_traffic").size() == 1);
  const auto& one = json.at("link_traffic")[0];
  CHECK(one.at("nvlink_sent_gb_per_s") == Approx(225));
  CHECK(one.at("nvlink_peak_gb_per_s") == Approx(450));
  CHECK(one.at("type") == "f32");
  CHECK(one.at("op") == "sum");
  CHECK(one.at("placement") == "out_of_place");
  CHECK(one.at("ranks") == 2);
  std::istringstream row(text.substr(text.find("Links while long cells ran")));
  std::vector<std::string> words;
  for (std::string line; std::getline(row, line) && words.empty();)
    if (line.starts_with("  all_reduce")) {
      std::istringstream of_line(line);
      words.assign(std::istream_iterator<std::string>(of_line), {});
    }
  std::string of_pcie =
      fmt::format("{:.1f}", 100 * 12 / one.at("pcie_peak_gb_per_s").get<double>());
  CHECK(words == std::vector<std::string>{"all_reduce,", "f32", "sum", "2", "1M", "1.05", "225.00",
                                          "225.00", "50.0", "-", "12.00", of_pcie});
  CHECK(nlohmann::json::parse(render_report(run_with({}), Format::json)).count("link_traffic") ==
        0);
}

TEST_CASE("rows of traffic that look alike are told apart, within the width of a report") {
  model::Run run = run_with(busy_links());
  model::TrialRecord& trial = run.trials[0];
  auto add = [&](model::Cell cell) {
    auto record = make_record(2, 5'000);
    record.conditions = busy_links();
    add_cell(trial, std::move(cell), record);
  };
  model::Cell cell = make_cell("reduce_scatter", 1'048'572, model::Placement::in_place);
  cell.label.type = model::DataType::f8e4m3;
  add(cell);
  cell.timing.mode = model::TimingMode::latency;
  add(cell);
  for (auto parts : {model::StepParts::all, model::StepParts::compute}) {
    add_step_cell(trial,
                  {.label = {.options = {.pattern = model::StepPattern::fsdp_tp, .tensor = 2},
                             .model = "llama3-70b",
                             .ranks = {0, 1},
                             .parts = parts,
                             .batch = 8},
                   .lengths = {{}, {}}});
    trial.cells.back().conditions = busy_links();
  }

  const auto results = setting_results(run);
  std::istringstream text(text_of(traffic_report(run, results)));
  std::string all;
  for (std::string line; std::getline(text, line);) {
    CAPTURE(line);
    CHECK(line.size() <= static_cast<std::size_t>(base::k_report_columns));
    for (std::string_view word : {"place", "time", "prefetch=1", "alone"})
      if (line.find(word) != std::string::npos)
        all += fmt::format("{};", word);
  }
  CHECK(link_traffic(run).size() == 5);
  CHECK(all == "place;place;time;prefetch=1;prefetch=1;alone;");
}
