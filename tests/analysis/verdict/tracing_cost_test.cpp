// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/tracing_section.h"
#include "analysis/report/written.h"
#include "analysis/verdict/tracing_cost.h"
#include "analysis/verdict/verdict.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

// One rank, so that times are exact.
void add_processes(RunBuilder& run, model::Purpose purpose, const std::vector<std::int64_t>& times,
                   const std::vector<model::Setting>& settings = {}) {
  for (std::int64_t time_ns : times) {
    auto trial = run.trial(settings, purpose).cell("broadcast", 4096, time_ns);
    if (purpose == model::Purpose::traced)
      trial->spec.trace = model::TraceLevel::kernels;
  }
}

} // namespace

TEST_CASE("the cost of tracing is the ratio of traced to untraced processes, with its interval") {
  RunBuilder run(1);
  add_processes(run, model::Purpose::measure, {1000, 1001, 999, 1000, 1002, 998});
  add_processes(run, model::Purpose::traced, {1100, 1101, 1099});
  auto costs = tracing_costs(run);
  REQUIRE(costs.size() == 1);
  CHECK(costs[0].ratio == Approx(1.1).epsilon(1e-4));
  CHECK(costs[0].traced.processes.size() == 3);
  CHECK(costs[0].untraced_processes == 6);
  REQUIRE(costs[0].test);
  CHECK(costs[0].test->interval.low > 1.09);
  CHECK(costs[0].test->interval.high < 1.11);
  CHECK(cost_text(costs[0]).substr(0, 9) == "+10.0% [9");
  std::string text = render_report(run, Format::table);
  CHECK(text.find("What tracing cost") != std::string::npos);
  auto json = nlohmann::json::parse(render_report(run, Format::json));
  CHECK(json.at("tracing_cost").at(0).at("traced_processes") == 3);
}

TEST_CASE("an interval that says nothing is not told") {
  RunBuilder run(1);
  add_processes(run, model::Purpose::measure, {1000, 5000});
  add_processes(run, model::Purpose::traced, {900, 2000});
  auto costs = tracing_costs(run);
  REQUIRE(costs.size() == 1);
  CHECK_FALSE(costs[0].test);
  CHECK(costs[0].too_few_processes);
  CHECK(cost_text(costs[0]) == "-40.0% (too few processes)");
}

TEST_CASE("traced trials are no measurements of their setting") {
  RunBuilder run(1);
  add_processes(run, model::Purpose::measure, {1000, 1000});
  add_processes(run, model::Purpose::traced, {2000, 2000, 2000});
  auto results = setting_results(run);
  REQUIRE(results.size() == 1);
  CHECK(results[0].processes.size() == 2);
  CHECK(results[0].time_ns == Approx(1000));
}

TEST_CASE("without a twin, or with one process each, nothing is made up") {
  RunBuilder run(1);
  add_processes(run, model::Purpose::traced, {1100, 1101}, {{"NCCL_PROTO", "LL"}});
  add_processes(run, model::Purpose::measure, {1000, 1000});
  CHECK(tracing_costs(run).empty());
  CHECK(text_of(tracing_cost_report(run)).empty());
  add_processes(run, model::Purpose::measure, {1000}, {{"NCCL_PROTO", "LL"}});
  auto costs = tracing_costs(run);
  REQUIRE(costs.size() == 1);
  CHECK_FALSE(costs[0].test);
  CHECK(cost_text(costs[0]) == "+10.0%");
}
