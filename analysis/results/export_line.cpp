// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/export_line.h"

#include "base/shell_word.h"
#include "base/stored_variables.h"

#include <fmt/ranges.h>

namespace ncclprobe::analysis {

std::string export_line(const std::vector<model::Setting>& settings) {
  std::string line = "export";
  for (const model::Setting& one : settings)
    line += fmt::format(" {}={}", one.name, base::shell_word(one.value));
  return line;
}

std::vector<std::string> removed_variables(const std::vector<model::Setting>& settings) {
  std::vector<std::string> names;
  for (const model::Setting& one : settings)
    if (one.value == base::k_value_unset)
      names.push_back(one.name);
  return names;
}

std::vector<model::Setting> without_removed(std::vector<model::Setting> settings) {
  std::erase_if(settings,
                [](const model::Setting& one) { return one.value == base::k_value_unset; });
  return settings;
}

std::vector<std::string> shell_lines(const std::vector<model::Setting>& settings) {
  std::vector<std::string> lines;
  if (const auto names = removed_variables(settings); !names.empty())
    lines.push_back(fmt::format("unset {}", fmt::join(names, " ")));
  if (const auto others = without_removed(settings); !others.empty())
    lines.push_back(export_line(others));
  return lines;
}

} // namespace ncclprobe::analysis
