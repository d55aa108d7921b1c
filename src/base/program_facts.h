// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <string>

namespace ncclprobe::base {

// What `--version` says of a program. Empty: the program has no such part, or does not know.
struct ProgramFacts {
  std::string program;        // "ncclprobe-worker"
  std::string version;        // "0.1.0"
  std::string chosen_because; // of a worker, if the package has several
  std::string commit;         // of the sources
  std::string build;          // build_id()
  std::string compiler;       // "GNU 12.2.0, Release"
  std::string mpi;            // "Open MPI v4.1.4"
  std::string hdf5;           // "1.10.8"
  std::string gloo;           // "0.5.0"
  std::string nvidia_backend; // "CUDA 13.0.88, architectures 75,80,90+PTX", or why there is none
  std::string nvidia_headers; // "NCCL 2.30.7, CUPTI 130000, cuBLAS 13.0.0"
};
NCCLPROBE_LENIENT_FIELDS(ProgramFacts, program, version, chosen_because, commit, build, compiler,
                         mpi, hdf5, gloo, nvidia_backend, nvidia_headers)

// Those of every program. The name is that of the running file.
ProgramFacts common_facts();

// A line with name and version, and a line for each other fact that is known.
std::string in_lines(const ProgramFacts& facts);

} // namespace ncclprobe::base
