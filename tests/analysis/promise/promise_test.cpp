// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/promise/promise.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

// Pairs of runs with these speeds; 0: no steps were found with the settings.
Verification verification(const std::vector<double>& speeds) {
  Verification all{.settings = "settings.sh", .promise = {1.2, {1.15, 1.25}}, .runs = {}};
  for (std::size_t i = 0; i < speeds.size(); ++i)
    for (const bool with_settings : {false, true}) {
      PromiseRun run{.pair = static_cast<int>(i + 1), .with_settings = with_settings};
      if (!with_settings)
        run.step_ns = 10e6;
      else if (speeds[i] > 0)
        run.step_ns = 10e6 / speeds[i];
      all.runs.push_back(run);
    }
  return all;
}

} // namespace

TEST_CASE("a promise is kept, broken or left open by the interval of the speed that was seen") {
  struct Row {
    std::vector<double> speeds;
    PromiseVerdict verdict;
    std::string_view id;
  };
  using enum PromiseVerdict;
  for (const Row& row :
       {Row{{1.19, 1.2, 1.21, 1.2}, kept, "kept"},
        Row{{1.49, 1.5, 1.51}, kept, "kept"}, // more than promised
        Row{{1.09, 1.1, 1.1, 1.11}, smaller, "smaller"},
        Row{{0.99, 1, 1, 1.01}, no_gain, "no_gain"}, Row{{0.89, 0.9, 0.9, 0.91}, slower, "slower"},
        Row{{0.8, 1.5, 1.1}, undecided, "undecided"}, Row{{1.2, 1.2}, too_few, "too_few"},
        Row{{1.2, 1.2, 0, 0}, too_few, "too_few"}}) {
    const Verification all = verification(row.speeds);
    CHECK(verdict_of(all) == row.verdict);
    const Report report = promise_report(all);
    REQUIRE(findings(report).size() == 1);
    CHECK(findings(report)[0]->kind->id == row.id);
    CHECK(!written(report, Format::table).empty());
    CHECK(speed_of(all).has_value() == (row.verdict != too_few));
  }
  CHECK(speed_of(verification({1.1, 1.21, 1.0}))->ratio == Approx(1.1));
}

TEST_CASE("a job that fails with the settings has no gain") {
  Verification all = verification({1.2, 1.2, 1.2});
  all.runs.back().failed = true;
  all.runs.back().problem = "the job ended with 3";
  CHECK(verdict_of(all) == PromiseVerdict::fails);
  all.runs.back().with_settings = false;
  CHECK(verdict_of(all) != PromiseVerdict::fails);
}

TEST_CASE("a promise is read from the head of the settings") {
  const auto promise =
      promise_of("# machine: 2 ranks on 1 host\n# gain: 1.204x the default's speed\n"
                 "# interval: 1.199 to 1.211\nexport NCCL_ALGO=Ring\n");
  REQUIRE(promise);
  CHECK(promise->speed == 1.204);
  CHECK(promise->interval.low == 1.199);
  CHECK(promise->interval.high == 1.211);
  for (const char* bad : {"", "export A=1\n", "# gain: 1.2x the default's speed\n",
                          "# gain: nothing\n# interval: 1 to 2\n",
                          "# gain: 1.2x the default's speed\n# interval: 2 to 1\n",
                          "export A='# gain: 1.2'\n# interval: 1 to 2\n"})
    CHECK(!promise_of(bad));
}

TEST_CASE("the JSON of record --verify has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("verdict", PromiseVerdict{});
  Verification failing = verification({1.2, 1.2, 0});
  failing.runs.back().failed = true;
  failing.runs.back().problem = "the job ended with 3";
  for (const Verification& all :
       {verification({1.2, 1.2, 1.21}), verification({1, 1, 1}), verification({1.2}), failing})
    schema.add(written(promise_report(all), Format::json));
  support::check_document("docs/schemas/verify.json", schema.text("ncclprobe record --verify"));
}
