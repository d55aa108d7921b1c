// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/gate.h"
#include "analysis/compare/run_facts.h"
#include "analysis/steps/step_results.h"

#include <cstdlib>

// As not_reached_options.cpp, for baselines.
namespace ncclprobe::analysis {

std::vector<compare::Suspect> compare::suspects(const FactsOfRuns&, const FactsOfRuns&, bool) {
  std::abort();
}

std::vector<compare::Suspect> compare::suspects(const std::vector<RunFact>&,
                                                const std::vector<RunFact>&) {
  std::abort();
}

const std::vector<compare::FactKind>& compare::guarded_facts() {
  std::abort();
}

std::string steps::describe_step(const model::StepLabel&) {
  std::abort();
}

} // namespace ncclprobe::analysis
