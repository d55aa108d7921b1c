// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/export_line.h"

#include "base/shell_word.h"

namespace ncclprobe::analysis {

std::string export_line(const std::vector<model::Setting>& settings) {
  std::string line = "export";
  for (const model::Setting& one : settings)
    line += fmt::format(" {}={}", one.name, base::shell_word(one.value));
  return line;
}

} // namespace ncclprobe::analysis
