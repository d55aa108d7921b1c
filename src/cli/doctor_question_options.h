// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/option.h"

#include <map>
#include <string>
#include <vector>

namespace ncclprobe::cli {

// What doctor can be asked instead of examining the machine.
struct DoctorQuestions {
  std::string log;    // a log to diagnose; "-": standard input
  std::string binary; // a program or library whose GPU code is to be listed
  bool explain_gpu = false;
  std::string wheel; // a PyTorch wheel: will it run?
  // For binary, explain_gpu and wheel; neither: this host.
  std::vector<std::string> gpus;
  std::vector<std::string> nodes; // files of examinations and runs
  std::string policy;             // a file; for explain_gpu
  std::map<std::string, double> prices;

  // A GPU, a node, a policy or a price alone asks for an explanation.
  bool any() const {
    return !log.empty() || !binary.empty() || explain_gpu || !wheel.empty() || !gpus.empty() ||
           !nodes.empty() || !policy.empty() || !prices.empty();
  }
};

Options doctor_question_options(DoctorQuestions& into);

} // namespace ncclprobe::cli
