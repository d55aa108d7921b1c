// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/launcher.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>

namespace ncclprobe::launch {
namespace {

constexpr std::array k_mpi_marks{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"};
// The first that is set counts. Those of MPI's launchers are for a build without MPI.
constexpr std::array k_rank_names{"RANK", "SLURM_PROCID", "PMIX_RANK", "PMI_RANK",
                                  "OMPI_COMM_WORLD_RANK"};
// Not SLURM_NTASKS, which a batch script has too, although it is not one of the tasks.
constexpr std::array k_size_names{"WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMI_SIZE",
                                  "OMPI_COMM_WORLD_SIZE"};
constexpr int k_most_ranks = 1'000'000;
constexpr int k_most_port = 65'535;
constexpr int k_most_seconds = 24 * 3600;

std::string value_of(const Variables& environment, const char* name) {
  auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// The first of these variables that has a value; empty without one.
std::string first_set(const Variables& environment, std::span<const char* const> names) {
  for (const char* name : names)
    if (environment.contains(name))
      return name;
  return "";
}

bool any_set(const Variables& environment, std::span<const char* const> names) {
  return !first_set(environment, names).empty();
}

Result<int> number_in(const Variables& environment, const std::string& name, int least, int most) {
  const std::string text = value_of(environment, name.c_str());
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return fail(Errc::invalid_argument, "{}={} in the environment is not a number from {} to {}",
                name, text, least, most);
  return number;
}

bool is_env_job(const Variables& environment) {
  const std::string size = first_set(environment, k_size_names);
  const bool alone = size.empty() || value_of(environment, size.c_str()) == "1";
  return any_set(environment, k_rank_names) && environment.contains("MASTER_ADDR") &&
         environment.contains("MASTER_PORT") && !size.empty() &&
         (!alone || environment.contains("LOCAL_WORLD_SIZE"));
}

// torchrun's workers inherit the marks of an srun that started torchrun. An mpirun that torchrun
// starts is not to be expected.
bool is_below_torchrun(const Variables& environment) {
  return environment.contains("TORCHELASTIC_RUN_ID") && environment.contains("RANK");
}

std::string id_of_job(const Variables& environment) {
  // Not TORCHELASTIC_RESTART_COUNT: each host's torchrun counts only failures of its own ranks.
  if (is_below_torchrun(environment))
    return "torchrun " + value_of(environment, "TORCHELASTIC_RUN_ID");
  if (environment.contains("SLURM_STEP_ID"))
    return fmt::format("slurm {}.{}", value_of(environment, "SLURM_JOB_ID"),
                       value_of(environment, "SLURM_STEP_ID"));
  return "";
}

// With TORCHELASTIC_USE_AGENT_STORE=True, torchrun itself listens on MASTER_PORT.
Result<int> port_of_job(const Variables& environment) {
  if (environment.contains("NCCLPROBE_MASTER_PORT"))
    return number_in(environment, "NCCLPROBE_MASTER_PORT", 1, k_most_port);
  const int taken = value_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True" ? 1 : 0;
  NCCLPROBE_TRY_ASSIGN(const int port,
                       number_in(environment, "MASTER_PORT", 1, k_most_port - taken));
  return port + taken;
}

} // namespace

Result<Launcher> launcher_of(const Variables& environment) {
  const std::string choice = value_of(environment, "NCCLPROBE_LAUNCHER");
  if (choice == "none")
    return Launcher::none;
  if (choice == "mpi")
    return Launcher::mpi;
  if (choice == "env")
    return Launcher::env;
  if (!choice.empty() && choice != "auto")
    return fail(Errc::invalid_argument,
                "NCCLPROBE_LAUNCHER={} in the environment is not one of auto, mpi, env, none",
                choice);
  if (is_below_torchrun(environment) && is_env_job(environment))
    return Launcher::env;
  if (any_set(environment, k_mpi_marks))
    return Launcher::mpi;
  return is_env_job(environment) ? Launcher::env : Launcher::none;
}

bool is_torchruns_own(const Variables& environment, std::string_view entry) {
  return entry == "NCCL_ASYNC_ERROR_HANDLING=1" && is_below_torchrun(environment);
}

bool is_first_rank(const Variables& environment) {
  const auto launcher = launcher_of(environment);
  if (launcher == Launcher::env) {
    const std::string name = first_set(environment, k_rank_names);
    return name.empty() || value_of(environment, name.c_str()) == "0";
  }
  if (launcher == Launcher::none)
    return true;
  return std::ranges::all_of(
      std::array{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}, [&](const char* name) {
        return !environment.contains(name) || value_of(environment, name) == "0";
      });
}

Result<EnvJob> read_env_job(const Variables& environment) {
  const std::string rank = first_set(environment, k_rank_names);
  const std::string size = first_set(environment, k_size_names);
  std::string missing;
  auto need = [&missing](bool there, const char* name) {
    if (!there)
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  need(!rank.empty(), "RANK");
  need(!size.empty(), "WORLD_SIZE");
  need(!value_of(environment, "MASTER_ADDR").empty(), "MASTER_ADDR");
  need(environment.contains("MASTER_PORT") || environment.contains("NCCLPROBE_MASTER_PORT"),
       "MASTER_PORT");
  if (!missing.empty())
    return fail(
        Error{Errc::invalid_argument,
              fmt::format("the environment has no {}, which a job without MPI needs", missing),
              "export the variables for every process, or start with torchrun; or set "
              "NCCLPROBE_LAUNCHER=none to measure on this host alone"});
  EnvJob job;
  NCCLPROBE_TRY_ASSIGN(job.size, number_in(environment, size, 1, k_most_ranks));
  NCCLPROBE_TRY_ASSIGN(job.rank, number_in(environment, rank, 0, job.size - 1));
  job.address = value_of(environment, "MASTER_ADDR");
  NCCLPROBE_TRY_ASSIGN(job.port, port_of_job(environment));
  job.id = id_of_job(environment);
  job.secret = value_of(environment, "NCCLPROBE_JOB_SECRET");
  if (environment.contains("NCCLPROBE_JOIN_TIMEOUT")) {
    NCCLPROBE_TRY_ASSIGN(const int seconds,
                         number_in(environment, "NCCLPROBE_JOIN_TIMEOUT", 1, k_most_seconds));
    job.join_patience = std::chrono::seconds(seconds);
  }
  return job;
}

} // namespace ncclprobe::launch
