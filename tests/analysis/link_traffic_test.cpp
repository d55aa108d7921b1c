// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/link_traffic.h"
#include "analysis/report/report.h"
#include "analysis/run_builder.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
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

model::Run run_with(std::vector<model::Condition> conditions,
                    std::vector<model::Setting> settings = {}) {
  model::Run run = make_gpu_run(2);
  auto trial = make_trial({.settings = std::move(settings)});
  auto record = make_record(2, 1'000'000);
  record.conditions = std::move(conditions);
  add_cell(trial, make_cell("all_reduce", 1 << 20), record);
  run.trials.push_back(trial);
  return run;
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
  CHECK(all[0].nvlink_sent_gb_per_s == Approx(200));
  CHECK(all[0].nvlink_received_gb_per_s == Approx(200));
  CHECK(all[0].rank == 0);
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
  model::Run run = run_with({reading(0, When::during, k_second_ns, 1000, 5),
                             reading(0, When::during, 2 * k_second_ns, 1225, 5)});

  std::string text = render_report(run, Format::table);
  auto json = nlohmann::json::parse(render_report(run, Format::json));

  CHECK_THAT(text, ContainsSubstring("Links while long cells ran") && ContainsSubstring("225.00"));
  REQUIRE(json.at("link_traffic").size() == 1);
  CHECK(json.at("link_traffic")[0].at("nvlink_sent_gb_per_s") == Approx(225));
  CHECK(nlohmann::json::parse(render_report(run_with({}), Format::json)).count("link_traffic") ==
        0);
}
