// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/job_place.h"

#include "base/text_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_parent_field = 1, k_start_field = 19; // after the program's name

fs::path proc_of(pid_t process) {
  return fmt::format("/proc/{}", process);
}

// A field of /proc/PID/stat; empty if the process has ended.
std::string stat_field(pid_t process, std::size_t field) {
  const std::string text = base::text_of(proc_of(process) / "stat");
  // The program's name, in brackets, may contain blanks.
  const auto fields = base::words_of(text.substr(std::min(text.rfind(')') + 1, text.size())));
  return field < fields.size() ? fields[field] : "";
}

pid_t parent_of(pid_t process) {
  return base::number_of<pid_t>(stat_field(process, k_parent_field)).value_or(0);
}

// The words of a list that ends each word with a zero byte.
std::vector<std::string> words_in(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');)
    words.push_back(word);
  return words;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Unlike a process's number, never used again before a reboot.
std::string lasting_name(pid_t process) {
  return fmt::format("{} {}.{}", host_name(), process, stat_field(process, k_start_field));
}

// torchrun's own process on this host: the nearest ancestor that it did not start.
pid_t torchrun_above() {
  pid_t process = getppid();
  auto started_by_torchrun = [](pid_t one) {
    return std::ranges::any_of(words_in(proc_of(one) / "environ"), [](const std::string& entry) {
      return entry.starts_with("TORCHELASTIC_RUN_ID=");
    });
  };
  while (process > 1 && started_by_torchrun(process))
    process = parent_of(process);
  return process;
}

// Where MPICH's mpiexec listens: its process on each host has the address as an argument. Empty
// without such a process.
std::string control_port_above() {
  for (pid_t process = getppid(); process > 1; process = parent_of(process)) {
    const auto words = words_in(proc_of(process) / "cmdline");
    const auto option = std::ranges::find(words, "--control-port");
    if (option != words.end() && std::next(option) != words.end())
      return *std::next(option);
  }
  return "";
}

// The value of one of torchrun's options in a command: --rdzv-id X, --rdzv_id=X.
std::string option_in(const std::vector<std::string>& command, const std::string& name) {
  for (std::size_t at = 0; at < command.size(); ++at) {
    const std::size_t end = std::min(command[at].find('='), command[at].size());
    std::string option = command[at].substr(0, end);
    std::ranges::replace(option, '_', '-');
    if (option != name)
      continue;
    if (end < command[at].size())
      return command[at].substr(end + 1);
    return at + 1 < command.size() ? command[at + 1] : "";
  }
  return "";
}

bool is_this_host(const std::string& address) {
  return address.starts_with("localhost") || address.starts_with("127.") ||
         address.starts_with("[::1]") || address == "::1";
}

// What torchrun's arguments name alike on all hosts. Empty if they name no meeting point.
std::string torchrun_job(const std::vector<std::string>& command) {
  const std::string endpoint = option_in(command, "--rdzv-endpoint");
  const std::string address = option_in(command, "--master-addr");
  const std::string meeting =
      endpoint.empty() && !address.empty()
          ? fmt::format("{}:{}", address, option_in(command, "--master-port"))
          : endpoint;
  if (meeting.empty() || is_this_host(meeting))
    return "";
  return fmt::format("torchrun {} {}", meeting, option_in(command, "--rdzv-id"));
}

} // namespace

JobPlace job_place(const Environment& environment, const std::vector<std::string>& command) {
  auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  auto first_of = [&](auto... names) {
    std::string found;
    ((found = found.empty() ? value(names) : found), ...);
    return found;
  };
  const std::string own = lasting_name(getpid()), host = "host " + host_name();
  const std::string meeting = fmt::format("{}:{}", value("MASTER_ADDR"), value("MASTER_PORT"));
  const bool meets = !value("MASTER_ADDR").empty() && !is_this_host(meeting);

  // Everything that is started from a step of one task, such as a shell, has the same step id.
  if (!value("SLURM_STEP_ID").empty() && first_of("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS") != "1")
    return {fmt::format("slurm {}.{}", value("SLURM_JOB_ID"), value("SLURM_STEP_ID")), "", own};
  if (const std::string id = value("TORCHELASTIC_RUN_ID"); !id.empty() && !value("RANK").empty()) {
    const std::string agent = lasting_name(torchrun_above());
    // "none" is what torchrun calls a job that got no name. A name may be used again: where the
    // job meets tells it from the next one.
    const std::string where = meets ? meeting : id != "none" ? "" : agent;
    return {fmt::format("torchrun {} {}", where, id), host, agent};
  }
  if (const std::string id = first_of("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"); !id.empty())
    return {fmt::format("mpi {}", id), "", own};
  if (const std::string rank = first_of("PMI_RANK", "MV2_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK");
      !rank.empty()) {
    const std::string size = first_of("PMI_SIZE", "MV2_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE");
    return {fmt::format("mpi of {} ranks {}", size, control_port_above()), "rank " + rank, own};
  }
  if (const std::string rank = value("RANK"); !rank.empty() && meets)
    return {fmt::format("{} ranks {}", value("WORLD_SIZE"), meeting), "rank " + rank, own};
  // Ranks of one host have the launcher in common.
  if (!value("LOCAL_RANK").empty())
    return {fmt::format("launcher {}", lasting_name(getppid())), "", own};
  if (const std::string job = torchrun_job(command); !job.empty())
    return {job, host, own};
  return {fmt::format("process {}", own), "", own};
}

} // namespace ncclprobe::cli
