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

TEST_CASE("options that would change nothing are refused by name") {
  struct Example {
    std::vector<std::string> words;
    std::vector<std::string> named; // none: accepted
  };
  const Example k_examples[] = {
      // of steps and of collectives
      {{"--batch", "4"}, {"--batch"}},
      {{"--ranks", "1,2"}, {"--ranks"}},
      {{"--mode", "steps"}, {"--mode steps"}},
      {{"--input-copy", "pinned:64M"}, {"--input-copy"}},
      {{"--workload", "ddp"}, {"--model"}},
      {{"--workload", "ddp", "--model", "x", "--sizes", "1K"}, {"--sizes"}},
      {{"--workload", "ddp", "--model", "x", "--types", "f16"}, {"--type"}},
      {{"--workload", "ddp", "--model", "x", "--mode", "latency"}, {"--mode steps"}},
      {{"--workload", "ddp", "--model", "x", "--mode", "steps"}, {}},
      {{"--workload", "ddp", "--model", "x", "--graph", "--register"}, {}},
      {{"--workload", "ddp", "--model", "x", "--launch", "direct,graph"}, {}},
      // of another pattern
      {{"--workload", "fsdp", "--model", "x", "--compress", "bf16"}, {"--compress", "ddp+tp"}},
      {{"--workload", "ddp", "--model", "x", "--tensor", "2"}, {"--tensor", "fsdp+tp"}},
      {{"--workload", "ddp", "--model", "x", "--prefetch", "3"}, {"--prefetch", "fsdp"}},
      {{"--workload", "pipeline", "--model", "x", "--bucket", "4M"}, {"--bucket", "ddp"}},
      {{"--workload", "ddp", "--model", "x", "--micro-batches", "4"}, {"--micro-", "pipeline"}},
      {{"--workload", "fsdp+tp", "--model", "x", "--prefetch", "2", "--tensor", "2"}, {}},
      {{"--workload", "moe", "--model", "x", "--bucket", "4M"}, {}},
  };
  for (const auto& [words, named] : k_examples) {
    CAPTURE(words);
    CHECK(fault(words).empty() == named.empty());
    for (const std::string& name : named)
      CHECK_THAT(fault(words), ContainsSubstring(name));
  }
}

TEST_CASE("a plan file's options are held against those of the command line") {
  CHECK(refused({"--graph", "--launch", "direct"}));
  for (const auto& [words, plan, named] :
       {std::tuple<std::vector<std::string>, const char*, const char*>{
            {}, "graph = true\nlaunch = 'direct'\n", "--launch direct,graph"},
        {{"--model", "x"}, "workload = 'fsdp'\nbucket = '4M'\n", "--bucket"}}) {
    RunOptions options = run_options(words);
    REQUIRE(apply_plan_text(plan, "plan", options).has_value());
    CHECK_THAT(check_workload(options).error().text(), ContainsSubstring(named));
  }
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
  CHECK_THAT(too_many.error().text(), ContainsSubstring("-np 8"));
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
}

TEST_CASE("one rank talks to nobody: there is nothing to sweep") {
  for (const auto& [ranks, sweeps] : {std::pair{1, false}, {2, true}}) {
    RunOptions options;
    fill_defaults(options, "nvidia", {}, ranks);
    CHECK(options.settings.empty() != sweeps);
  }
}

TEST_CASE("steps have defaults of their own, and no sweep unless one is asked for") {
  RunOptions options = run_options({"--workload", "ddp", "--model", "linear:64x2"});
  fill_defaults(options, "nvidia", {}, 8);

  CHECK(options.mode == model::TimingMode::steps);
  CHECK(options.warmups == 3);
  CHECK(options.iterations == 10);
  CHECK(options.batches == 5);
  CHECK(options.settings.empty());
  CHECK_FALSE(options.collectives.has_value());
  CHECK(check_workload(options).has_value());
}
