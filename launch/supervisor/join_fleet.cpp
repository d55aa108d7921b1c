// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/fleet.h"

namespace ncclprobe::launch {

Result<std::unique_ptr<Fleet>> join_fleet(const Variables& environment) {
  NCCLPROBE_TRY_ASSIGN(const Launcher launcher, launcher_of(environment));
  if (launcher == Launcher::mpi)
    return make_mpi_fleet(nullptr, nullptr);
  if (launcher == Launcher::none)
    return make_local_fleet();
  NCCLPROBE_TRY_ASSIGN(const EnvJob job, read_env_job(environment));
  return make_tcp_fleet(job);
}

} // namespace ncclprobe::launch
