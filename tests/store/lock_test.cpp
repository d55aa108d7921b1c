// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/child_process.h"
#include "store/run_file.h"
#include "store/run_lock.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace ncclprobe;
using base::Errc;

TEST_CASE("a run that is being written is neither begun nor folded by others, and can be read") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    bool stored = store::begin_run(file, support::example_header(2)) &&
                  store::write_part(file, support::example_trial(0));
    support::say(to_parent, stored ? 'y' : 'n');
    ::pause();
  });
  REQUIRE(writer.hear() == 'y');

  auto begun = store::begin_run(file, support::example_header(2));
  auto folded = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(begun.error().code == Errc::unavailable);
  REQUIRE_THAT(begun.error().message,
               ContainsSubstring(fmt::format("is being written by process {} on ", writer.pid())));
  REQUIRE(folded.error().code == Errc::unavailable);
  REQUIRE(read);
  REQUIRE(read->trials.size() == 1);
  writer.kill();
  REQUIRE(store::fold(file)->trials == 1);
}

TEST_CASE("a run that is being written is not resumed by others, until its process has ended") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    bool stored = store::begin_run(file, support::example_header(2)) &&
                  store::write_part(file, support::example_trial(0)) && store::fold(file) &&
                  store::resume_run(file);
    support::say(to_parent, stored ? 'y' : 'n');
    ::pause();
  });
  REQUIRE(writer.hear() == 'y');

  int writer_pid = writer.pid();

  auto refused = store::resume_run(file);
  writer.kill();
  auto resumed = store::resume_run(file);

  REQUIRE(refused.error().code == Errc::unavailable);
  REQUIRE_THAT(refused.error().message,
               ContainsSubstring(fmt::format("is being written by process {} on ", writer_pid)));
  REQUIRE(resumed);
}

namespace {

int no_locks(int, int) {
  errno = ENOLCK;
  return -1;
}

} // namespace

TEST_CASE("without locks in the file system, a file keeps others out until its process is gone") {
  support::ScratchFolder folder;
  support::ChildProcess holder([&](int to_parent) {
    auto lock = store::RunLock::take(folder.path(), no_locks);
    auto again = store::RunLock::take(folder.path(), no_locks); // shared within a process
    support::say(to_parent, lock && again ? 'y' : 'n');
    lock->keep_until_exit();
    ::pause();
  });
  REQUIRE(holder.hear() == 'y');
  int pid = holder.pid();

  auto refused = store::RunLock::take(folder.path(), no_locks);
  holder.kill(); // leaves the file
  bool file_left = std::filesystem::exists(folder / store::k_owner_name);
  auto taken = store::RunLock::take(folder.path(), no_locks);

  REQUIRE(refused.error().code == Errc::unavailable);
  REQUIRE_THAT(refused.error().text(),
               ContainsSubstring(fmt::format("is being written by process {} on ", pid)) &&
                   ContainsSubstring("locks do not end with their process"));
  REQUIRE(file_left);
  REQUIRE(taken);
}

namespace {
std::filesystem::path removed_before_lock;
int lock_after_removal(int fd, int operation) {
  std::filesystem::remove(std::exchange(removed_before_lock, {}));
  return ::flock(fd, operation);
}
} // namespace

TEST_CASE("a lock on a file that was removed meanwhile is taken anew, on the file that is there") {
  support::ScratchFolder folder;
  removed_before_lock = folder / store::k_lock_name;
  auto lock = store::RunLock::take(folder.path(), lock_after_removal);
  support::ChildProcess other([&](int to_parent) {
    std::filesystem::path there = folder / store::k_lock_name;
    int fd = ::open(there.c_str(), O_RDWR | O_CLOEXEC);
    bool kept_out = fd >= 0 && ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    support::say(to_parent, kept_out ? 'y' : 'n');
  });

  CHECK(lock);
  CHECK(other.hear() == 'y');
}

TEST_CASE(
    "without locks, a process of another host counts as alive, and the message says what to do") {
  support::ScratchFolder folder;
  auto owner = folder / store::k_owner_name;
  REQUIRE(base::write_file_atomically(owner, "process 7 on elsewhere\n123"));

  auto refused = store::RunLock::take(folder.path(), no_locks);

  REQUIRE(refused.error().code == Errc::unavailable);
  REQUIRE_THAT(refused.error().text(), ContainsSubstring("process 7 on elsewhere") &&
                                           ContainsSubstring("remove " + owner.string()));
  std::filesystem::remove(owner);
  { REQUIRE(store::RunLock::take(folder.path(), no_locks)); }
  REQUIRE(!std::filesystem::exists(owner)); // given back
}

TEST_CASE("a run that was killed before its header was stored does not block the next") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  std::filesystem::create_directory(store::parts_folder(file));

  REQUIRE(store::begin_run(file, support::example_header(1)));
}

TEST_CASE("a reader misses no trial while the writer stores, folds and removes the parts") {
  constexpr std::size_t k_trials = 12;
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    bool good = static_cast<bool>(store::begin_run(file, support::example_header(k_trials)));
    support::say(to_parent, 'b');
    for (int id = 0; id < static_cast<int>(k_trials); ++id)
      good = good && store::write_part(file, support::example_trial(id));
    good = good && store::fold(file);
    support::say(to_parent, good ? 'y' : 'n');
  });
  REQUIRE(writer.hear() == 'b');

  std::size_t seen = 0;
  while (seen < k_trials || std::filesystem::exists(store::parts_folder(file))) {
    auto read = store::read_run(file);
    REQUIRE((read ? "" : read.error().text()) == std::string());
    REQUIRE(read->trials.size() >= seen);
    seen = read->trials.size();
  }

  REQUIRE(writer.hear() == 'y');
}
