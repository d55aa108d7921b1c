// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/trial.h"

#include "base/hash.h"
#include "model/document.h"

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

namespace {

// Identifies a measurement. Fields that were added later are omitted while unused, so old keys stay
// the same.
struct Identity {
  ProcessSettings process;
  std::string backend;
  int ranks = 0;
  std::vector<Setting> libraries;
  int replicate = 0;
  Cell cell;
  Purpose purpose = Purpose::measure;
  TraceLevel trace = TraceLevel::off;
  std::string cpu_affinity;
};
NCCLPROBE_GROWN_FIELDS(Identity, (process, backend, ranks, libraries, replicate, cell),
                       (purpose, trace, cpu_affinity))

} // namespace

std::string resume_key(const TrialSpec& trial, const Cell& cell) {
  Identity identity{trial.process, trial.backend, trial.ranks, trial.libraries,   trial.replicate,
                    cell,          trial.purpose, trial.trace, trial.cpu_affinity};
  identity.cell.deadline_ns = Cell{}.deadline_ns; // a deadline does not change what is measured
  return fmt::format("{:016x}", base::Hash().add(write_json(identity)).value());
}

} // namespace ncclprobe::model
