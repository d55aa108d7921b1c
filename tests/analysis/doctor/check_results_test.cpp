// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "support/catch.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::healthy_case;
using test_doctor::healthy_cpu_case;

TEST_CASE("nothing is wrong with a healthy machine, with and without GPUs") {
  for (const Case& one : {healthy_case(), healthy_cpu_case()})
    for (const CheckResult& finding : examine(one)) {
      INFO(finding.id << " " << finding.what.text);
      CHECK(finding.status <= CheckStatus::info);
    }
}

TEST_CASE("every check has a name, and every finding's check is known") {
  for (std::string_view id : check_ids())
    CHECK_FALSE(check_name(id).empty());
  for (const CheckResult& finding : examine(healthy_case()))
    CHECK_FALSE(check_name(finding.id).empty());
}

TEST_CASE("findings come worst first, each with what it costs and a fix if it is bad") {
  Case one = healthy_case();
  one.surveys[0].process.environment = {{"NCCL_P2P_DISABLE", "1"}};
  one.surveys[0].health[1].remap_failed = true;
  one.surveys[0].host->shared_memory.reset();

  auto findings = examine(one);

  CHECK(std::is_sorted(findings.begin(), findings.end(),
                       [](const auto& a, const auto& b) { return a.status > b.status; }));
  for (const CheckResult& finding : findings)
    if (finding.status >= CheckStatus::warn) {
      INFO(finding.id << " " << finding.what.text);
      CHECK_FALSE(finding.cost.text.empty());
      CHECK_FALSE(finding.fix.text.empty());
      CHECK_FALSE(finding.evidence.empty());
    }
}

TEST_CASE("the same finding of several ranks is one that names them all") {
  Case one = healthy_case();
  for (model::Survey& survey : one.surveys)
    survey.process.environment = {{"NCCL_P2P_DISABLE", "1"}};

  auto findings = test_doctor::found(one, "D14");

  REQUIRE(findings.size() == 1);
  CHECK(findings[0].ranks == std::vector<int>{0, 1});
  CHECK(findings[0].hosts == std::vector<std::string>{"node01"});
}

TEST_CASE("a case survives being written and read") {
  Case one = healthy_case();
  one.connections = {{0, 1, "192.0.2.3", "refused"}};
  one.smoke_tests[0].cells[0].conditions = {{1, model::Condition::When::during, 5, 1980}};
  one.smoke_tests[0].cells[0].busbw_gb_per_s = 370.5;
  one.smoke_tests[0].networks = {{{0, 1}, "Socket", {"eth0"}, {"Using network Socket"}}};
  one.smoke_tests[0].communicators = {{1, 1 << 20}};
  one.under_load = {one.surveys[0]};
  one.code = {{"/usr/lib/libnccl.so.2", {"sm_90"}, {}, "13.0"}};
  one.smoke_tests[0].algorithms = {{"AllReduce", 8 << 20, "NVLS", "SIMPLE", 16}};
  one.surveys[0].host->pci.device_groups = {{"DMA-FQ", {"0000:3b:00.0"}}};
  one.surveys[1].worker_problem = "the survey worker ended with exit 1";
  one.surveys[1].worker_mismatch = true;

  auto again = read_case(write_case(one));

  REQUIRE(again);
  CHECK(*again == one);
}

TEST_CASE("what is no case is refused with a reason") {
  for (const char* text : {"", "{", "[]", "{}", R"({"surveys": 3})", R"({"surveys": [{}]})",
                           R"({"case": {"surveys": [{"inventory": 1}]}})", "null"}) {
    auto read = read_case(text);
    INFO(text);
    REQUIRE(!read);
    CHECK_FALSE(read.error().message.empty());
    CHECK_THAT(read.error().message, !ContainsSubstring("json.exception"));
  }
}

