// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/plan.h"
#include "workload/traced_twin.h"

#include <map>
#include <set>

using namespace ncclprobe;
using namespace ncclprobe::model;

namespace {

workload::PlanRequest request(TraceLevel level) {
  workload::PlanRequest request;
  request.backend = "nvidia";
  request.ranks = 2;
  request.collectives = {Collective::all_reduce};
  request.sizes = {1024};
  request.axes = {{"NCCL_PROTO", {"LL", "Simple"}}};
  request.repeats = 3;
  request.seed = 11;
  request.proof = workload::Proof::off;
  request.trace = level;
  return request;
}

} // namespace

TEST_CASE("every block holds a traced twin of each setting, and the untraced ones as without") {
  auto plan = make_plan(request(TraceLevel::api));
  REQUIRE(plan);
  REQUIRE(plan->trials.size() == 3 * (2 + 2 + 3));
  for (std::size_t block = 0; block < 3; ++block) {
    std::map<std::string, std::set<int>> untraced;
    std::set<std::string> traced;
    for (std::size_t i = 0; i < 7; ++i) {
      const TrialSpec& trial = plan->trials[block * 7 + i];
      CHECK(trial.id == static_cast<int>(block * 7 + i));
      if (trial.purpose == Purpose::measure) {
        CHECK(trial.trace == TraceLevel::off);
        CHECK(untraced[trial.name].insert(trial.replicate).second);
        continue;
      }
      CHECK(trial.purpose == Purpose::traced);
      CHECK(trial.trace == TraceLevel::api);
      CHECK(trial.replicate == static_cast<int>(block));
      CHECK(trial.instruments == std::vector<Setting>{{"NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN"}});
      CHECK(traced.insert(trial.name).second);
    }
    CHECK(traced == std::set<std::string>{"NCCL_PROTO=LL", "NCCL_PROTO=Simple", "default"});
    CHECK(untraced["default"] ==
          std::set<int>{static_cast<int>(2 * block), static_cast<int>(2 * block) + 1});
  }
}

TEST_CASE("without a trace no trial is traced") {
  auto plan = make_plan(request(TraceLevel::off));
  REQUIRE(plan);
  for (const TrialSpec& trial : plan->trials)
    CHECK(trial.purpose == Purpose::measure);
}

TEST_CASE("a traced trial is another than its twin, wherever its spools lie") {
  auto plan = make_plan(request(TraceLevel::kernels));
  REQUIRE(plan);
  std::set<std::string> keys;
  for (const TrialSpec& trial : plan->trials)
    CHECK(keys.insert(resume_key(trial, trial.cells.front())).second);
  TrialSpec traced = plan->trials.front(), moved = traced;
  moved.trace_folder = "/elsewhere";
  CHECK(resume_key(traced, traced.cells.front()) == resume_key(moved, moved.cells.front()));
}

TEST_CASE("a profiler plugin of the user's stays, and the plan says what is lost") {
  auto asked = request(TraceLevel::kernels);
  asked.environment["NCCL_PROFILER_PLUGIN"] = "inspector";
  auto plan = make_plan(asked);
  REQUIRE(plan);
  for (const TrialSpec& trial : plan->trials)
    CHECK(trial.instruments.empty());
  REQUIRE(plan->warnings.size() == 1);
  CHECK(plan->warnings[0].find("NCCL_PROFILER_PLUGIN=inspector") != std::string::npos);
  CHECK(workload::lost_to_traces(asked.environment, "host").empty());
}
