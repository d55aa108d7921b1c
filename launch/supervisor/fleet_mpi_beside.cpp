// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "launch/supervisor/fleet.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

// Replaces fleet_mpi.cpp in a package's ncclprobe, which runs on machines without MPI. Under a
// launcher it becomes ncclprobe-mpi beside it: the same program, linked with MPI.
namespace ncclprobe::launch {
namespace {

// Otherwise the loader would end ncclprobe-mpi without saying what to do.
Result<void> check_library() {
  if (dlopen(NCCLPROBE_MPI_SONAME, RTLD_LAZY | RTLD_LOCAL) != nullptr)
    return {};
  const char* words = dlerror();
  return fail(Error{Errc::unavailable,
                    fmt::format("a launcher started ncclprobe, but its MPI cannot be loaded: {}",
                                words != nullptr ? words : NCCLPROBE_MPI_SONAME),
                    "this package is built for MPI libraries named " NCCLPROBE_MPI_SONAME
                    " (Open MPI 4 and 5 have this name). Install one, or name its folder: "
                    "mpirun -x LD_LIBRARY_PATH"});
}

} // namespace

Result<std::unique_ptr<Fleet>> make_mpi_fleet(int*, char***) {
  NCCLPROBE_TRY(check_library());
  std::error_code none;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", none).parent_path() / "ncclprobe-mpi";
  NCCLPROBE_TRY_ASSIGN(std::string words, base::read_file("/proc/self/cmdline"));
  std::vector<char*> arguments;
  for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1)
    arguments.push_back(words.data() + at);
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  return fail(Error{Errc::unavailable,
                    fmt::format("cannot start {}: {}", program.string(), std::strerror(errno)),
                    "it belongs beside ncclprobe: install the package again"});
}

std::string mpi_library() {
  return "none; under a launcher ncclprobe becomes ncclprobe-mpi";
}

} // namespace ncclprobe::launch
