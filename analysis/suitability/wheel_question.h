// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/suitability/node_in_question.h"
#include "analysis/suitability/wheel_spec.h"

#include <string>
#include <vector>

// Will a PyTorch wheel run on a GPU? Uses the tables of official wheels; nothing is installed.
namespace ncclprobe::analysis {

struct WheelToTake {
  std::string wheel;   // "torch==2.8.0+cu126"
  std::string command; // the command that installs it
  bool newest = false; // of all that run
};
NCCLPROBE_FIELDS(WheelToTake, wheel, command, newest)

struct WheelVerdict {
  std::string gpu; // "GTX 1080"
  knowledge::ComputeCapability capability;
  knowledge::CpuKind cpu = knowledge::CpuKind::x86_64;
  Known runs = Known::unknown;
  std::string why;                   // one sentence
  std::vector<std::string> cautions; // of what runs
  std::vector<WheelToTake> instead;  // best first; empty if it runs
};

// One verdict for each GPU of the nodes.
std::vector<WheelVerdict> judge_wheel(const WheelSpec& wheel,
                                      const std::vector<NodeInQuestion>& nodes);
Known worst(const std::vector<WheelVerdict>& verdicts);

// CSV has a row for each GPU.
Report wheel_report(const WheelSpec& wheel, const std::vector<WheelVerdict>& verdicts);

} // namespace ncclprobe::analysis
