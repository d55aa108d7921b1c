// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>

// What started this process, as its environment shows.
namespace ncclprobe::launch {

using Variables = std::map<std::string, std::string>;

// mpi: mpirun, or srun with PMI. env: torchrun, Kubernetes or srun without PMI, which only set
// variables.
enum class Launcher { none, mpi, env };

// The user's choice (NCCLPROBE_LAUNCHER=auto|mpi|env|none), else by the variables that launchers
// set. A job of one process counts as env only under torchrun. Errors: invalid_argument, for
// another word.
Result<Launcher> launcher_of(const Variables& environment);

// True for an entry ("NAME=value") that torchrun sets for PyTorch before 2.2, under a name like
// NCCL's. The user did not set it, and NCCL does not read it.
bool is_torchruns_own(const Variables& environment, std::string_view entry);

// False on the ranks other than 0 of a launched job.
bool is_first_rank(const Variables& environment);

// A job whose processes know their places, and where to meet, from variables.
struct EnvJob {
  int rank = 0;
  int size = 1;
  std::string address; // MASTER_ADDR: of rank 0, which listens
  int port = 0;        // NCCLPROBE_MASTER_PORT, else MASTER_PORT
  std::string id;      // the launcher's name of this job; empty if it has none
  std::string secret;  // NCCLPROBE_JOB_SECRET; empty: anybody who reaches the port may join
  std::chrono::seconds join_patience{300}; // NCCLPROBE_JOIN_TIMEOUT: for the last one to join
};

// Errors: invalid_argument, naming the variables that are missing or wrong.
Result<EnvJob> read_env_job(const Variables& environment);

} // namespace ncclprobe::launch
