// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/default_job.h"
#include "launch/cli/job/plan_file.h"
#include "launch/cli/job/workload_job.h"
#include "launch/cli/run_line.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;
using namespace ncclprobe::cli_test;
using model::StepPattern;
using workload::StepRequest;

namespace {

std::string fault(const std::vector<std::string>& words) {
  auto checked = check_workload(run_options(words));
  return checked ? "" : checked.error().text();
}

Session four_ranks() {
  Session session;
  session.backend.name = "host";
  session.hosts.resize(1);
  for (int rank = 0; rank < 4; ++rank)
    session.layout.placements.push_back({rank, 0, 0, rank});
  return session;
}

} // namespace

TEST_CASE("a step of training is read from the command line") {
  RunOptions options = run_options({"--workload",
                                    "ddp",
                                    "--model",
                                    "gpt2-124m",
                                    "--batch",
                                    "4,8",
                                    "--sequence",
                                    "512",
                                    "--type",
                                    "fp32,bf16",
                                    "--bucket",
                                    "10M,25M",
                                    "--bucket-view",
                                    "--compress",
                                    "none,fp16",
                                    "--compute",
                                    "calibrated:12.5",
                                    "--optimizer",
                                    "off",
                                    "--ranks",
                                    "1,2,4",
                                    "--placement",
                                    "spread",
                                    "--comm-priority",
                                    "5",
                                    "--scaling",
                                    "strong"});
  const WorkloadOptions& said = options.workload;

  CHECK(said.pattern == StepPattern::ddp);
  CHECK(said.model == "gpt2-124m");
  CHECK(said.batches == std::vector<std::uint64_t>{4, 8});
  CHECK(said.sequence == 512U);
  CHECK(said.types == std::vector{model::StepType::f32, model::StepType::bf16});
  CHECK(said.buckets == std::vector<std::uint64_t>{10 << 20, 25 << 20});
  CHECK(said.bucket_view == true);
  CHECK(said.compression == std::vector{model::Compression::none, model::Compression::f16});
  CHECK(said.compute->backward_ns == 12'500'000);
  CHECK(said.optimizer == false);
  CHECK(said.rank_counts == std::vector<int>{1, 2, 4});
  CHECK(options.ranks == 4);
  CHECK(said.placement == topology::RankChoice::spread);
  CHECK_FALSE(options.placements.has_value());
  CHECK(said.scaling == model::Scaling::strong);
  CHECK(check_workload(options).has_value());
}

TEST_CASE("what is no step is refused with the option's name") {
  CHECK(refused({"--workload", "gan"}));
  CHECK(refused({"--workload", "ddp", "--batch", "0"}));
  CHECK(refused({"--workload", "ddp", "--type", "f64"}));
  CHECK(refused({"--workload", "ddp", "--compute", "calibrated:soon"}));
  CHECK(refused({"--workload", "ddp", "--compute", "fast"}));
  CHECK(refused({"--workload", "ddp", "--bucket", "0"}));
  CHECK(refused({"--ranks", "1,x"}));
}

TEST_CASE("options of steps and of collectives do not mix") {
  CHECK_THAT(fault({"--batch", "4"}), ContainsSubstring("--batch is for training steps"));
  CHECK_THAT(fault({"--ranks", "1,2"}), ContainsSubstring("several numbers of --ranks"));
  CHECK_THAT(fault({"--mode", "steps"}), ContainsSubstring("--mode steps"));
  CHECK_THAT(fault({"--workload", "ddp"}), ContainsSubstring("--model"));
  std::vector<std::string> ddp{"--workload", "ddp", "--model", "x"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), ddp.begin(), ddp.end());
    return fault(more);
  };
  CHECK_THAT(with({"--sizes", "1K"}), ContainsSubstring("--sizes is for collectives"));
  CHECK_THAT(with({"--types", "f16"}), ContainsSubstring("--type"));
  CHECK_THAT(with({"--mode", "latency"}), ContainsSubstring("--mode steps"));
  CHECK(with({"--mode", "steps"}).empty());
  CHECK(with({"--graph", "--register"}).empty());
  CHECK(with({"--launch", "direct,graph"}).empty());
  CHECK(refused({"--graph", "--launch", "direct"}));
  RunOptions both = run_options({});
  REQUIRE(apply_plan_text("graph = true\nlaunch = 'direct'\n", "plan", both).has_value());
  CHECK_THAT(check_workload(both).error().text(), ContainsSubstring("--launch direct,graph"));
}

