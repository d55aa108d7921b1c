// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/fleet.h"

namespace ncclprobe::launch {

Result<std::unique_ptr<Fleet>> make_mpi_fleet(int*, char***) {
  return fail(Error{Errc::unsupported,
                    "this build has no MPI (NCCLPROBE_MPI=OFF), and an MPI launcher started it",
                    "set NCCLPROBE_LAUNCHER=env and export MASTER_ADDR and MASTER_PORT, or start "
                    "with torchrun"});
}

std::string mpi_library() {
  return "not built (NCCLPROBE_MPI=OFF)";
}

} // namespace ncclprobe::launch
