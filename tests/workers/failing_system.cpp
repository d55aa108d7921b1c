// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Loaded by LD_PRELOAD. STEP_CLOCK: the time of day jumps by an hour, forth and back, with each
// look at it. FAIL_WITH, a number of errno, and FAIL_UNDER, a folder: after FAIL_AFTER files were
// begun there, none can be begun or written. STALL_LAUNCHER: mpirun is stopped for that many
// milliseconds while rank 1 says farewell to it.
#include <climits>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

bool lies_there(int fd) {
  const char* under = std::getenv("FAIL_UNDER");
  if (under == nullptr)
    return false;
  char link[64];
  char path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof path);
  const std::size_t length = std::strlen(under);
  return size > 0 && static_cast<std::size_t>(size) >= length &&
         std::strncmp(path, under, length) == 0;
}

std::atomic<int> begun{0};

bool fails() {
  const char* after = std::getenv("FAIL_AFTER");
  if (after == nullptr || begun < std::atoi(after))
    return false;
  errno = std::atoi(std::getenv("FAIL_WITH"));
  return true;
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  static const auto original = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = original(clock, now);
  static std::atomic<int> looks{0};
  if (clock == CLOCK_REALTIME && std::getenv("STEP_CLOCK") != nullptr && ++looks % 2 == 0)
    now->tv_sec -= 3600;
  return result;
}

int openat(int folder, const char* name, int flags, ...) {
  static const auto original = real<int (*)(int, const char*, int, ...)>("openat");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if ((flags & O_CREAT) != 0 && lies_there(folder) && (fails() || ++begun < 0))
    return -1;
  return original(folder, name, flags, mode);
}

ssize_t write(int fd, const void* bytes, std::size_t size) {
  static const auto original = real<ssize_t (*)(int, const void*, std::size_t)>("write");
  if (lies_there(fd) && fails())
    return -1;
  return original(fd, bytes, size);
}

// Of the library of Open MPI that talks to mpirun.
int PMIx_Finalize(const void* information, std::size_t size) {
  void* library = ::dlopen("libpmix.so.2", RTLD_NOLOAD | RTLD_NOW);
  const auto original =
      reinterpret_cast<int (*)(const void*, std::size_t)>(::dlsym(library, "PMIx_Finalize"));
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const char* stall_ms = std::getenv("STALL_LAUNCHER");
  if (rank != nullptr && stall_ms != nullptr && std::strcmp(rank, "1") == 0) {
    const pid_t launcher = ::getppid();
    ::kill(launcher, SIGSTOP);
    if (::fork() == 0) {
      ::close_range(0, ~0U, 0);
      ::usleep(static_cast<useconds_t>(std::atoi(stall_ms)) * 1000);
      ::kill(launcher, SIGCONT);
      ::_exit(0);
    }
  }
  return original(information, size);
}
}
