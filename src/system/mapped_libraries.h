// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Files with executable mappings in <root>/proc/self/maps, in the order of their first mapping; the
// files themselves are read below `root` too.
std::vector<model::MappedLibrary> mapped_libraries(const std::filesystem::path& root = "/");

// What the dynamic section of an ELF file says of its name and of where its own libraries are
// looked for. Nothing for what is no 64-bit ELF file of this machine's byte order.
struct DynamicNames {
  std::string soname;
  std::string runpath;
  bool rpath = false;
};
std::optional<DynamicNames> dynamic_names(const std::filesystem::path& file);

} // namespace ncclprobe::system
