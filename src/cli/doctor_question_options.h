// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ncclprobe::cli {

// What doctor can be asked instead of examining the machine.
struct DoctorQuestions {
  std::string log;    // a log to diagnose; "-": standard input
  std::string binary; // a program or library whose GPU code is to be listed
  bool explain_gpu = false;
  std::vector<std::string> gpus; // for binary and explain_gpu; none: those of this host
  std::map<std::string, double> prices;

  // A GPU or a price alone asks for an explanation.
  bool any() const {
    return !log.empty() || !binary.empty() || explain_gpu || !gpus.empty() || !prices.empty();
  }
};

// The options --log, --binary, --explain-gpu, --gpu and --price.
void declare_doctor_questions(CLI::App& app, DoctorQuestions& questions);

} // namespace ncclprobe::cli
