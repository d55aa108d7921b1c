// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/verdict/typical_scatter.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <cmath>

using namespace ncclprobe;
using namespace ncclprobe::analysis;

namespace {

SettingResult result_of(const std::string& setting, std::uint64_t bytes,
                        const std::vector<double>& log_times) {
  SettingResult result;
  result.setting = setting;
  result.is_default = setting == "default";
  result.label = support::make_cell("all_reduce", bytes).label;
  for (double log_time : log_times) {
    ProcessTime process;
    process.replicate = static_cast<int>(result.processes.size());
    process.time.over_batches_ns = summarise({std::exp(log_time)});
    result.processes.push_back(process);
  }
  return result;
}

const std::vector<double> k_quiet{5.0, 5.1, 5.2}, k_loud{5.0, 6.0, 7.0}; // variances 0.01 and 1

} // namespace

TEST_CASE("the typical scatter of a cell is the median over its settings") {
  std::vector<SettingResult> results{
      result_of("A=1", 1024, k_quiet), result_of("A=2", 1024, k_loud),
      result_of("A=3", 1024, k_quiet), result_of("A=3", 2048, k_loud)};

  auto scatter = TypicalScatter(results).in_cell_of(results[1]);

  REQUIRE(scatter);
  CHECK(scatter->variance == Approx(0.01));
  CHECK(scatter->degrees_of_freedom == 6);
}

TEST_CASE("the default's two arms count as two settings") {
  // Even replicates are quiet, odd ones too, but they lie far apart.
  std::vector<SettingResult> results{result_of("default", 1024, {5.0, 9.0, 5.1, 9.1, 5.2, 9.2}),
                                     result_of("A=1", 1024, k_loud)};

  auto scatter = TypicalScatter(results).in_cell_of(results[0]);

  REQUIRE(scatter);
  CHECK(scatter->variance == Approx(0.01));
}

TEST_CASE("the typical scatter of a size class is that of one setting, and not of other sizes") {
  std::vector<SettingResult> results{result_of("A=1", 1024, k_loud), result_of("A=1", 2048, k_loud),
                                     result_of("A=1", 4096, k_quiet),
                                     result_of("A=2", 1024, k_quiet),
                                     result_of("A=1", std::uint64_t{64} << 20, k_quiet)};

  auto scatter = TypicalScatter(results).in_size_class_of(results[2]);

  REQUIRE(scatter);
  CHECK(scatter->variance == Approx(1));
  CHECK(scatter->degrees_of_freedom == 6);
}

TEST_CASE("wrong data and single processes tell no scatter") {
  std::vector<SettingResult> results{result_of("A=1", 1024, k_loud), result_of("A=2", 1024, {5.0})};
  results[0].data = DataState::wrong;

  CHECK_FALSE(TypicalScatter(results).in_cell_of(results[0]));
}
