// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Is the worker whose name the program has.
#include "talk.h"

#include <cstdio>
#include <filesystem>

namespace ncclprobe::test_worker {
namespace {
const Worker* first_worker = nullptr;
}

Worker::Worker(const char* worker_name, int (*worker_main)(int, char**))
    : name(worker_name), main(worker_main), next(first_worker) {
  first_worker = this;
}
} // namespace ncclprobe::test_worker

int main(int argc, char** argv) {
  const auto name = std::filesystem::read_symlink("/proc/self/exe").filename();
  for (const auto* worker = ncclprobe::test_worker::first_worker; worker; worker = worker->next)
    if (name == worker->name)
      return worker->main(argc, argv);
  std::fprintf(stderr, "%s: there is no test worker of this name\n", name.c_str());
  return 2;
}
