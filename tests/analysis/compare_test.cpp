// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare.h"
#include "analysis/run_builder.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;

namespace {

// One rank, so that times are exact: default processes, then those of NCCL_ALGO=Tree.
std::vector<SettingResult> results_of(const std::vector<std::int64_t>& default_ns,
                                      const std::vector<std::int64_t>& tree_ns) {
  model::Run run = make_gpu_run(1);
  auto add = [&](std::vector<model::Setting> settings, std::int64_t time_ns) {
    int id = static_cast<int>(run.trials.size());
    auto trial =
        make_trial({.id = id, .settings = std::move(settings), .replicate = id, .ranks = 1});
    add_cell(trial, make_cell("broadcast", 1000), make_record(1, time_ns));
    run.trials.push_back(trial);
  };
  for (std::int64_t time_ns : default_ns)
    add({}, time_ns);
  for (std::int64_t time_ns : tree_ns)
    add({{"NCCL_ALGO", "Tree"}}, time_ns);
  return setting_results(run);
}

} // namespace

TEST_CASE("the speed ratio is the default's time over the setting's, with the extremes' range") {
  auto results = results_of({100, 110, 90}, {50, 40, 55});

  auto comparison = compare(results[1], results);

  REQUIRE(comparison.has_value());
  CHECK(comparison->speed_ratio == Approx(2.0));
  CHECK(comparison->lowest_ratio == Approx(90.0 / 55));
  CHECK(comparison->highest_ratio == Approx(110.0 / 40));
  CHECK_FALSE(comparison->within_spread);
}

TEST_CASE("a setting inside the default's own spread is marked as such") {
  auto results = results_of({100, 120, 90}, {118});

  CHECK(compare(results[1], results)->within_spread);
}

TEST_CASE("the default inside the setting's own spread is marked as such") {
  auto results = results_of({100, 101, 99}, {40, 250, 260});

  CHECK(compare(results[1], results)->within_spread);
}

TEST_CASE("spreads that only overlap are no difference, those that lie apart are one") {
  auto overlapping = results_of({90, 100, 110}, {108, 130, 150});
  auto apart = results_of({90, 100, 110}, {111, 130, 150});

  CHECK(compare(overlapping[1], overlapping)->within_spread);
  CHECK_FALSE(compare(apart[1], apart)->within_spread);
}

TEST_CASE("the default is not compared with itself") {
  auto results = results_of({100, 110}, {50});

  CHECK_FALSE(compare(results[0], results).has_value());
}

TEST_CASE("without a result of the default there is nothing to compare") {
  auto results = results_of({}, {50, 60});

  REQUIRE(results.size() == 1);
  CHECK_FALSE(compare(results[0], results).has_value());
}

TEST_CASE("wrong data is never compared, on either side") {
  auto results = results_of({100}, {50});
  results[1].data = DataState::wrong;
  CHECK_FALSE(compare(results[1], results).has_value());

  results[1].data = DataState::checked;
  results[0].data = DataState::wrong;
  CHECK_FALSE(compare(results[1], results).has_value());
}

TEST_CASE("a family is everything but the size") {
  auto results = results_of({100}, {50});
  SettingResult other = results[1];
  other.label.bytes = 8;
  CHECK(same_family(results[0], other));

  other.label.placement = model::Placement::in_place;
  CHECK_FALSE(same_family(results[0], other));
}
