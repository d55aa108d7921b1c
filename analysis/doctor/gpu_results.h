// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/check_results.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// Results about a host's GPUs. Equal results of several GPUs become one, whose fix names all of
// them.
class GpuResults {
public:
  explicit GpuResults(const model::Survey& survey) : survey_(survey) {}

  // In `fix`, "{gpus}" stands for their numbers as nvidia-smi takes them: "0,3".
  void bad(const char* id, CheckStatus status, const What& what, const model::GpuHealth& gpu,
           const std::string& seen, const Words& cost, const Words& fix);
  void finish(CheckResults& into);
  // Reports `well` if nothing was found, unless some of its inputs are unknown.
  void finish(const char* id, const What& well, const std::vector<std::string>& untold,
              CheckResults& into);

private:
  struct OfGpus {
    CheckResult finding;
    std::vector<int> gpus;
  };
  const model::Survey& survey_;
  std::vector<OfGpus> found_;
};

} // namespace ncclprobe::analysis::doctor
