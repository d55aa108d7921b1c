// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/compare/gate.h"
#include "base/exit_code.h"
#include "launch/cli/common/usage.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ncclprobe::cli {

inline constexpr const char* k_baseline_folder = "baselines";

struct CompareOptions : ResultOptions {
  std::vector<std::string> sides; // run files; with `interleave` two commands
  std::string against;            // name of a baseline; empty: none
  std::filesystem::path folder = k_baseline_folder;
  bool interleave = false;
  int pairs = 10;
  std::filesystem::path keep; // folder for the run files of `interleave`; empty: they are removed
  std::filesystem::path history;    // folder of many runs; empty: none
  std::filesystem::path nodes_file; // of a purchase; empty: none
  std::vector<analysis::compare::Gate> gates;
  std::vector<std::string> vary; // facts that may differ
  double difference = 0.05;      // the smallest that matters, as a share
};
Usage compare_usage(CompareOptions& into);

// Compares runs, and returns the exit code: of the gates if there are any.
int compare_command(const CompareOptions& options);

struct BaselineOptions {
  std::string action, name;
  std::vector<std::filesystem::path> runs;
  std::filesystem::path folder = k_baseline_folder;
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage baseline_usage(BaselineOptions& into);

// Adds runs to a baseline. Returns the exit code.
int baseline_command(const BaselineOptions& options);

} // namespace ncclprobe::cli
