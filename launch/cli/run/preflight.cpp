// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/preflight.h"

#include "analysis/doctor/check_results.h"
#include "base/stored_variables.h"

namespace ncclprobe::cli {

std::vector<analysis::doctor::CheckResult> preflight(const std::vector<model::HostInventory>& hosts,
                                                     const std::string& backend,
                                                     const World& world) {
  using namespace analysis::doctor;
  Case one;
  one.backend = backend;
  for (const model::HostInventory& host : hosts) {
    model::Survey& survey = one.surveys.emplace_back();
    survey.inventory = host;
    for (const auto& [name, value] : world.environment_by_name)
      if (model::bears_on_communication(name))
        survey.process.environment.push_back({name, base::stored_value(name, value)});
  }
  CheckResults findings;
  if (backend == "nvidia") {
    check_compatibility(one, findings);
    check_variables(one, findings);
  } else {
    check_variable_values(one, findings);
  }
  std::vector<CheckResult> grave = findings.take();
  std::erase_if(grave,
                [](const CheckResult& finding) { return finding.status < CheckStatus::warn; });
  return grave;
}

} // namespace ncclprobe::cli
