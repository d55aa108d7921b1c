// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace ncclprobe::cli::job_files {

// A file of templates/, by its name without the suffix; empty if there is none.
std::string_view embedded_text(std::string_view name);

// What goes into a template.
struct Filling {
  std::set<std::string> parts;               // lines "#?part ..." of these stay
  std::map<std::string, std::string> values; // of @NAME@
};

// Replaces @NAME@. A line that begins with "#?part " stays without these words if the part is
// wanted, else it is left out. The lines of a value with several are indented like its first.
std::string fill(std::string_view text, const Filling& filling);

} // namespace ncclprobe::cli::job_files
