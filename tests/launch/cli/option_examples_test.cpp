// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What holds for every option of every command.
#include "launch/cli/claim/claim_command.h"
#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/export/export_command.h"
#include "launch/cli/job/run_options.h"
#include "launch/cli/models/models_command.h"
#include "launch/cli/p2p/p2p_command.h"
#include "launch/cli/plan/plan_command.h"
#include "launch/cli/predict/predict_command.h"
#include "launch/cli/record/record_command.h"
#include "launch/cli/report/report_command.h"
#include "launch/cli/topo/topo_command.h"
#include "support/catch.h"

#include <set>

using namespace ncclprobe::cli;

namespace {

template <typename Bound>
void check_examples(Usage (*usage)(Bound&)) {
  Bound first, second;
  const Usage of_first = usage(first), of_second = usage(second);
  CAPTURE(of_first.name);
  for (std::size_t i = 0; i < of_first.options.size(); ++i) {
    const Option& option = of_first.options[i];
    CAPTURE(option.label());
    const auto read = option.read(option.is_flag() ? "on" : option.example);
    INFO((read ? "" : read.error().text()));
    REQUIRE(read.has_value());
    const auto texts = option.write();
    REQUIRE_FALSE(texts.empty());
    for (const std::string& text : texts)
      REQUIRE(of_second.options[i].read(text).has_value());
    CHECK(of_second.options[i].write() == texts);
  }
}

} // namespace

TEST_CASE("every option takes its example, and reads what it writes") {
  check_examples(run_usage);
  check_examples(plan_usage);
  check_examples(p2p_usage);
  check_examples(topo_usage);
  check_examples(doctor_usage);
  check_examples(models_usage);
  check_examples(record_usage);
  check_examples(report_usage);
  check_examples(predict_usage);
  check_examples(claim_usage);
  check_examples(export_usage);
}

TEST_CASE("no two options of a command have the same name, and those that they name exist") {
  RunOptions options;
  const Usage usage = run_usage(options);
  std::set<std::string> names;
  for (const Option& option : usage.options) {
    CAPTURE(option.name);
    CHECK(names.insert(option.label()).second);
    CHECK((option.also.empty() || names.insert(option.also).second));
    for (const auto& others : {option.needs, option.excludes})
      for (const std::string& other : others)
        CHECK(find_option(usage.options, other) != nullptr);
  }
}

TEST_CASE("defaults are those of the default job") {
  RunOptions options;
  const Usage usage = run_usage(options);
  CHECK(find_option(usage.options, "warmups")->initial == "5");
  CHECK(find_option(usage.options, "repeat")->initial == "5");
  CHECK(find_option(usage.options, "cell-timeout")->initial == "30s");
  CHECK(find_option(usage.options, "collectives")->initial ==
        "all_reduce,all_gather,reduce_scatter");
  CHECK(find_option(usage.options, "batch")->initial == "8");
}
