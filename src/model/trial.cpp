// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/trial.h"

#include "base/hash.h"
#include "model/json.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::model {

std::string label_of(const std::vector<Setting>& settings) {
  std::string label;
  for (const Setting& setting : settings)
    label += (label.empty() ? "" : " ") + setting.name + "=" + setting.value;
  return label.empty() ? "default" : label;
}

std::vector<Setting> ProcessSettings::at(int rank) const {
  std::vector<Setting> all = common;
  if (auto own = per_rank.find(rank); own != per_rank.end())
    all.insert(all.end(), own->second.begin(), own->second.end());
  return all;
}

std::vector<Setting> TrialSpec::under_test() const {
  std::vector<Setting> all = tested_libraries;
  if (!cpu_affinity.empty())
    all.push_back({k_cpu_affinity, cpu_affinity});
  all.insert(all.end(), process.common.begin(), process.common.end());
  return all;
}

std::string TrialSpec::label() const {
  return name.empty() ? label_of(under_test()) : name;
}

bool TrialSpec::is_default() const {
  if (!name.empty())
    return name == "default";
  return under_test().empty() && process.per_rank.empty();
}

std::string resume_key(const TrialSpec& trial, const Cell& cell) {
  nlohmann::json identity{{"process", trial.process},     {"backend", trial.backend},
                          {"ranks", trial.ranks},         {"libraries", trial.libraries},
                          {"replicate", trial.replicate}, {"cell", cell}};
  identity["cell"].erase("deadline_ns"); // patience is not part of what is measured
  if (trial.purpose != Purpose::measure)
    identity["purpose"] = to_string(trial.purpose);
  if (trial.trace != TraceLevel::off)
    identity["trace"] = to_string(trial.trace);
  if (!trial.cpu_affinity.empty())
    identity[k_cpu_affinity] = trial.cpu_affinity;
  // replace: a value that is no UTF-8 must not cost the trial its record
  const std::string text = identity.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return fmt::format("{:016x}", base::Hash().add(text).value());
}

} // namespace ncclprobe::model
