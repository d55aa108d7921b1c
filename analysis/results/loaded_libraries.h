// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <string>
#include <vector>

// Which shared libraries the workers of each setting really had loaded, as they told once they were
// connected (model::WorkerRecord::libraries), against what was asked for.
namespace ncclprobe::analysis {

// The variable by which the loader is told where to look: it picks libraries as a path does.
inline constexpr const char* k_loader_path = "LD_LIBRARY_PATH";

struct LoadedLibrary {
  std::string name, version, path;
  std::vector<int> ranks; // ascending
  bool operator==(const LoadedLibrary&) const = default;
};

struct SettingLibraries {
  std::string setting;
  bool is_default = false;
  std::vector<LoadedLibrary> loaded;   // by name; several of one name where ranks or trials differ
  std::vector<std::string> problems;   // no two alike; they begin with the ranks
  std::vector<std::string> as_default; // names under test whose file is the default's all the same
};

// Of all trials of a setting, the default first. Empty if no worker told.
std::vector<SettingLibraries> setting_libraries(const model::Run& run);

// Do settings choose libraries, or load others than the default, or is something not as asked for?
bool libraries_differ(const std::vector<SettingLibraries>& all);

// Why this trial's times are not those of the libraries that it should have loaded; empty if they
// are. A library that is under test must have been told by every worker.
std::string library_problem(const model::TrialRecord& trial);

// "nccl 2.28.9 (/opt/nccl/lib/libnccl.so.2.28.9)"
std::string in_words(const LoadedLibrary& library);

} // namespace ncclprobe::analysis