TEST_CASE("options of another pattern are refused, since they would change nothing") {
  auto with = [](const char* pattern, std::vector<std::string> more) {
    more.insert(more.begin(), {"--workload", pattern, "--model", "x"});
    return fault(more);
  };
  CHECK_THAT(with("fsdp", {"--compress", "bf16"}),
             ContainsSubstring("--compress is for ddp, moe, ddp+tp, not for fsdp"));
  CHECK_THAT(with("ddp", {"--tensor", "2"}), ContainsSubstring("for tp, ddp+tp, fsdp+tp, not"));
  CHECK_THAT(with("ddp", {"--prefetch", "3"}), ContainsSubstring("for fsdp, fsdp+tp, not for ddp"));
  CHECK_THAT(with("pipeline", {"--bucket", "4M"}), ContainsSubstring("--bucket is for ddp"));
  CHECK_THAT(with("ddp", {"--micro-batches", "4"}), ContainsSubstring("is for pipeline, not"));
  CHECK(with("fsdp+tp", {"--prefetch", "2", "--tensor", "2"}).empty());
  CHECK(with("moe", {"--bucket", "4M"}).empty());
  RunOptions options = run_options({"--model", "x"});
  REQUIRE(apply_plan_text("workload = 'fsdp'\nbucket = '4M'\n", "plan", options));
  CHECK_THAT(check_workload(options).error().text(), ContainsSubstring("--bucket is for ddp"));
}

TEST_CASE("a placement that is none is refused with those of buffers and of ranks") {
  const std::string told = refusal(run_usage, {"--workload", "ddp", "--placement", "sprad"});

  CHECK_THAT(told, ContainsSubstring("out_of_place") && ContainsSubstring("spread"));
}

TEST_CASE("a plan file means what the command line says of a step") {
  RunOptions options = run_options({"--workload",
                                    "fsdp+tp",
                                    "--model",
                                    "llama3-8b:2",
                                    "--batch",
                                    "2",
                                    "--type",
                                    "bf16",
                                    "--ranks",
                                    "2,4",
                                    "--placement",
                                    "nearest",
                                    "--compute",
                                    "calibrated:3.25",
                                    "--optimizer",
                                    "on",
                                    "--accumulate",
                                    "1,4",
                                    "--comm-priority",
                                    "0,2",
                                    "--found-inf",
                                    "on",
                                    "--bucket",
                                    "1536,25M",
                                    "--bucket-view",
                                    "--compress",
                                    "bf16",
                                    "--reshard",
                                    "off",
                                    "--prefetch",
                                    "2",
                                    "--tensor",
                                    "2",
                                    "--sequence-parallel",
                                    "--micro-batches",
                                    "8",
                                    "--pipeline-order",
                                    "gpipe",
                                    "--input-copy",
                                    "none,pinned:64M,pageable:1536K",
                                    "--sequence",
                                    "128",
                                    "--scaling",
                                    "weak"});
  for (const Option& one : workload_options(options.workload)) {
    CAPTURE(one.name);
    CHECK_FALSE(one.write().empty()); // none is forgotten here
  }

  RunOptions again;
  auto read = apply_plan_text(write_plan_file(options), "plan", again);

  CHECK((read ? "" : read.error().text()) == "");
  CHECK(again.workload == options.workload);
  CHECK(again.ranks == options.ranks);
}

