// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/environment.h"

#include "base/stored_variables.h"

#include <algorithm>
#include <array>

namespace ncclprobe::launch {
namespace {

using namespace std::string_view_literals;

// The prefixes were collected from the environments of ranks (Open MPI 4 and 5, MPICH's Hydra,
// Slurm's and Cray's PMI plugins). Never add a prefix that users set to configure the library under
// test (NCCL_, CUDA_, UCX_, FI_, SLURM_ in general, MPICH_, MV2_ in general).
constexpr std::array k_prefixes = {
    "OMPI_"sv,           "OPAL_"sv,        "ORTE_"sv,      "PRTE_"sv,       "PRRTE_"sv,
    "PMIX_"sv,           "PMI_"sv,         "PMI2_"sv,      "HYDRA_"sv,      "HYDI_"sv,
    "MPIR_"sv,           "MPIEXEC_"sv,     "MPI_LOCAL"sv,  "MPISPAWN_"sv,   "PALS_"sv,
    "MV2_COMM_WORLD_"sv, "I_MPI_HYDRA_"sv, "SLURM_PMI_"sv, "SLURM_PMI2_"sv, "SLURM_PMIX_"sv,
    "SLURM_PMIXP_"sv,
};
// The secret of a job is for its supervisors.
constexpr std::array k_names = {
    "NCCLPROBE_JOB_SECRET"sv, "SLURM_MPI_TYPE"sv,     "GMPI_ID"sv, "PMIX_ID"sv,
    "HFI_NO_BACKTRACE"sv,     "IPATH_NO_BACKTRACE"sv,
};

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

} // namespace

bool is_launcher_variable(std::string_view name) {
  return std::ranges::any_of(k_prefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(k_names, name) != k_names.end();
}

std::vector<std::string> worker_environment(const std::vector<std::string>& inherited,
                                            const std::vector<model::Setting>& settings) {
  auto is_set = [&](std::string_view name) {
    return std::ranges::any_of(settings,
                               [&](const model::Setting& setting) { return setting.name == name; });
  };
  std::vector<std::string> environment;
  for (const std::string& entry : inherited)
    if (!is_launcher_variable(name_of(entry)) && !is_set(name_of(entry)))
      environment.push_back(entry);
  for (auto setting = settings.begin(); setting != settings.end(); ++setting) {
    bool set_again = std::any_of(setting + 1, settings.end(), [&](const model::Setting& later) {
      return later.name == setting->name; // a rank's own setting comes after the common one
    });
    if (!set_again && setting->value != base::k_value_unset)
      environment.push_back(setting->name + "=" + setting->value);
  }
  return environment;
}

} // namespace ncclprobe::launch
