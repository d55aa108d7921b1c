// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D07: ranks and their GPUs.
#include "patient.h"

#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::found;
using test_doctor::healthy_case;
using test_doctor::value;
using test_doctor::worst;

TEST_CASE("a rank that finds no GPU of its own is named") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.inventory.gpus.resize(1);

  auto findings = found(one, "D07");

  CHECK(findings.front().status == CheckStatus::fail);
  CHECK(findings.front().ranks == std::vector<int>{1});
}

TEST_CASE("ranks that see one GPU each, all different, are a matter of how ncclprobe deals") {
  Case one = healthy_case();
  for (std::size_t rank : {0U, 1U})
    one.surveys[rank].inventory.gpus = {one.surveys[rank].inventory.gpus[rank]};

  auto findings = found(one, "D07");

  REQUIRE(findings.size() == 1);
  CHECK(findings.front().status == CheckStatus::warn);
  CHECK(findings.front().what.kind == "one_gpu_each");
  CHECK(findings.front().ranks == std::vector<int>{1}); // rank 0 finds its own
  CHECK(findings.front().evidence ==
        std::vector<std::string>{"rank 0: GPU 0 of 1 0000:3b:00.0 GPU-0",
                                 "rank 1: GPU 0 of 1 0000:4b:00.0 GPU-1"});
}

TEST_CASE("pods on one node share its boot id, and each has its own GPUs") {
  Case one = healthy_case();
  for (std::size_t pod : {0U, 1U}) {
    one.surveys[pod].inventory.hostname = "pod-" + std::to_string(pod);
    one.surveys[pod].inventory.gpus = {one.surveys[pod].inventory.gpus[pod]};
  }

  auto findings = found(one, "D07");

  REQUIRE(!findings.empty());
  for (const CheckResult& finding : findings)
    CHECK(finding.what.kind == "own_gpu_each");
}

TEST_CASE("ranks that number their GPUs differently may be given one and the same") {
  Case one = healthy_case();
  std::swap(one.surveys[1].inventory.gpus[0], one.surveys[1].inventory.gpus[1]);

  CheckResult finding = found(one, "D07").front();

  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.what.kind == "gpu_shared_by_ranks");
}

TEST_CASE("GPUs enough that not every rank sees are no duplicates") {
  Case one = healthy_case();
  one.surveys[0].inventory.gpus.pop_back();
  one.surveys[1].inventory.gpus = {one.surveys[1].inventory.gpus[1]};
  one.surveys[1].ranks = {1, 2};
  for (int i = 2; i < 4; ++i)
    one.surveys[0].inventory.gpus.push_back(
        {i, "NVIDIA H200", "GPU-" + std::to_string(i), "0000:5b:00.0", "9.0"});

  CheckResult finding = found(one, "D07").front();

  CHECK(finding.status == CheckStatus::fail);
  CHECK(finding.ranks == std::vector<int>{1, 2});
  CHECK(value(finding.what, "gpus") == "4");
  CHECK(value(finding.what, "ranks") == "3");
  CHECK_THAT(finding.cost.text, !ContainsSubstring("Duplicate"));
}

TEST_CASE("ranks of one host that are shown different GPUs are a warning") {
  Case one = healthy_case();
  one.surveys[0].process.environment = {{"CUDA_VISIBLE_DEVICES", "0"}};
  one.surveys[1].process.environment = {{"CUDA_VISIBLE_DEVICES", "1"}};

  CHECK(worst(one, "D07") == CheckStatus::warn);
}
