// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "patient.h"

#include "analysis/doctor/diagnosis.h"
#include "analysis/doctor/doctor_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

#include <nlohmann/json.hpp>

#include <map>

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;
using test_doctor::healthy_case;

namespace {

Case ill_case() {
  Case one = healthy_case();
  one.surveys[1].process.environment = {{"NCCL_P2P_DISABEL", "1"}};
  one.surveys[0].health[1].remap_pending = true;
  one.surveys[0].health[1].active_nvlinks = 17;
  one.surveys[0].host->shared_memory = {64 << 20, 60 << 20, {}};
  one.smoke_tests[0].outcome = {
      model::OutcomeKind::timed_out, "no answer for 30 s in launch 0", {1}};
  one.smoke_tests[0].cells[0].outcome = one.smoke_tests[0].outcome;
  one.smoke_tests[0].last_words = {
      "rank 1 on node01: NCCL WARN something\nNCCL WARN and more of it"};
  return one;
}

std::string text_of(const Case& one) {
  return analysis::write_text(doctor_report(one, examine(one)));
}

std::string json_of(const Case& one) {
  return analysis::written(doctor_report(one, examine(one)), analysis::Format::json);
}

} // namespace

TEST_CASE("the text of a healthy and of an ill machine") {
  support::check_golden("doctor-healthy.txt", text_of(healthy_case()));
  support::check_golden("doctor-ill.txt", text_of(ill_case()));
  support::check_golden("doctor-cpu.txt", text_of(test_doctor::healthy_cpu_case()));
}

TEST_CASE("the JSON of examinations has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("status", CheckStatus{});
  schema.add_names("answer", Step::Answer{});
  schema.add_names("overall", Diagnosis::Overall{});
  for (const Case& one : {ill_case(), test_doctor::healthy_cpu_case()})
    schema.add(json_of(one));
  schema.add_all<Case>("case");
  schema.add_all<Diagnosis>("diagnosis");
  schema.add_all<std::optional<Cause>>("findings/*/follows_from");

  support::check_document("docs/schemas/doctor.json",
                          schema.text("ncclprobe doctor --format json"));
}

TEST_CASE("the JSON of an ill machine names what is wrong by id, and what it follows from") {
  auto json = nlohmann::json::parse(json_of(ill_case()));

  CHECK(json["worst"] == "fail");
  CHECK(json["counts"]["fail"] == 2);
  CHECK(json["counts"]["warn"] == 3);
  CHECK(json["chain"][0]["part"] == "driver");
  CHECK(json["chain"][0]["ranks"] == nlohmann::json{0, 1});
  std::map<std::string, nlohmann::json> findings; // that are bad
  for (const auto& finding : json["findings"])
    if (finding["status"] == "fail" || finding["status"] == "warn")
      findings[finding["id"]] = finding;
  CHECK(findings.size() == 5);
  CHECK(findings["D12"]["check"] == "topology"); // links that are down
  CHECK(findings["D12"]["kind"] == "nvlinks_down");
  CHECK(findings["D12"]["status"] == "fail");
  CHECK(findings["D12"]["hosts"] == nlohmann::json{"node01"});
  CHECK(findings["D27"]["check"] == "end_to_end");
  CHECK(findings["D27"]["ranks"] == nlohmann::json{1});
  CHECK(findings["D27"]["evidence"].size() == 3);
  REQUIRE(findings["D27"]["may_be_of"].size() == 1);
  for (const char* key : {"id", "kind", "what"})
    CHECK(findings["D27"]["may_be_of"][0][key] == findings["D12"][key]);
  CHECK(findings["D27"]["follows_from"].is_null());
  for (const char* id : {"D11", "D14", "D15"})
    CHECK(findings[id]["status"] == "warn");
}

TEST_CASE("the JSON is enough to come to the same verdicts") {
  std::string text = json_of(ill_case());

  auto again = read_case(text);

  REQUIRE(again);
  CHECK(json_of(*again) == text);
}

TEST_CASE("bytes that are no UTF-8 do not stop the JSON") {
  Case one = healthy_case();
  one.surveys[0].process.environment = {{"NCCL_DEBUG_FILE", "\xff\xfe"}};

  CHECK(nlohmann::json::accept(json_of(one)));
}

TEST_CASE("the text shows a few lines of evidence, the JSON all") {
  Case one = healthy_case();
  for (int i = 0; i < 40; ++i)
    one.surveys[0].host->pci.bridges.push_back({fmt::format("0000:{:02x}:00.0", i), true});

  std::string text = text_of(one);

  CHECK_THAT(text, ContainsSubstring("more (all in --format json)"));
  CHECK_THAT(text, !ContainsSubstring("0000:27:00.0"));
  CHECK_THAT(json_of(one), ContainsSubstring("0000:27:00.0"));
}

TEST_CASE("of many ranks the text shows the first few, each with its GPU") {
  Case one = healthy_case();
  CHECK_THAT(text_of(one), ContainsSubstring("     1  node01    1  0000:4b:00.0  GPU-1\n"));

  one.surveys[1].ranks.clear();
  for (int rank = 1; rank < 40; ++rank)
    one.surveys[1].ranks.push_back(rank);
  std::string text = text_of(one);

  CHECK_THAT(text, ContainsSubstring("     2  node01  none\n"));
  CHECK_THAT(text, ContainsSubstring("... 24 more (JSON has them)"));
}
