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
  std::string mnemonic;      // "FALLEN_OFF_THE_BUS"
  std::string meaning;       // "the GPU no longer answers on PCIe"
  std::string immediate;     // NVIDIA's first action: "RESET_GPU"; empty: the catalogue names none
  std::string investigatory; // and what it wants done about the reason
  std::string advice;        // may be empty
  std::string cause;         // of a log that this Xid shows ("gpu-fell-off-the-bus"); may be empty
  bool certain = false;      // the number proves it
  std::string when;          // RE2: what the line must say behind the number; may be empty
  std::vector<std::string> sources; // addresses
};
const std::vector<Xid>& xids();
// nullptr if the table has no such Xid.
const Xid* xid(int number);
// "RESET_GPU" in words: "drain the node and reset the GPU".
std::string action_text(const std::string& action);

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
