// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/output_file.h"
#include "launch/cli/common/usage.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct EmitOptions {
  std::string kind; // sbatch, mpijob, jobset, compose
  int nodes = 1;
  int gpus = 8;
  std::optional<int> ranks;      // of a node; nothing: one for each GPU
  bool each_node = false;        // each node alone, instead of one run over all
  std::vector<std::string> hcas; // "detect": those of this machine
  std::string mpi = "pmix";      // srun's; none: ranks find each other over TCP
  std::int64_t wait_ns = 300'000'000'000;
  std::string time = "01:00:00";
  std::string partition;
  std::string image = "ncclprobe:latest";
  std::uint64_t shm_bytes = std::uint64_t{8} << 30;
  std::string rdma_resource;
  std::string volume;
  base::Destination destination; // without a file: standard output
  base::Verbosity verbosity = base::Verbosity::normal;
  std::vector<std::string> arguments; // ncclprobe's
};
Usage emit_usage(EmitOptions& into);

// `ncclprobe emit`: writes a job file. Returns an exit code.
int emit_command(EmitOptions options);

} // namespace ncclprobe::cli
