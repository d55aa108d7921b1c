// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/process_start.h"
#include "support/catch.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;

namespace {

// Whether `holds` in a child process, whose streams and limits may be changed.
bool in_another_process(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(holds() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

} // namespace

TEST_CASE("closed standard streams are not given to the next file that is opened") {
  CHECK(in_another_process([] {
    for (int fd : {0, 1, 2})
      ::close(fd);
    base::prepare_process();
    return ::open("/dev/null", O_RDONLY) > 2;
  }));
}

TEST_CASE("results cannot be written to a standard output that was closed, messages can be") {
  CHECK(in_another_process([] {
    for (int fd : {0, 1, 2})
      ::close(fd);
    base::prepare_process();
    const bool refused = ::write(1, "x", 1) < 0 && errno == EBADF;
    return refused && ::write(2, "x", 1) == 1;
  }));
}

TEST_CASE("open standard streams are left as they are") {
  CHECK(in_another_process([] {
    const int flags = ::fcntl(2, F_GETFL);
    base::prepare_process();
    return ::fcntl(2, F_GETFL) == flags;
  }));
}

TEST_CASE("writing beyond the size of a file that is allowed is an error and no end") {
  CHECK(in_another_process([] {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    base::prepare_process();
    char name[] = "/tmp/ncclprobe-limit-XXXXXX";
    const int fd = ::mkstemp(name);
    ::unlink(name);
    return ::write(fd, "x", 1) < 0 && errno == EFBIG;
  }));
}
