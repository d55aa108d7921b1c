// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What NVML and the kernel log say of a GPU that is not well.
namespace ncclprobe::knowledge {

struct Xid {
  int number = 0;
  std::string mnemonic;  // "FALLEN_OFF_BUS"
  std::string immediate; // NVIDIA's first action: "RESET_GPU", "RESTART_APP", "IGNORE"
  std::string meaning;
  std::string advice; // may be empty
  std::vector<std::string> sources;
};
const std::vector<Xid>& xids();
// nullptr if the table has no such Xid.
const Xid* xid(int number);

// A bit of nvmlDeviceGetCurrentClocksEventReasons.
struct ClockEventReason {
  std::uint64_t bit = 0;
  std::string name;     // "SwPowerCap"
  std::string label;    // "power cap"
  std::string severity; // "info", "warn", "fail"
  std::string meaning;
};
const std::vector<ClockEventReason>& clock_event_reasons();

} // namespace ncclprobe::knowledge