TEST_CASE("the tree stops at the first question that is answered with no") {
  Case one = healthy_case();
  one.surveys[0].inventory.libraries[0].version = "470.129.06 (CUDA 11.4)";
  one.surveys[1].inventory.libraries[0].version = "470.129.06 (CUDA 11.4)";
  one.surveys[0].host->driver.module_version = "470.129.06";
  one.surveys[0].host->driver.fabric_manager_version = "470.129.06";

  Diagnosis diagnosis = diagnose(one, examine(one));

  REQUIRE(diagnosis.steps.size() == 9);
  CHECK(diagnosis.steps[1].answer == Step::Answer::yes);
  CHECK(diagnosis.steps[2].answer == Step::Answer::no);
  CHECK(diagnosis.steps[3].answer == Step::Answer::not_asked);
  CHECK(diagnosis.root == "D04");
}

TEST_CASE("the tree of a healthy machine ends with a collective that works") {
  Diagnosis diagnosis = diagnose(healthy_case(), examine(healthy_case()));

  for (const Step& step : diagnosis.steps)
    CHECK(step.answer == Step::Answer::yes);
  CHECK(diagnosis.overall == Diagnosis::Overall::works);
  CHECK_FALSE(diagnosis.root);
}

TEST_CASE("where two ranks and all did well, the tree names all, and neither is counted twice") {
  Case one = healthy_case();
  one.smoke_tests.insert(one.smoke_tests.begin(), one.smoke_tests.front());
  one.smoke_tests[0].name = "2 ranks";
  one.smoke_tests[1].ranks = 4;

  Diagnosis diagnosis = diagnose(one, examine(one));

  CHECK(diagnosis.steps.back().because == "a kernel and an all-reduce ran on all ranks (4 ranks)");
  CHECK(test_doctor::what(one, "D27").text == "a kernel and an all-reduce ran on 2 ranks");
}

TEST_CASE("without a GPU nothing says that a kernel ran") {
  Case one = healthy_cpu_case();
  Diagnosis diagnosis = diagnose(one, examine(one));

  CHECK(diagnosis.steps.back().question == "Does an all-reduce run, with correct data?");
  CHECK(diagnosis.steps.back().because == "an all-reduce ran without a GPU on all ranks (2 ranks)");
  for (const CheckResult& finding : examine(one))
    CHECK_THAT(finding.what.text, !ContainsSubstring("kernel"));
  one.smoke_tests.clear();
  CHECK(diagnose(one, examine(one)).steps.back().question ==
        "Does an all-reduce run, with correct data?");
}

TEST_CASE("a host without GPUs is not asked about its driver") {
  Diagnosis diagnosis = diagnose(healthy_cpu_case(), examine(healthy_cpu_case()));

  CHECK(diagnosis.steps[1].answer == Step::Answer::not_asked);
  CHECK(diagnosis.overall == Diagnosis::Overall::works_without_gpu);
}

TEST_CASE("without GPUs and without a run nothing was proved") {
  Case one = healthy_cpu_case();
  one.smoke_tests.clear();
  one.not_tested = "--no-run";
  CHECK(diagnose(one, examine(one)).overall == Diagnosis::Overall::not_tried);

  one.backend = "nvidia"; // asked for, and not to be had
  one.backend_reason.clear();
  one.not_tested = "no GPU";
  CHECK(test_doctor::worst(one, "D27") == CheckStatus::fail);
  CHECK(diagnose(one, examine(one)).root == "D27");
  CHECK(test_doctor::what(one, "D27").kind == "backend_unavailable");
}

TEST_CASE("the chain names each version with the ranks that have it") {
  Case one = healthy_case();
  one.surveys[1].inventory.libraries[2].version = "2.27.7";

  auto chain = software_chain(one);

  auto nccl = std::find_if(chain.begin(), chain.end(),
                           [](const ChainLink& link) { return link.part == "NCCL"; });
  REQUIRE(nccl != chain.end());
  CHECK(nccl->ranks == std::vector<int>{0});
  CHECK((nccl + 1)->version == "2.27.7");
  CHECK((nccl + 1)->ranks == std::vector<int>{1});
}
