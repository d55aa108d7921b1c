// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// How a job under mpirun, and one without MPI, ends when something in it is killed: nothing may be
// left.
#include "processes.h"

#include "base/clock.h"
#include "launch/supervisor/process.h"
#include "support/catch.h"
#include "wire/channel.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

using namespace ncclprobe;
using test_launch::processes_with;
using test_launch::wait_for_count;

namespace {

constexpr int k_supervisors = 2;
// Of the trial and of the one that is prepared, each with a child of the same name.
constexpr std::size_t k_workers = 4 * k_supervisors;
constexpr int k_patience_s = 60;
constexpr int k_end_within_s = 10;
// Where somebody has to be found silent first.
constexpr int k_end_of_silence_s = 40;

// env: as by torchrun, but the launcher does not end the others when one fails.
enum class Start { mpirun, env };

// The launcher and its arguments before the program's.
std::vector<std::string> launcher_line(Start start) {
  if (start == Start::env)
    return {NCCLPROBE_PYTHON, NCCLPROBE_ENV_LAUNCHER, "--leave", std::to_string(k_supervisors),
            "--"};
  return {NCCLPROBE_MPIEXEC, NCCLPROBE_MPIEXEC_NUMPROC_FLAG, std::to_string(k_supervisors)};
}

// A job of the fleet driver, with a token of its own.
class Job {
public:
  explicit Job(const std::string& scenario, Start start = Start::mpirun)
      : token_(test_launch::make_token()), ends_(base::value_or_throw(wire::make_channel())) {
    result_file_ = std::filesystem::temp_directory_path() / token_.substr(token_.find('=') + 1);
    std::vector<std::string> environment = test_launch::own_environment();
    environment.push_back(token_);
    std::stringstream entries(NCCLPROBE_MPI_ENVIRONMENT);
    for (std::string entry; entries >> entry;)
      environment.push_back(entry);
    std::vector<std::string> line = launcher_line(start);
    line.insert(line.end(), {NCCLPROBE_FLEET_DRIVER, scenario, result_file_});
    process_.emplace(base::value_or_throw(launch::Process::spawn(
        {line.front(), {line.begin() + 1, line.end()}, environment}, std::move(ends_.second))));
  }
  ~Job() {
    for (pid_t pid : processes_with(token_))
      ::kill(pid, SIGKILL);
    process_->signal_group(SIGKILL);
    std::filesystem::remove(result_file_);
  }

  pid_t launcher() const { return process_->pid(); }
  const std::string& token() const { return token_; }
  std::vector<pid_t> supervisors() const { return processes_with(token_, "fleet_driver"); }
  std::vector<pid_t> left(int within_s = k_end_within_s) const {
    return wait_for_count(token_, "", 0, within_s);
  }
  std::string result() const {
    std::ifstream file(result_file_);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

private:
  std::string token_;
  std::pair<wire::Channel, base::Fd> ends_;
  std::filesystem::path result_file_;
  std::optional<launch::Process> process_;
};

// Stays in a trial, with the next one prepared.
class WaitingJob : public Job {
public:
  explicit WaitingJob(Start start = Start::mpirun)
      : Job("wait", start),
        workers_(wait_for_count(token(), "wait_in_cell", k_workers, k_patience_s)) {}
  const std::vector<pid_t>& workers() const { return workers_; }

private:
  std::vector<pid_t> workers_;
};

} // namespace

TEST_CASE("one supervisor killed ends the job and every worker with its children") {
  WaitingJob job(GENERATE(Start::mpirun, Start::env));
  REQUIRE(job.workers().size() == k_workers);
  REQUIRE(job.supervisors().size() == k_supervisors);
  pid_t victim = GENERATE(0, 1) == 0 ? job.supervisors().front() : job.supervisors().back();

  ::kill(victim, SIGKILL);

  CHECK(job.left().empty());
}

TEST_CASE("mpirun killed ends the job and every worker with its children") {
  WaitingJob job;
  REQUIRE(job.workers().size() == k_workers);

  ::kill(job.launcher(), SIGKILL);

  CHECK(job.left().empty());
}

TEST_CASE("a terminated job records the trial as interrupted before it ends") {
  const auto [start, signal] = GENERATE(table<Start, int>(
      {{Start::mpirun, SIGTERM}, {Start::mpirun, SIGINT}, {Start::env, SIGTERM}}));
  WaitingJob job(start);
  REQUIRE(job.workers().size() == k_workers);

  ::kill(job.launcher(), signal);

  CHECK(job.left().empty());
  CHECK(job.result() == "not_run: interrupted");
}

TEST_CASE("one supervisor frozen ends the job, whichever it is") {
  const int frozen_rank = GENERATE(0, 1);
  Job job("endless");
  const base::Deadline patience = base::Deadline::after(std::chrono::seconds(k_patience_s));
  while (job.result().empty() && !patience.expired())
    ::usleep(10'000);
  REQUIRE(job.result() == "under way");
  const std::string mark = fmt::format("OMPI_COMM_WORLD_RANK={}", frozen_rank);

  for (pid_t supervisor : job.supervisors()) {
    const auto environment = test_launch::environment_of(supervisor);
    if (std::ranges::find(environment, mark) != environment.end())
      ::kill(supervisor, SIGSTOP);
  }

  CHECK(job.left(k_end_of_silence_s).empty());
  if (frozen_rank == 1)
    CHECK_THAT(job.result(), ContainsSubstring("the supervisors of rank 1 on") &&
                                 ContainsSubstring("no longer answer"));
}
