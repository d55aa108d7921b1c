// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/diagnosis/log_line.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ncclprobe::analysis {

// Joins a message of NVIDIA's driver that the kernel log has in several lines:
//   NVRM: The NVIDIA GPU 0000:41:00.0
//   NVRM: (PCI ID: 10de:2330) installed in this system has
//   NVRM: fallen off the bus and is not responding to commands.
class DriverEvent {
public:
  // Whether an event is stored that this line cannot continue.
  bool is_over(const LogLine& line, std::uint64_t number) const;
  // True if the line begins an event or continues the stored one; it is then stored.
  bool keep(const LogLine& line, std::uint64_t number);

  struct Whole {
    LogLine place; // of the first line, without its body
    std::string text;
    std::uint64_t number = 0; // of the first line
  };
  // The stored event, if any; nothing is stored afterwards.
  std::optional<Whole> take();

private:
  std::optional<Whole> kept_;
  std::uint64_t last_number_ = 0;
  bool complete_ = false;
};

} // namespace ncclprobe::analysis
