// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/doctor/findings.h"

#include <string>
#include <string_view>
#include <vector>

namespace ncclprobe::analysis::doctor {

// Findings that speak of a host's GPUs: the same one of several GPUs is one, whose fix names them
// all.
class GpuFindings {
public:
  explicit GpuFindings(const model::Survey& survey) : survey_(survey) {}

  // In `fix` each "-i GPUS" gets their numbers, as nvidia-smi takes them: "-i 0,3".
  void bad(const char* id, Severity severity, const std::string& what, const model::GpuHealth& gpu,
           const std::string& seen, const std::string& cost, const std::string& fix);
  void finish(Findings& into);
  // If nothing was found, `well` is, unless some of what it rests on was not told.
  void finish(const char* id, const char* well, const std::vector<std::string>& untold,
              Findings& into);

private:
  struct OfGpus {
    Finding finding;
    std::string gpus; // "0,3"
  };
  const model::Survey& survey_;
  std::vector<OfGpus> found_;
};

} // namespace ncclprobe::analysis::doctor
