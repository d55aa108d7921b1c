// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/choice_for_all.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using analysis::tune::choice_for_all;
using search::Candidate;

namespace {

const Candidate k_default{0, 0}, k_settings{1, 0}, k_one{1, 1}, k_other{1, 2};

struct Case {
  const char* what;
  std::vector<double> weights;
  std::vector<std::optional<Candidate>> proven; // of each target
  Candidate settings;
  Candidate chosen;
};

} // namespace

TEST_CASE("one choice for all targets goes by their weight") {
  const std::vector<Case> cases{
      {"nothing is proven", {1, 1}, {{}, {}}, k_default, k_default},
      {"only the settings are proven", {1, 1}, {{}, {}}, k_settings, k_settings},
      {"all targets have the same", {1, 1}, {k_one, k_one}, k_default, k_one},
      {"a step, and its collectives with next to no weight",
       {1, 1e-4, 1e-4, 1e-4},
       {{}, k_one, k_one, k_one},
       k_default,
       k_default},
      {"the step's own", {1, 1e-4, 1e-4}, {k_other, k_one, k_one}, k_settings, k_other},
      {"the heavier of two", {1, 3}, {k_one, k_other}, k_settings, k_other},
      {"equal weights: before the settings", {1, 1}, {k_one, {}}, k_settings, k_one},
      {"most weight has no own choice", {1, 1, 1}, {k_one, {}, {}}, k_settings, k_settings}};
  for (const Case& one : cases) {
    INFO(one.what);
    search::Space space;
    search::Outcome outcome;
    outcome.settings.candidate = one.settings;
    for (std::size_t i = 0; i < one.weights.size(); ++i) {
      space.targets.push_back({.name = "", .weight = one.weights[i]});
      outcome.table.push_back(
          {.candidate = one.proven[i].value_or(one.settings), .proven = one.proven[i].has_value()});
    }
    CHECK(choice_for_all(space, outcome) == one.chosen);
  }
}
