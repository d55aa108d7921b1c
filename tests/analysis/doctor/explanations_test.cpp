// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Causes and consequences among findings, and the examination's conclusion.
#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "analysis/doctor/explanations.h"
#include "model/cell_label.h"
#include "support/catch.h"

#include <algorithm>
#include <functional>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using model::OutcomeKind;
using test_doctor::healthy_case;
using test_doctor::joined_case;

namespace {

SmokeTestCell copy(int from, int to, const model::Outcome& outcome) {
  SmokeTestCell cell;
  model::P2pLabel label;
  label.transfers = {{{false, from}, {false, to}}};
  cell.label = {.what = label, .bytes = 4 << 20, .type = model::DataType::u64};
  cell.outcome = outcome;
  return cell;
}

// The all-reduce and the copies end like this before their first cell, as a failed start does.
void stop_before_everything(Case& one, const std::string& words) {
  const model::Outcome failed{OutcomeKind::failed, "rank 0 while connecting: " + words, {0}};
  SmokeTest& collective = one.smoke_tests[0];
  collective.outcome = failed;
  for (SmokeTestCell& cell : collective.cells)
    cell.outcome = failed;
  SmokeTest copies;
  copies.name = k_copies;
  copies.backend = "nvidia";
  copies.ranks = 2;
  copies.outcome = failed;
  copies.cells = {copy(0, 1, failed), copy(1, 0, failed)};
  one.smoke_tests.push_back(copies);
}

void hang(Case& one) {
  one.smoke_tests[0].outcome = {OutcomeKind::timed_out, "no answer for 30 s in launch 0", {1}};
  one.smoke_tests[0].cells[0].outcome = one.smoke_tests[0].outcome;
  for (std::size_t i = 1; i < one.smoke_tests[0].cells.size(); ++i)
    one.smoke_tests[0].cells[i].outcome = {
        OutcomeKind::not_run, "an earlier cell ended the trial", {}};
}

void set_variable(Case& one, const model::Setting& setting) {
  for (model::Survey& survey : one.surveys)
    survey.process.environment = {setting};
}

CheckResult of(const std::vector<CheckResult>& all, const std::string& id) {
  auto found = std::find_if(all.begin(), all.end(), [&](const CheckResult& one) {
    return one.id == id && (one.symptom != Symptom::none || one.status >= CheckStatus::warn);
  });
  return found == all.end() ? CheckResult{} : *found;
}

// Of the question that this check answers.
Step::Answer answer(const Diagnosis& diagnosis, const std::string& check) {
  for (const Step& step : diagnosis.steps)
    if (std::ranges::count(step.checks, check) > 0)
      return step.answer;
  FAIL("no such question");
  return Step::Answer::not_asked;
}

// The id of the cause that its evidence names; empty: none.
std::string cause(const CheckResult& finding) {
  return finding.follows_from ? finding.follows_from->id : "";
}

using Checks = std::vector<std::string>;

} // namespace

TEST_CASE("a variable that NCCL refuses explains what fails, and the hardware is not blamed") {
  Case one = healthy_case();
  set_variable(one, {"NCCL_ALGO", "Rng"});
  stop_before_everything(
      one, "ncclCommInitRank: invalid usage (Unrecognized element token \"Rng\" when parsing "
           "\"Rng\")");

  auto all = examine(one);
  Diagnosis diagnosis = diagnose(one, all);

  CHECK(all.front().id == "D14");
  CHECK(cause(of(all, "D27")) == "D14");
  CHECK(of(all, "D36").status == CheckStatus::unknown);
  CHECK(cause(of(all, "D36")) == "D14");
  CHECK(answer(diagnosis, "D09") == Step::Answer::yes);
  CHECK(answer(diagnosis, "D14") == Step::Answer::no);
  CHECK(diagnosis.root == "D14");
  CHECK_THAT(diagnosis.conclusion, ContainsSubstring("export NCCL_ALGO=Ring, or unset NCCL_ALGO"));
  for (const CheckResult& finding : all)
    if (finding.status == CheckStatus::fail)
      for (const std::string& text : {finding.what.text, finding.fix.text, finding.cost.text}) {
        INFO(finding.id << " " << text);
        CHECK(text.find("ACS") == std::string::npos);
        CHECK(text.find("IOMMU") == std::string::npos);
      }
}

TEST_CASE("a start that fails for a reason of its own is the root, and copies follow from it") {
  Case one = healthy_case();
  stop_before_everything(one, "ncclCommInitRank: internal error (words that nobody knows)");

  auto all = examine(one);

  CHECK_FALSE(of(all, "D27").follows_from);
  CHECK(cause(of(all, "D36")) == "D27");
  CHECK(of(all, "D36").status == CheckStatus::unknown);
  CHECK(diagnose(one, all).root == "D27");
}

TEST_CASE("a refused variable is no explanation of what fails with other words") {
  Case one = healthy_case();
  set_variable(one, {"NCCL_ALGO", "Rng"});
  hang(one);

  auto all = examine(one);

  CHECK_FALSE(of(all, "D27").follows_from);
  REQUIRE(of(all, "D27").may_be_of.size() == 1);
  CHECK(of(all, "D27").may_be_of[0].id == "D14");
  CHECK(diagnose(one, all).root == "D14");
  CHECK(diagnose(one, all).may_follow == Checks{"D27"});
}

