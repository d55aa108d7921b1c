// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/plan.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::model;
using namespace ncclprobe::workload;

namespace {

PlanRequest request(const std::string& backend, Proof proof) {
  PlanRequest request;
  request.backend = backend;
  request.ranks = 2;
  request.collectives = {Collective::all_reduce};
  request.sizes = {1024};
  request.axes = {{"NCCL_PROTO", {"LL", "Simple"}}};
  request.proof = proof;
  return request;
}

std::vector<TrialSpec> companions(const Plan& plan) {
  std::vector<TrialSpec> found;
  std::copy_if(plan.trials.begin(), plan.trials.end(), std::back_inserter(found),
               [](const TrialSpec& trial) { return trial.purpose == Purpose::companion; });
  return found;
}

bool has_instrument(const TrialSpec& trial, const std::string& name) {
  return std::any_of(trial.instruments.begin(), trial.instruments.end(),
                     [&](const Setting& one) { return one.name == name; });
}

} // namespace

TEST_CASE("every setting and the default have one companion, behind all measurements") {
  auto plan = make_plan(request("nvidia", Proof::automatic));

  REQUIRE(plan.has_value());
  auto found = companions(*plan);
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "default");
  CHECK(found[1].name == "NCCL_PROTO=LL");
  CHECK(found[0].id == static_cast<int>(plan->trials.size()) - 3);
  CHECK(plan->trials[plan->trials.size() - 4].purpose == Purpose::measure);
}

TEST_CASE("a companion runs each cell once and carries its instruments apart from the settings") {
  auto plan = make_plan(request("nvidia", Proof::on));

  const TrialSpec ll = companions(*plan).at(1);
  CHECK(ll.cells.at(0).timing.warmups == 0);
  CHECK(ll.cells.at(0).timing.iterations == 1);
  CHECK(ll.cells.at(0).timing.batches == 1);
  CHECK(ll.process.common == std::vector<Setting>{{"NCCL_PROTO", "LL"}});
  CHECK(has_instrument(ll, "NCCL_DEBUG_FILE"));
  CHECK(has_instrument(ll, "NCCL_PROFILER_PLUGIN"));
  CHECK(plan->trials.front().instruments.empty());
}

TEST_CASE("what the environment sets of the instruments is kept, and what is lost is said") {
  PlanRequest pinned = request("nvidia", Proof::on);
  pinned.environment = {{"NCCL_DEBUG", "WARN"}};

  auto plan = make_plan(pinned);

  CHECK_FALSE(has_instrument(companions(*plan).at(0), "NCCL_DEBUG"));
  REQUIRE(plan->warnings.size() == 1);
  CHECK_THAT(plan->warnings[0], ContainsSubstring("NCCL_DEBUG=WARN is set in the environment"));
}

TEST_CASE("by default companions are for GPUs only, and asked for they come anywhere") {
  CHECK(companions(*make_plan(request("host", Proof::automatic))).empty());
  CHECK(companions(*make_plan(request("nvidia", Proof::off))).empty());
  auto host = companions(*make_plan(request("host", Proof::on)));
  REQUIRE(host.size() == 3);
  CHECK(host[0].instruments.empty()); // they are NCCL's
}

TEST_CASE("a companion is another thing to resume than a measurement") {
  TrialSpec trial;
  trial.cells.emplace_back();
  std::string measured = resume_key(trial, trial.cells[0]);
  trial.purpose = Purpose::companion;
  CHECK(resume_key(trial, trial.cells[0]) != measured);
}
