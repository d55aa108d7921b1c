// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"
#include "model/trial.h"

#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct World;

struct TopoOptions : ResultOptions {
  std::vector<std::string> from; // files that describe hosts, instead of this machine
  std::string record;            // folder to gather everything in
  std::optional<int> host;       // only this one
  std::string nccl = "auto";     // ask NCCL too: on, off, auto (when recording)
  std::string cuda = "auto"; // ask CUDA too: on, auto (when recording, or where NVML is not enough)
  bool placement = false;
  bool ceilings = false;
  bool names = false; // record host names, addresses and serial numbers too
  std::vector<model::Setting> libraries;
};
Usage topo_usage(TopoOptions& into);

// `ncclprobe topo`: shows what the machine is, live or from files. Returns an exit code.
int topo_command(const World& world, const TopoOptions& options);

} // namespace ncclprobe::cli
