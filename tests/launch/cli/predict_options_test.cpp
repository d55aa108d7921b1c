// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/parsed.h"
#include "launch/cli/predict/predict_command.h"
#include "support/catch.h"

#include <cmath>

using namespace ncclprobe;
using namespace ncclprobe::cli;

namespace {

PredictOptions parse(const std::vector<std::string>& arguments) {
  return cli_test::parsed(predict_usage, arguments);
}

} // namespace

TEST_CASE("predict takes ranks and what is between nodes") {
  auto parsed = parse(
      {"run.h5", "--model", "llama2-7b", "--ranks", "16,64,512", "--inter-node", "50GB/s,5us"});

  const auto& request = parsed.request;
  CHECK(request.ranks == std::vector{16, 64, 512});
  CHECK(request.model == "llama2-7b");
  CHECK(request.inter_node->worst.bytes_per_ns == 50);
  CHECK(request.inter_node->middle().latency_ns == 5000);
  CHECK(parse_inter_node("400Gbit/s,2.5us")->best.bytes_per_ns == 50);
  auto range = parse_inter_node("40-50GB/s,4-6us");
  REQUIRE(range.has_value());
  CHECK(range->worst.bytes_per_ns == 40);
  CHECK(range->worst.latency_ns == 6000);
  CHECK(range->best.bytes_per_ns == 50);
  CHECK(range->best.latency_ns == 4000);
  CHECK(range->middle().bytes_per_ns == 45);
}

TEST_CASE("predict takes times with their units, and milliseconds without one") {
  auto parsed = parse({"run.h5", "--model", "m", "--ranks", "8", "--forward", "10.2ms",
                       "--backward", "20400us", "--optimizer", "1.5"});

  const auto& compute = parsed.request.compute;
  CHECK(compute->forward_ns.middle() == Approx(10.2e6));
  CHECK(compute->backward_ns.middle() == Approx(20.4e6));
  CHECK(compute->optimizer_ns.middle() == Approx(1.5e6));
  CHECK(compute->half_width() == 0);
}

TEST_CASE("predict takes times and rates between two figures") {
  auto parsed = parse({"run.h5", "--model", "m", "--ranks", "8", "--forward", "300-330ms",
                       "--backward", "600-660ms"});

  const auto& compute = parsed.request.compute;
  CHECK(compute->forward_ns.low == Approx(300e6));
  CHECK(compute->forward_ns.high == Approx(330e6));
  CHECK(compute->half_width() == Approx(std::log(1.1) / 2));
  CHECK(compute->source == "as stated, 300 to 330 ms forward and 600 to 660 ms backward");
  CHECK(parse_flops("350-450")->low == Approx(350e12));
  CHECK(parse_flops("350-450")->high == Approx(450e12));
}

TEST_CASE("predict knows steps by the options that measure them") {
  auto parsed = parse({"run.h5", "--workload", "fsdp+tp", "--tensor", "4", "--batch", "16",
                       "--type", "fp16", "--found-inf", "on", "--ranks", "8", "--tflops",
                       "0.4Pflop/s", "--also", "more.h5", "--also", "third.h5"});

  const auto& options = parsed;
  workload::StepRequest step;
  options.request.say(step);
  CHECK(step.pattern == model::StepPattern::fsdp_tp);
  CHECK(step.tensor == 4);
  CHECK(step.batch == 16);
  CHECK(step.found_inf);
  CHECK(step.type == model::StepType::f16);
  CHECK(step.prefetch == workload::StepRequest{}.prefetch);
  CHECK(options.request.flops_per_s->middle() == Approx(4e14));
  CHECK(options.also.size() == 2);
}

TEST_CASE("predict refuses what it cannot use") {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--inter-node", "50"},
                                             {"--inter-node", "50GB/s,5"},
                                             {"--inter-node", "50-40GB/s,5us"},
                                             {"--batch", "8,16"},
                                             {"--ranks", "1"},
                                             {"--forward", "10"},
                                             {"--forward", "10 miles", "--backward", "20"},
                                             {"--tflops", "400"},
                                             {"--bucket", "x"}}) {
    std::vector<std::string> arguments{"run.h5", "--model", "m"};
    if (more.front() != "--ranks")
      arguments.insert(arguments.end(), {"--ranks", "8"});
    arguments.insert(arguments.end(), more.begin(), more.end());

    CHECK_THAT(cli_test::refusal(predict_usage, arguments), ContainsSubstring(more.front()));
  }
}
