// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/tried_tuner.h"

#include "tuning/table_file.h"

#include "workload/nccl_values.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>

namespace ncclprobe::worker {
namespace {

constexpr const char* k_plugin_variable = "NCCL_TUNER_PLUGIN";
constexpr const char* k_table_variable = "NCCLPROBE_TUNER_TABLE";
// Of NCCL 2.22 and later.
constexpr std::array k_interfaces{"ncclTunerPlugin_v6", "ncclTunerPlugin_v5", "ncclTunerPlugin_v4",
                                  "ncclTunerPlugin_v3", "ncclTunerPlugin_v2"};

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

// Why the loader takes none of these files. It stays loaded, as with NCCL.
std::string why_not_loaded(const std::vector<std::string>& files) {
  std::string why;
  for (const std::string& file : files) {
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* const words = dlerror();
      why += (why.empty() ? "" : "; ") + std::string(words ? words : file + " does not load");
    } else if (std::ranges::any_of(k_interfaces, [&](const char* name) {
                 return dlsym(library, name) != nullptr;
               })) {
      return "";
    } else {
      why += (why.empty() ? "" : "; ") + file + " has no ncclTunerPlugin_v2 to _v6";
    }
  }
  return why;
}

std::string why_no_table(const std::string& text) {
  if (text.empty())
    return std::string(k_table_variable) + " is not set";
  auto reference = tuning::parse_table_reference(text);
  if (!reference)
    return reference.error().text();
  auto table = tuning::read_referenced_table(*reference);
  return table ? "" : table.error().text();
}

} // namespace

std::optional<model::TriedTuner> try_tuner(const std::map<std::string, std::string>& environment) {
  const std::string plugin = value_of(environment, k_plugin_variable);
  const std::vector<std::string> files =
      workload::names_to_look_for({k_plugin_variable, plugin}, environment);
  if (files.empty())
    return std::nullopt;
  model::TriedTuner tried{.plugin = plugin, .problem = why_not_loaded(files), .table_problem = ""};
  if (plugin.find("ncclprobe-tuner") != std::string::npos)
    tried.table_problem = why_no_table(value_of(environment, k_table_variable));
  return tried;
}

} // namespace ncclprobe::worker
