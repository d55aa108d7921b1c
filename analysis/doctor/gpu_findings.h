// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/findings.h"

#include <string>
#include <vector>

namespace ncclprobe::analysis::doctor {

// Findings about a host's GPUs. Equal findings of several GPUs become one, whose fix names all of
// them.
class GpuFindings {
public:
  explicit GpuFindings(const model::Survey& survey) : survey_(survey) {}

  // In `fix`, "-i GPUS" is replaced by their numbers as nvidia-smi takes them: "-i 0,3".
  void bad(const char* id, Severity severity, const What& what, const model::GpuHealth& gpu,
           const std::string& seen, const std::string& cost, const std::string& fix);
  void finish(Findings& into);
  // Reports `well` if nothing was found, unless some of its inputs are unknown.
  void finish(const char* id, const What& well, const std::vector<std::string>& untold,
              Findings& into);

private:
  struct OfGpus {
    Finding finding;
    std::vector<int> gpus;
  };
  const model::Survey& survey_;
  std::vector<OfGpus> found_;
};

} // namespace ncclprobe::analysis::doctor
