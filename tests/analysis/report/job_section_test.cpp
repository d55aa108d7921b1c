// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/captured_report.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

TEST_CASE("A captured job has its steps, groups, and who is late") {
  const Report report = captured_report(training_job(), {"rank:3=median", "bucket=130M"});
  support::check_golden("report-captured-job.txt", text_of(report));
  const auto json = json_of(report);
  const auto& job = json["job"];
  CHECK(job["steps"] == "found");
  CHECK(job["kinds"].size() == 2);
  CHECK(job["kinds"][0]["steps"] == 60);
  CHECK(job["kinds"][0]["operations"] == 26);
  CHECK(job["kinds"][1]["steps"] == 30);
  CHECK(job["kinds"][0]["use"] == "training");
  CHECK(job["kinds"][1]["use"] == "evaluation");
  CHECK(job["communicators"][0]["role"] == "tensor");
  CHECK(job["operations"] == 4 * (1 + 60 * 26 + 30));
  CHECK(job["operations_in_steps"] == 4 * (60 * 26 + 30));
  const auto& phases = json["phases"];
  REQUIRE(phases.size() == 3);
  CHECK(phases[0]["phase"] == "backward");
  CHECK(phases[0]["outer"].is_null());
  CHECK(phases[1]["phase"] == "forward");
  CHECK(phases[1]["mean_ns"].get<double>() == Approx(10e6 + 0.6e6 / 4).epsilon(0.02));
  CHECK(phases[1]["slowest_rank"] == 3);
  CHECK(phases[1]["slowest_ns"].get<double>() == Approx(10.6e6).epsilon(0.02));
  CHECK(phases[1]["share"].get<double>() == Approx(0.25).epsilon(0.03));
  CHECK(phases[2]["outer"] == "forward");
  CHECK(phases[2]["phase"] == "load batch");
  const auto& causes = json["job_causes"];
  CHECK(causes["has_all_steps"] == true);
  CHECK(causes["hold_ups"][0]["cause_rank"] == 3);
  CHECK(causes["hold_ups"][0]["steps"] == 12);
  CHECK(causes["late"][0]["cause_rank"] == 3);
  CHECK(causes["what_if"].size() == 3); // evaluations have no buckets
  CHECK(causes["what_if"][0]["gain_ns"].get<double>() == Approx(0.6e6).epsilon(0.2));
  CHECK(values_of(json, "held_up_by")["ranks"] == std::vector<int>{3});
  CHECK(values_of(json, "held_up_by")["cause"] == "host");
  const auto late = json["stragglers"][0]["ranks"][3]["recurring"];
  CHECK(late["late_in"] == 12);
  CHECK(late["recurrence"]["every"] == 5);
}

TEST_CASE("A job without repeats has no steps, and says so") {
  job::MadeJob made(2);
  const int world = made.communicator({0, 1});
  for (std::uint64_t i = 1; i < 20; ++i)
    made.collective(world, "AllReduce", 4 * i * i);
  const Report report = captured_report(made);
  CHECK(ids_of(report) == std::vector<std::string_view>{"mean_step", "exposed_transfer",
                                                        "no_kernels_traced", "no_steps_found"});
  CHECK(json_of(report)["job"]["steps"] == "no_repeats");
}
