// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/survey.h"

#include "system/confinement.h"
#include "system/driver.h"
#include "system/installed_libraries.h"
#include "system/kernel_log.h"
#include "system/limits.h"
#include "system/logind.h"
#include "system/mapped_libraries.h"
#include "system/nccl_files.h"
#include "system/network.h"
#include "system/pci.h"
#include "system/rdma.h"
#include "system/shared_memory.h"

#include "base/allowed_cpus.h"
#include "base/clock.h"
#include "base/loader.h"
#include "base/stored_variables.h"
#include "launch/worker/tried_tuner.h"
#include "nvidia/factory.h"
#include "workload/nccl_values.h"

#include <algorithm>

namespace ncclprobe::worker {
namespace {

// As NCCL would search: its own folder and ours may be on the search path too.
void look_for_named_files(const backend::Options& options, model::ProcessSurvey& survey) {
  std::vector<std::filesystem::path> beside;
  for (const model::MappedLibrary& library : survey.libraries)
    if (library.soname.starts_with("libnccl.so"))
      beside.push_back(std::filesystem::path(library.path).parent_path());
  auto path = options.environment.find("LD_LIBRARY_PATH");
  std::string folders = path == options.environment.end() ? "" : path->second;
  for (const model::Setting& setting : survey.environment)
    for (const std::string& name : workload::names_to_look_for(setting, options.environment))
      if (std::ranges::find(survey.looked_for, name, &model::LookedFor::name) ==
          survey.looked_for.end())
        survey.looked_for.push_back({name, base::loader_finds(name, folders, beside)});
}

// Last, when every library of a trial is loaded.
model::ProcessSurvey survey_process(const backend::Options& options) {
  model::ProcessSurvey found;
  for (const auto& [name, value] : options.environment)
    if (model::bears_on_communication(name))
      found.environment.push_back({name, base::stored_value(name, value)});
  found.libraries = system::mapped_libraries();
  found.limits = system::limits();
  found.confinement = system::confinement();
  found.confinement.numa_calls_allowed = system::numa_calls_allowed();
  found.cpus_allowed = base::allowed_cpus();
  look_for_named_files(options, found);
  found.tuner = try_tuner(options.environment);
  return found;
}

model::HostSurvey survey_host(const backend::Options& options, const std::string& own_name,
                              const std::string& python) {
  model::HostSurvey found;
  found.shared_memory = system::shared_memory();
  if (found.shared_memory)
    found.shared_memory->removed_at_logout = system::removes_shared_memory_at_logout();
  found.pci = system::pci_survey();
  found.driver = system::driver_survey();
  found.interfaces = system::network_interfaces();
  found.name_addresses = system::addresses_in_hosts_file(own_name);
  found.rdma = system::rdma_ports();
  found.kernel_log = system::kernel_log();
  found.nccl_files = system::nccl_files(options.environment);
  found.installed = system::installed_libraries(options.environment, python);
  return found;
}

} // namespace

model::Survey take_survey(const backend::Options& options, Gpus gpus, model::SurveyScope scope,
                          const std::string& python) {
  model::Survey survey;
  survey.taken_utc = base::utc_now();
  if (scope != model::SurveyScope::health)
    survey.inventory = take_inventory(options, gpus);
  if (scope != model::SurveyScope::rank && gpus == Gpus::look)
    nvidia::examine_health(survey, options);
  if (scope == model::SurveyScope::host)
    survey.host = survey_host(options, survey.inventory.hostname, python);
  if (scope != model::SurveyScope::health)
    survey.process = survey_process(options);
  return survey;
}

} // namespace ncclprobe::worker
