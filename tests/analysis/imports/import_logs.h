// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"
#include "support/paths.h"

#include <fstream>
#include <sstream>
#include <string>

namespace ncclprobe::analysis::imports {

// A file in logs/, whose README says how each was made.
inline std::string import_log(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(support::source_dir() + "/tests/analysis/imports/logs/" + name).rdbuf();
  return text.str();
}

// The cell of that size and placement; it must exist.
inline const ImportedCell& cell_of(const ImportedProcess& process, std::uint64_t bytes,
                                   model::Placement placement = model::Placement::out_of_place) {
  for (const ImportedCell& cell : process.cells)
    if (cell.label.bytes == bytes && cell.label.placement == placement)
      return cell;
  raise(Errc::not_found, "no cell of {} bytes", bytes);
}

inline double time_ns_of(const ImportedCell& cell, std::size_t sample = 0) {
  const model::Sample& one = cell.record.samples.at(sample);
  return static_cast<double>(one.elapsed_ns) / one.iterations;
}

} // namespace ncclprobe::analysis::imports