TEST_CASE("ACS that is really on may explain wrong data, and is said to be no more than that") {
  Case one = healthy_case();
  one.surveys[0].host->pci.bridges = {{"0000:3a:00.0", true}};
  const model::Outcome wrong{OutcomeKind::wrong_data, "element 5: 3 instead of 2", {0}};
  SmokeTest copies;
  copies.name = k_copies;
  copies.backend = "nvidia";
  copies.outcome = wrong;
  copies.cells = {copy(0, 1, {}), copy(1, 0, wrong)};
  copies.cells[1].first_wrong = "element 5: 3 instead of 2";
  one.smoke_tests.push_back(copies);

  auto all = examine(one);

  CheckResult found = of(all, "D36");
  CHECK_FALSE(found.follows_from);
  REQUIRE(found.may_be_of.size() == 1);
  CHECK(found.may_be_of[0].id == "D13");
  CHECK(diagnose(one, all).root == "D36");
  CHECK_THAT(diagnose(one, all).conclusion, ContainsSubstring("possibly caused by D13"));
}

TEST_CASE("links that are really down are named, and may explain a hang") {
  Case one = healthy_case();
  one.surveys[0].health[1].active_nvlinks = 17;
  hang(one);

  auto all = examine(one);

  CHECK_FALSE(of(all, "D27").follows_from);
  REQUIRE(of(all, "D27").may_be_of.size() == 1);
  CHECK(of(all, "D27").may_be_of[0].id == "D12");
  CHECK(of(all, "D12").what.kind == "nvlinks_down");
  CHECK(diagnose(one, all).root == "D12");
}

TEST_CASE("failures that nothing ties together are both named") {
  Case one = healthy_case();
  one.surveys[0].health[1].remap_failed = true;
  set_variable(one, {"NCCL_PROTO", "LL129"});
  stop_before_everything(one, "(Unrecognized element token \"LL129\" when parsing \"LL129\")");

  auto all = examine(one);

  CHECK(cause(of(all, "D27")) == "D14");
  CHECK(diagnose(one, all).root == "D11");
  CHECK(diagnose(one, all).unrelated == Checks{"D14"});
}

TEST_CASE("words of the libraries lead to the finding that they are of, and to no other") {
  struct Example {
    const char* id;
    const char* words;
    std::function<void(Case&)> make;
  };
  const Example k_examples[] = {
      {"D04", "CUDA driver version is insufficient for CUDA runtime version",
       [](Case& one) {
         for (model::Survey& survey : one.surveys)
           survey.inventory.libraries[0].version = "470.129.06 (CUDA 11.4)";
         one.surveys[0].host->driver.module_version = "470.129.06";
         one.surveys[0].host->driver.fabric_manager_version = "470.129.06";
       }},
      {"D09", "CUDA error 802: system not yet initialized",
       [](Case& one) {
         one.surveys[0].host->driver.services = {"nvidia-persistenced"};
         for (model::GpuHealth& gpu : one.surveys[0].health)
           gpu.fabric_state = "in_progress";
       }},
      {"D15",
       "unhandled system error (Error while creating shared memory segment: No space left on "
       "device)",
       [](Case& one) {
         one.surveys[0].host->shared_memory = {std::uint64_t{8} << 30, 1 << 20, {}};
       }},
      {"D18", "Bootstrap : no socket interface found",
       [](Case& one) {
         set_variable(one, {"NCCL_SOCKET_IFNAME", "ib7"});
       }},
      {"D20", "CUDA error 2: out of memory",
       [](Case& one) {
         for (model::Survey& survey : one.surveys)
           for (model::CudaDevice& gpu : survey.inventory.gpus)
             gpu.free_bytes = 10 << 20;
       }},
      {"D14", "Failed to initialize any NET plugin",
       [](Case& one) {
         set_variable(one, {"NCCL_NET", "Sockets"});
       }},
  };
  for (const Example& example : k_examples) {
    INFO(example.id);
    Case one = healthy_case();
    example.make(one);
    stop_before_everything(one, example.words);
    auto all = examine(one);
    CHECK(cause(of(all, "D27")) == example.id);

    Case other = healthy_case();
    example.make(other);
    stop_before_everything(other, "words of something else");
    CHECK_FALSE(of(examine(other), "D27").follows_from);
  }
}

TEST_CASE("of a check's findings only the one that the words are about is the cause") {
  Case one = healthy_case();
  one.surveys[0].health[0].ecc_on = true;
  one.surveys[0].health[0].ecc_on_after_reset = false;
  stop_before_everything(one, "CUDA error 214: uncorrectable ECC error encountered");
  REQUIRE(of(examine(one), "D11").what.kind == "ecc_changes");
  CHECK_FALSE(of(examine(one), "D27").follows_from);

  one.surveys[0].health[0].uncorrected_since_reset = 3;
  CHECK(of(examine(one), "D27").follows_from == as_cause(of(examine(one), "D11")));
  CHECK(of(examine(one), "D11").what.kind == "uncorrected_errors");
}

TEST_CASE("a detour follows from the variable that forbids the direct way, where one does") {
  Case plain = joined_case("SHM/direct/direct");
  CHECK(of(examine(plain), "D12").symptom == Symptom::detour);
  CHECK_FALSE(of(examine(plain), "D12").follows_from);

  Case forbidden = joined_case("SHM/direct/direct");
  set_variable(forbidden, {"NCCL_P2P_DISABLE", "1"});
  const CheckResult detour = of(examine(forbidden), "D12");
  REQUIRE(detour.follows_from);
  CHECK(in_words(*detour.follows_from) == "D14: NCCL_P2P_DISABLE=1 is set");

  Case beside_it = joined_case("SHM/direct/direct");
  set_variable(beside_it, {"NCCL_LAUNCH_MODE", "GROUP"});
  CHECK_FALSE(of(examine(beside_it), "D12").follows_from);
}

TEST_CASE("no check calls a cause what only failed: without a cause in sight none is named") {
  Case one = healthy_case();
  hang(one);
  auto all = examine(one);

  CHECK_FALSE(of(all, "D27").follows_from);
  CHECK(of(all, "D27").may_be_of.empty());
  CHECK(diagnose(one, all).root == "D27");
}
