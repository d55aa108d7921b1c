// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/traced_twin.h"

namespace ncclprobe::workload {
namespace {

constexpr const char* k_plugin = "NCCL_PROFILER_PLUGIN";
constexpr const char* k_own_plugin = "STATIC_PLUGIN"; // the plugin in the worker itself

} // namespace

void make_traced(model::TrialSpec& trial, model::TraceLevel level,
                 const std::map<std::string, std::string>& environment) {
  trial.purpose = model::Purpose::traced;
  trial.trace = level;
  if (trial.backend == "nvidia" && !environment.contains(k_plugin))
    trial.instruments.push_back({k_plugin, k_own_plugin});
}

std::vector<std::string> lost_to_traces(const std::map<std::string, std::string>& environment,
                                        const std::string& backend) {
  auto found = environment.find(k_plugin);
  if (backend != "nvidia" || found == environment.end() || found->second == k_own_plugin)
    return {};
  return {fmt::format("{}={} is set in the environment and kept, so traces will lack NCCL's own "
                      "events (algorithm, protocol, channels)",
                      k_plugin, found->second)};
}

} // namespace ncclprobe::workload
