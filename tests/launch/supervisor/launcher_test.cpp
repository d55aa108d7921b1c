// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/launcher.h"
#include "support/catch.h"

using namespace ncclprobe;
using launch::Launcher;
using launch::Variables;

namespace {

const Variables k_meeting{{"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "29500"}};

Variables with(Variables base, const Variables& more) {
  base.insert(more.begin(), more.end());
  return base;
}

const Variables k_pytorchjob = with(k_meeting, {{"RANK", "1"}, {"WORLD_SIZE", "4"}});
const Variables k_torchrun =
    with(k_pytorchjob, {{"LOCAL_WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}});
const Variables k_srun{{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}};

} // namespace

TEST_CASE("the launcher is known by its variables, or named by the user") {
  struct Row {
    const char* what;
    Variables environment;
    Launcher launcher;
    bool first;
  };
  const std::vector<Row> rows{
      {"nothing", {}, Launcher::none, true},
      {"mpirun",
       {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}},
       Launcher::mpi,
       false},
      {"mpiexec.hydra", {{"PMI_FD", "5"}, {"PMI_RANK", "0"}}, Launcher::mpi, true},
      {"PyTorchJob", k_pytorchjob, Launcher::env, false},
      {"PyTorchJob of one pod, which has all GPUs of its host",
       with(k_meeting, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}), Launcher::none, true},
      {"torchrun with one process",
       with(k_meeting, {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_WORLD_SIZE", "1"}}),
       Launcher::env, true},
      {"torchrun below srun with PMIx", with(k_torchrun, {{"PMIX_RANK", "0"}}), Launcher::env,
       false},
      {"mpirun in a PyTorchJob", with(k_pytorchjob, {{"OMPI_COMM_WORLD_SIZE", "8"}}), Launcher::mpi,
       true},
      {"srun without PMI", with(k_srun, k_meeting), Launcher::env, false},
      {"srun without PMI and without a place to meet", k_srun, Launcher::none, true},
      {"a batch script, which is none of the tasks",
       with(k_meeting, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}), Launcher::none, true},
      {"alone in a pod", with(k_pytorchjob, {{"NCCLPROBE_LAUNCHER", "none"}}), Launcher::none,
       true},
      {"MPI's launcher for a build without MPI",
       with(k_meeting, {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"NCCLPROBE_LAUNCHER", "env"}}),
       Launcher::env, false}};
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(launch::launcher_of(row.environment) == row.launcher);
    CHECK(launch::is_first_rank(row.environment) == row.first);
  }
  CHECK(launch::launcher_of({{"NCCLPROBE_LAUNCHER", "pmi"}}).error().code ==
        Errc::invalid_argument);
}

TEST_CASE("a job without MPI takes its places from the launcher's variables") {
  const launch::EnvJob slurm = *launch::read_env_job(
      with(with(k_srun, k_meeting), {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "1"}}));
  CHECK(slurm.rank == 3);
  CHECK(slurm.size == 4);
  CHECK(slurm.address == "alpha");
  CHECK(slurm.port == 29500);
  CHECK(slurm.id == "slurm 7.1");
  CHECK(slurm.secret.empty());

  const launch::EnvJob torchrun =
      *launch::read_env_job(with(k_torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                              {"TORCHELASTIC_RESTART_COUNT", "2"},
                                              {"NCCLPROBE_JOB_SECRET", "s"},
                                              {"NCCLPROBE_JOIN_TIMEOUT", "7"}}));
  CHECK(torchrun.port == 29501); // torchrun listens on the other
  CHECK(torchrun.id == "torchrun none");
  CHECK(torchrun.secret == "s");
  CHECK(torchrun.join_patience == std::chrono::seconds(7));

  CHECK(launch::read_env_job(with(k_torchrun, {{"NCCLPROBE_MASTER_PORT", "4000"}}))->port == 4000);
}

TEST_CASE("hosts whose torchruns count different restarts belong to one job") {
  auto id_at = [](const char* restarts) {
    return launch::read_env_job(with(k_torchrun, {{"TORCHELASTIC_RESTART_COUNT", restarts}}))->id;
  };
  CHECK(id_at("0") == id_at("2"));
}

TEST_CASE("what torchrun sets for PyTorch is told from the user's variables") {
  CHECK(launch::is_torchruns_own(k_torchrun, "NCCL_ASYNC_ERROR_HANDLING=1"));
  CHECK_FALSE(launch::is_torchruns_own(k_torchrun, "NCCL_ASYNC_ERROR_HANDLING=0"));
  CHECK_FALSE(launch::is_torchruns_own(k_torchrun, "NCCL_ALGO=1"));
  CHECK_FALSE(launch::is_torchruns_own(k_pytorchjob, "NCCL_ASYNC_ERROR_HANDLING=1"));
}

TEST_CASE("variables of a job without MPI that are missing or wrong are named") {
  struct Row {
    Variables environment;
    const char* named;
  };
  const std::vector<Row> rows{
      {{}, "no RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}, "no MASTER_PORT"},
      {with(k_meeting, {{"RANK", "4"}, {"WORLD_SIZE", "4"}}), "RANK=4"},
      {with(k_meeting, {{"RANK", "-1"}, {"WORLD_SIZE", "4"}}), "RANK=-1"},
      {with(k_meeting, {{"RANK", "0"}, {"WORLD_SIZE", "4x"}}), "WORLD_SIZE=4x"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "65536"}},
       "MASTER_PORT=65536"},
      {with(k_torchrun, {{"NCCLPROBE_JOIN_TIMEOUT", "0"}}), "NCCLPROBE_JOIN_TIMEOUT=0"}};
  for (const Row& row : rows) {
    const auto job = launch::read_env_job(row.environment);
    REQUIRE(!job);
    CHECK(job.error().code == Errc::invalid_argument);
    CHECK_THAT(job.error().message, ContainsSubstring(row.named));
  }
}
