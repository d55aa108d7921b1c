// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "base/clock.h"
#include "launch/supervisor/process_state.h"
#include "launch/supervisor/shared_memory_sweep.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;
using launch::SharedMemorySweep;

namespace {

namespace fs = std::filesystem;

fs::path make_file(const fs::path& path) {
  std::ofstream(path) << std::string(4096, 'x');
  return path;
}

// A process that has a file mapped, until it is killed.
class User {
public:
  explicit User(const fs::path& path) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      int file = ::open(path.c_str(), O_RDWR);
      ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
      ::close(file);
      ::close(ready[0]);
      ::close(ready[1]);
      while (true)
        ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    (void)!::read(ready[0], &byte, 1); // end of file: it is mapped
    ::close(ready[0]);
  }
  ~User() { end(); }
  void end() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }

private:
  pid_t pid_ = -1;
};

// Nothing is removed while a process of ours is blocked in the kernel: the next look decides.
template <typename Look>
void look_until_gone(const fs::path& file, Look look) {
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  do
    look();
  while (fs::exists(file) && !patience.expired());
}

} // namespace

TEST_CASE("what a killed worker had mapped is removed, once nobody uses it") {
  support::ScratchFolder folder;
  fs::path file = make_file(folder / "nccl-abc");
  SharedMemorySweep sweep(folder.path());
  User worker(file);
  sweep.note(worker.pid());

  worker.end();
  look_until_gone(file, [&] { sweep.look(std::time(nullptr) + 60); });

  CHECK(!fs::exists(file));
}

TEST_CASE("what somebody uses stays, whoever had it mapped before") {
  support::ScratchFolder folder;
  fs::path file = make_file(folder / "nccl-abc");
  SharedMemorySweep sweep(folder.path());
  User worker(file);
  User other(file);
  sweep.note(worker.pid());

  worker.end();
  sweep.look(0);
  sweep.last_look();

  CHECK(fs::exists(file));
}

TEST_CASE(
    "a file that no worker was seen with goes at the second look, if it came since the spawn") {
  support::ScratchFolder folder;
  fs::path file = make_file(folder / "nccl-abc");
  fs::path stranger = make_file(folder / "other-abc");
  SharedMemorySweep sweep(folder.path());

  sweep.look(std::time(nullptr) + 60);
  sweep.last_look();
  CHECK(fs::exists(file)); // it was there before
  sweep.look(0);
  CHECK(fs::exists(file));
  look_until_gone(file, [&] { sweep.last_look(); });

  CHECK(!fs::exists(file));
  CHECK(fs::exists(stranger));
}

TEST_CASE("who waits for a moment in the kernel does not keep a killed worker's file") {
  support::ScratchFolder folder;
  fs::path file = make_file(folder / "nccl-abc");
  SharedMemorySweep sweep(folder.path());
  User worker(file);
  sweep.note(worker.pid());
  worker.end();
  pid_t starter = ::fork();
  if (starter == 0) {
    for (int i = 0; i < 40; ++i)
      if (pid_t child = ::vfork(); child == 0) { // the starter waits in state D
        timespec pause{0, 5'000'000};
        ::nanosleep(&pause, nullptr);
        ::_exit(0);
      } else {
        ::waitpid(child, nullptr, 0);
      }
    ::_exit(0);
  }
  base::Deadline patience = base::Deadline::after(std::chrono::seconds(10));
  while (!launch::is_stuck_in_kernel(starter) && !patience.expired())
    ;

  bool ended = false;
  do {
    sweep.look(std::time(nullptr) + 60);
    ended = ::waitpid(starter, nullptr, WNOHANG) == starter;
  } while (fs::exists(file) && !ended);
  if (!ended) {
    ::kill(starter, SIGKILL);
    ::waitpid(starter, nullptr, 0);
  }

  CHECK(!ended);
  CHECK(!fs::exists(file));
}

TEST_CASE("the shared memory of a worker that is killed is gone after the run") {
  std::string how = GENERATE("crash", "hang");
  std::string name = "/dev/shm/nccl-" + std::to_string(::getpid()) + how;
  launch::SupervisorOptions options =
      test_launch::make_options("leave_shared_memory", {"SEGMENT=" + name});
  auto fleet = launch::make_local_fleet();
  launch::Supervisor supervisor(*fleet, test_launch::make_layout(2), options);
  model::TrialSpec spec = test_launch::make_spec(2, 1, 1, how);
  spec.cells[0].deadline_ns = 300'000'000;

  model::TrialRecord record = supervisor.run(spec);
  supervisor.release();

  CHECK(!record.outcome.ok());
  CHECK_THAT(record.workers.at(1).output_tail, ContainsSubstring("made " + name));
  CHECK(!fs::exists(name));
}
