// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/loaded_libraries.h"

#include "base/version.h"
#include "nvidia/factory.h"

#include <algorithm>
#include <filesystem>

namespace ncclprobe::worker {
namespace {

// Unchanged if it leads nowhere.
std::string resolved(const std::string& path) {
  std::error_code nowhere;
  std::filesystem::path real = std::filesystem::canonical(path, nowhere);
  return nowhere ? path : real.string();
}

void add(std::string& problem, const std::string& words) {
  problem += (problem.empty() ? "" : "; ") + words;
}

void compare_with(const std::string& asked, model::Library& library) {
  std::string wanted = resolved(asked);
  if (asked.find('/') == std::string::npos || wanted == library.path) // a bare name is searched for
    return;
  add(library.problem, fmt::format("{}{} was requested, but {} was loaded", asked,
                                   wanted == asked ? "" : " (" + wanted + ")", library.path));
}

void compare_with(const std::vector<model::Setting>& asked, model::Library& library) {
  for (const model::Setting& one : asked)
    if (one.name == library.name)
      compare_with(one.value, library);
}

void compare_with(const std::vector<model::MappedLibrary>& mapped, model::Library& library) {
  auto own = std::ranges::find(mapped, library.path, &model::MappedLibrary::path);
  if (own == mapped.end()) {
    add(library.problem,
        fmt::format("{} is not the loaded file: it was replaced or removed after loading",
                    library.path));
    return;
  }
  for (const model::MappedLibrary& other : mapped)
    if (other.path != own->path && !own->soname.empty() && other.soname == own->soname)
      add(library.problem, fmt::format("{} ({}) is loaded as well", other.path, other.soname));
}

} // namespace

std::vector<model::Library> loaded_libraries(std::vector<model::Library> named,
                                             const std::vector<model::Setting>& asked,
                                             const std::vector<model::MappedLibrary>& mapped) {
  for (model::Library& library : named) {
    library.path = resolved(library.path);
    compare_with(asked, library);
    compare_with(mapped, library);
  }
  return named;
}

model::Library this_program(const std::vector<model::Setting>& asked) {
  model::Library program{
      model::k_worker_program,
      fmt::format("{}, nvidia backend: {}", base::version_and_build(), nvidia::build_description()),
      resolved("/proc/self/exe"), ""};
  compare_with(asked, program);
  return program;
}

} // namespace ncclprobe::worker
