// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

// GPU health codes of NVML and the kernel log.
namespace ncclprobe::knowledge {

struct XidMeaning {
  int number = 0;
  std::string mnemonic;      // "FALLEN_OFF_THE_BUS"
  std::string meaning;       // "the GPU no longer answers on PCIe"
  std::string immediate;     // NVIDIA's first action: "RESET_GPU"; empty: the catalogue names none
  std::string investigatory; // and its action for finding the reason
  std::string advice;        // may be empty
  std::string cause; // the log cause that this Xid indicates ("gpu-fell-off-the-bus"); may be empty
  bool certain = false; // the number proves it
  std::string when;     // RE2: text that must follow the number in the line; may be empty
  std::vector<std::string> sources; // addresses
};
const std::vector<XidMeaning>& xids();
// nullptr if the table has no such Xid.
const XidMeaning* xid(int number);
// "RESET_GPU" as text: "drain the node and reset the GPU".
std::string action_text(const std::string& action);

} // namespace ncclprobe::knowledge
