// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/output_file.h"
#include "cli/usage.h"
#include "model/trial.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct TopoOptions {
  std::string format = "summary";
  base::Destination output;      // without a file: standard output
  std::vector<std::string> from; // files that describe hosts, instead of this machine
  std::string record;            // folder to gather everything in
  std::optional<int> host;       // only this one
  std::string nccl = "auto";     // ask NCCL too: on, off, auto (when recording)
  std::string cuda = "auto"; // ask CUDA too: on, auto (when recording, or where NVML is not enough)
  bool placement = false;
  bool ceilings = false;
  bool names = false; // record host names, addresses and serial numbers too
  std::vector<model::Setting> libraries;
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage topo_usage(TopoOptions& into);

} // namespace ncclprobe::cli
