// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/survey.h"

#include <filesystem>

namespace ncclprobe::system {

// Files with executable mappings in <root>/proc/self/maps, in the order of their first mapping; the
// files themselves are read below `root` too.
std::vector<model::MappedLibrary> mapped_libraries(const std::filesystem::path& root = "/");

// The name of an ELF file, and its search paths for libraries, from its dynamic section. Nothing
// for files other than 64-bit ELF of this machine's byte order.
struct DynamicNames {
  std::string soname;
  std::string runpath;
  bool rpath = false;
};
std::optional<DynamicNames> dynamic_names(const std::filesystem::path& file);

} // namespace ncclprobe::system
