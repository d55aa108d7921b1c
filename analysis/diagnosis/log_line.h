// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// The origin and time of a log line, from the prefixes of launchers, frameworks and NCCL:
//   [rank3]:            PyTorch                 [1,3]<stderr>:       mpirun --tag-output
//   [default3]:         torchrun --tee          3:                   srun --label
//   host:pid:tid [gpu]  NCCL                    [E1121 12:00:01.5 ..]  glog
namespace ncclprobe::analysis {

// A clock reading. Only readings of one kind can be compared.
struct LogTime {
  enum class Kind { dated, yearless, uptime } kind = Kind::dated;
  double seconds = 0;
  std::string text; // as in the line
};

struct LogLine {
  std::optional<int> rank;
  std::optional<int> local_rank; // if no global rank is given
  std::string host;
  std::string process; // "host:pid" of NCCL's prefix
  std::optional<int> gpu;
  std::optional<LogTime> time;
  std::string_view body; // the text after the prefixes
};

// The line without its line break. Escape sequences must have been removed.
LogLine read_log_line(std::string_view line);

} // namespace ncclprobe::analysis
