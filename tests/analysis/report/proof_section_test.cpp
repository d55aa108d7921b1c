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
  const auto json = nlohmann::ordered_json::parse(written(proof_report(proof_run()), Format::json));
  support::check_golden("report-proof.json", json["proof"].dump(2) + "\n");
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
