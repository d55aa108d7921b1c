// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_line.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::analysis {

// What NVIDIA's driver tells in several lines of the kernel's log, as one line:
//   NVRM: The NVIDIA GPU 0000:41:00.0
//   NVRM: (PCI ID: 10de:2330) installed in this system has
//   NVRM: fallen off the bus and is not responding to commands.
class DriverEvent {
public:
  // Whether an event is kept that this line cannot continue.
  bool is_over(const LogLine& line, std::uint64_t number) const;
  // True if the line begins an event or continues the one that is kept: then it is kept itself.
  bool keep(const LogLine& line, std::uint64_t number);

  struct Whole {
    LogLine place; // of the first line; its body is gone
    std::string text;
    std::uint64_t number = 0; // of the first line
  };
  // The event that is kept, if any; nothing is kept afterwards.
  std::optional<Whole> take();

private:
  std::optional<Whole> kept_;
  std::uint64_t last_number_ = 0;
  bool complete_ = false;
};

} // namespace ncclprobe::analysis
