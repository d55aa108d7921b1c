// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::imports {

struct LogLine {
  std::size_t number = 0; // in the file, from one
  std::string text;       // without prefix, carriage return and terminal escape codes
  bool is_whole = true;   // false: the file ends within it
};

// The lines of a log by the process that printed them. Launchers and batch systems put a prefix
// before each line, and the lines of several processes may alternate:
//   mpirun --tag-output       "[1,0]<stdout>:"
//   srun --label              "0: "
//   mpiexec -prepend-rank     "[0] "
//   container logs            "2026-05-01T12:34:56.789Z "
// Lines with the same prefix, apart from a time, are one stream. Streams are in the order of their
// first lines. Empty lines are left out. Errors: invalid_argument if there are more lines or
// streams than a log of measurements has.
Result<std::vector<std::vector<LogLine>>> log_streams(std::string_view text);

} // namespace ncclprobe::analysis::imports
