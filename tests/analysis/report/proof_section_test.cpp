// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof_runs.h"
#include "analysis/report/proof_section.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/run_builder.h"

#include <nlohmann/json.hpp>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

TEST_CASE("what the settings did reads as agreed") {
  support::check_golden("report-proof.txt", text_of(proof_report(proof_run())));
}

TEST_CASE("the JSON of proofs has what each setting's companion carried out, by cell and rank") {
  const auto proofs = json_of(proof_report(proof_run()), "proof");

  REQUIRE(proofs.size() == 4);
  const auto& reduced = proofs[0]["cells"][0]["ranks"][1]["used"];
  CHECK(reduced ==
        nlohmann::json::parse(R"([{"algorithm": "RING", "protocol": "LL", "channels": 4}])"));
  CHECK(proofs[0]["cells"][1]["ranks"][0]["used"][0]["algorithm"].is_null()); // a send has none
  CHECK(proofs[1]["changed_nothing"] == true);
  CHECK(proofs[1]["variables"][0]["effect"] == "took effect");
  CHECK(proofs[1]["variables"][0]["ranks"] == nlohmann::json{0, 1});
  CHECK(proofs[2]["changed_nothing"] == false);
  CHECK(proofs[2]["cells"][0]["as_default"] == false);
  CHECK(proofs[2]["cells"][1]["as_default"] == true);
  CHECK(proofs[3]["outcome"] == "crashed");
  CHECK(proofs[3]["variables"][0]["effect"] == "not known");
  CHECK(proofs[3]["cells"][0]["as_default"].is_null());
}

TEST_CASE("a run without companions says nothing of proofs") {
  CHECK(text_of(proof_report(RunBuilder(2))).empty());
  CHECK(render_report(RunBuilder(2), Format::json).find("\"proof\"") == std::string::npos);
}

TEST_CASE("a companion that failed is told once, and is no failed measurement") {
  std::string report = render_report(proof_run(), Format::table);
  CHECK_THAT(report, ContainsSubstring("Its companion trial 3 crashed: rank 1"));
  CHECK(report.find("Problems in") == std::string::npos);
}
