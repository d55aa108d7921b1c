// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// The shared libraries that the workers of each setting really loaded, as they reported after
// connecting (model::WorkerRecord::libraries), compared with the request.
namespace ncclprobe::analysis {

// The variable with the loader's search path: it picks libraries as a path does.
inline constexpr const char* k_loader_path = "LD_LIBRARY_PATH";

struct LoadedLibrary {
  std::string name, version, path;
  std::vector<int> ranks; // ascending
  bool operator==(const LoadedLibrary&) const = default;
};
NCCLPROBE_FIELDS(LoadedLibrary, name, version, path, ranks)

struct SettingLibraries {
  std::string setting;
  bool is_default = false;
  std::vector<LoadedLibrary> loaded;   // by name; several of one name if ranks or trials differ
  std::vector<std::string> problems;   // all different; they begin with the ranks
  std::vector<std::string> as_default; // names under test whose file is nevertheless the default's
};

// For all trials of a setting, the default first. Empty if no worker reported.
std::vector<SettingLibraries> setting_libraries(const model::Run& run);

// Whether settings choose libraries, load others than the default, or differ from the request.
bool libraries_differ(const std::vector<SettingLibraries>& all);

// Why this trial's times do not belong to the requested libraries; empty if they do. Every worker
// must have reported a library under test.
std::string library_problem(const model::TrialRecord& trial);

// "nccl 2.28.9 (/opt/nccl/lib/libnccl.so.2.28.9)"
std::string in_words(const LoadedLibrary& library);

} // namespace ncclprobe::analysis
