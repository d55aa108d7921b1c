// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/stored_variables.h"
#include "launch/supervisor/environment.h"
#include "support/catch.h"

using namespace ncclprobe;
using launch::is_launcher_variable;
using launch::worker_environment;
using Strings = std::vector<std::string>;

TEST_CASE("variables of launchers are recognised") {
  for (const char* name : {"OMPI_COMM_WORLD_RANK",
                           "OMPI_MCA_ess",
                           "OMPI_MCA_opal_cuda_support",
                           "PMIX_RANK",
                           "PMIX_SERVER_URI41",
                           "PMI_RANK",
                           "PMI_FD",
                           "PMI2_JOBID",
                           "PRTE_MCA_x",
                           "PRRTE_x",
                           "ORTE_x",
                           "OPAL_PREFIX",
                           "HYDRA_HOST_FILE",
                           "HYDI_CONTROL_FD",
                           "MPIR_CVAR_x",
                           "MPI_LOCALRANKID",
                           "MPI_LOCALNRANKS",
                           "PALS_RANKID",
                           "SLURM_PMI_FD",
                           "SLURM_PMIX_MAPPING_SERV",
                           "SLURM_PMIXP_DEBUG",
                           "SLURM_MPI_TYPE",
                           "HFI_NO_BACKTRACE"})
    CHECK(is_launcher_variable(name));
}

TEST_CASE("everything else survives, whoever set it") {
  for (const char* name :
       {"NCCL_ALGO", "NCCL_SOCKET_IFNAME", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH",
        "SLURM_JOB_ID", "SLURM_PROCID", "UCX_TLS", "FI_PROVIDER", "MPICH_GPU_SUPPORT_ENABLED",
        "HWLOC_COMPONENTS", "PATH", "HOME", "OMP_NUM_THREADS", "PMI", "MY_OMPI_NOTE", ""})
    CHECK(!is_launcher_variable(name));
}

TEST_CASE("a worker inherits all but the launcher's variables, in order") {
  Strings inherited{
      "PATH=/bin", "OMPI_COMM_WORLD_RANK=3", "NCCL_DEBUG=INFO", "PMIX_RANK=3", "EMPTY=", "A=b=c"};

  CHECK(worker_environment(inherited, {}) ==
        Strings{"PATH=/bin", "NCCL_DEBUG=INFO", "EMPTY=", "A=b=c"});
}

TEST_CASE(
    "settings replace what was inherited under the same name, and nothing longer or shorter") {
  Strings inherited{"NCCL_ALGO=Tree", "NCCL_ALGO_X=1", "NCCL=2"};

  CHECK(worker_environment(inherited, {{"NCCL_ALGO", "Ring"}}) ==
        Strings{"NCCL_ALGO_X=1", "NCCL=2", "NCCL_ALGO=Ring"});
}

TEST_CASE("of two settings of one name the later counts: a rank's own comes after the common one") {
  CHECK(worker_environment({}, {{"NCCL_HOSTID", "a"}, {"X", "1"}, {"NCCL_HOSTID", "b"}}) ==
        Strings{"X=1", "NCCL_HOSTID=b"});
}

TEST_CASE("a trial may set what a launcher would") {
  CHECK(worker_environment({"OMPI_X=1"}, {{"OMPI_X", "2"}}) == Strings{"OMPI_X=2"});
}

TEST_CASE("a setting can remove a variable, and a later one sets it all the same") {
  const model::Setting removal{"NCCL_ALGO", std::string(base::k_value_unset)};
  CHECK(worker_environment({"NCCL_ALGO=Tree", "A=1"}, {removal}) == Strings{"A=1"});
  CHECK(worker_environment({"NCCL_ALGO=Tree"}, {removal, {"NCCL_ALGO", "Ring"}}) ==
        Strings{"NCCL_ALGO=Ring"});
}
