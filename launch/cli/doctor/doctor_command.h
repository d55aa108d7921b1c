// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/common/usage.h"
#include "model/trial.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::cli {

struct World;

constexpr std::int64_t k_second_ns = 1'000'000'000;

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

struct DoctorOptions : ResultOptions {
  std::string offline; // JSON of an earlier examination to judge again, instead of the machine
  std::optional<std::string> backend;
  std::optional<int> ranks;
  bool deep = false;
  std::int64_t load_ns = 60'000'000'000; // sustained load of deep
  bool no_run = false;                   // look only: no kernel, no collective
  std::vector<model::Setting> libraries;
  std::string python;        // interpreter whose PyTorch is judged too; empty: none
  DoctorQuestions questions; // answered instead of an examination
};
Usage doctor_usage(DoctorOptions& into);

// `ncclprobe doctor`, on every rank. Returns the exit code, on the leader that of the worst
// finding.
int doctor_command(const World& world, const DoctorOptions& options);

} // namespace ncclprobe::cli
