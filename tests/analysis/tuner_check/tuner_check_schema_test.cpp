// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What programs may rely on in the JSON of `tuner check`: docs/schemas.
#include "analysis/report_value/report_writers.h"
#include "analysis/tuner_check/tuner_check_report.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

TEST_CASE("the JSON of a checked table has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("state", RowState{});
  schema.add_names("collective", model::Collective{});
  schema.add_names("algorithm", tuning::Algorithm{});
  schema.add_names("protocol", tuning::Protocol{});
  tuning::TableFile file{{{},
                          {{.min_bytes = 1, .max_bytes = 8, .ranks = 2, .nodes = 1, .channels = 4},
                           {.min_bytes = 9,
                            .max_bytes = 9,
                            .ranks = 8,
                            .nodes = 1,
                            .domains = tuning::NvlinkDomains{},
                            .choice = tuning::Choice{}}}},
                         std::string(64, 'a')};
  RowEvidence evidence;
  auto add = [&] {
    schema.add(written(tuner_check_report("/t.csv", file, evidence,
                                          base::value_or_throw(check_rows(file, evidence))),
                       Format::json));
  };

  add();
  evidence.hits = {{file.sha256, 3, 1, {{7, 0}, {0, 4}}}};
  file.table.header = {.machine = "2 ranks", .gpu = "NVIDIA H200", .nccl = "2.30.7"};
  add();

  support::check_document("docs/schemas/tuner_check.json",
                          schema.text("ncclprobe tuner check TABLE --format json"));
}
