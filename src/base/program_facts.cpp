// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/program_facts.h"

#include "base/version.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

namespace ncclprobe::base {

ProgramFacts common_facts() {
  ProgramFacts facts;
  std::error_code none;
  facts.program = std::filesystem::read_symlink("/proc/self/exe", none).filename().string();
  facts.version = version();
  facts.build = build_id();
  facts.compiler = compiler();
  return facts;
}

std::string in_lines(const ProgramFacts& facts) {
  const std::pair<const char*, const std::string&> k_rows[] = {
      {"chosen because", facts.chosen_because},
      {"commit", facts.commit},
      {"build", facts.build},
      {"compiler", facts.compiler},
      {"MPI", facts.mpi},
      {"HDF5", facts.hdf5},
      {"Gloo", facts.gloo},
      {"nvidia backend", facts.nvidia_backend},
      {"headers of", facts.nvidia_headers}};
  std::string text = fmt::format("{} {}\n", facts.program, facts.version);
  for (const auto& [name, value] : k_rows)
    if (!value.empty())
      text += fmt::format("  {:<16}{}\n", name, value);
  return text;
}

} // namespace ncclprobe::base
