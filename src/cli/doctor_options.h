// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/log.h"
#include "base/output_file.h"
#include "cli/doctor_question_options.h"
#include "cli/usage.h"
#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

constexpr std::int64_t k_second_ns = 1'000'000'000;

struct DoctorOptions {
  std::string format = "text"; // or "json"
  base::Destination output;    // without a file: standard output
  std::string offline; // JSON of an earlier examination to judge again, instead of the machine
  std::optional<std::string> backend;
  std::optional<int> ranks;
  bool deep = false;
  std::int64_t load_ns = 60'000'000'000; // sustained load of deep
  bool no_run = false;                   // look only: no kernel, no collective
  std::vector<model::Setting> libraries;
  std::string python;        // interpreter whose PyTorch is judged too; empty: none
  DoctorQuestions questions; // answered instead of an examination
  base::Verbosity verbosity = base::Verbosity::normal;
};
Usage doctor_usage(DoctorOptions& into);

} // namespace ncclprobe::cli