TEST_CASE("a plan file takes numbers, arrays and truth values, and the command line wins") {
  RunOptions options = run_options({"--batch", "16"});
  auto read = apply_plan_text("workload = 'ddp'\nmodel = 'm.toml'\nbatch = [2, 4]\n"
                              "ranks = [1, 2]\nbucket_view = true\noptimizer = false\n",
                              "plan", options);

  REQUIRE(read.has_value());
  CHECK(options.workload.pattern == StepPattern::ddp);
  CHECK(options.workload.batches == std::vector<std::uint64_t>{16});
  CHECK(options.workload.rank_counts == std::vector<int>{1, 2});
  CHECK(options.ranks == 2); // as --ranks 1,2 means
  CHECK(options.workload.bucket_view == true);
  CHECK(options.workload.optimizer == false);
}

TEST_CASE("every combination of what was said is measured, on sub-sets of the ranks") {
  RunOptions options =
      run_options({"--workload", "ddp", "--model", "linear:64x2", "--batch", "2,4", "--bucket",
                   "1K,1M", "--comm-priority", "3", "--found-inf", "on"});
  auto measurement = make_measurement(options, four_ranks());

  REQUIRE(measurement.has_value());
  CHECK(measurement->steps.size() == 4);
  CHECK(measurement->steps[1].batch == 2);
  CHECK(measurement->steps[1].bucket_bytes == 1U << 20);
  CHECK(measurement->steps[1].priority == -3);
  CHECK(measurement->steps[1].found_inf);
  CHECK(measurement->rank_sets == std::vector<std::vector<int>>{{0}, {0, 1}, {0, 1, 2, 3}});
  CHECK_FALSE(measurement->memory_bytes.has_value());

  options.workload.rank_counts = std::vector<int>{3};
  CHECK(make_measurement(options, four_ranks())->rank_sets ==
        std::vector<std::vector<int>>{{0, 1, 2}});
  options.workload.rank_counts = std::vector<int>{8};
  auto too_many = make_measurement(options, four_ranks());
  REQUIRE_FALSE(too_many.has_value());
  CHECK(too_many.error().code == base::Errc::invalid_argument);
  CHECK_THAT(too_many.error().text(), ContainsSubstring("this run has 4 ranks") &&
                                          ContainsSubstring("start it with mpirun -np 8"));
  options.workload.rank_counts.reset();
  options.workload.model = "no-such-model";
  CHECK(make_measurement(options, four_ranks()).error().code == base::Errc::invalid_argument);
}

TEST_CASE("input copies are measured against none, whether that was said or not") {
  for (const char* text : {"pinned:64M,pageable:64M", "none,pinned:64M,pageable:64M"}) {
    RunOptions options =
        run_options({"--workload", "ddp", "--model", "linear:64x2", "--input-copy", text});
    auto measurement = make_measurement(options, four_ranks());

    REQUIRE(measurement.has_value());
    std::vector<std::string> copies;
    for (const StepRequest& step : measurement->steps)
      copies.push_back(input_copy_text(step.input_copy));
    CHECK(copies == std::vector<std::string>{"none", "pinned:64MiB", "pageable:64MiB"});
  }
  CHECK(refused({"--workload", "ddp", "--model", "linear:64x2", "--input-copy", "64M"}));
  CHECK_THAT(fault({"--input-copy", "pinned:64M"}),
             ContainsSubstring("--input-copy is for training steps"));
}

TEST_CASE("steps have defaults of their own, and no sweep unless one is asked for") {
  RunOptions options = run_options({"--workload", "ddp", "--model", "linear:64x2"});
  fill_defaults(options, "nvidia", {});

  CHECK(options.mode == model::TimingMode::steps);
  CHECK(options.warmups == 3);
  CHECK(options.iterations == 10);
  CHECK(options.batches == 5);
  CHECK(options.settings.empty());
  CHECK_FALSE(options.collectives.has_value());
  CHECK(check_workload(options).has_value());
}
