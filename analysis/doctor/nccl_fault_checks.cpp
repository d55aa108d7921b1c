// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D35: known faults of the loaded NCCL, from its release notes.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"

namespace ncclprobe::analysis::doctor {

// Some circumstances of a fault are not visible here. It is therefore named without a warning.
void check_nccl_faults(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    const model::Library* nccl = survey.inventory.library("nccl");
    auto version = knowledge::parse_version(nccl == nullptr ? "" : nccl->version);
    const std::vector<GpuInQuestion> gpus = gpus_in_question(survey);
    if (!version || gpus.empty())
      continue;
    const std::vector<std::string> seen{fmt::format("{} at {}", version->text(), nccl->path)};
    bool any = false;
    for (const GpuInQuestion& gpu : gpus)
      for (const knowledge::KnownBadNccl* fault : bad_nccl(gpu))
        if (fault->concerns(*version)) {
          any = true;
          into.add(survey,
                   {"D35", CheckStatus::info,
                    What("nccl_fault", "NCCL {version} has a known fault: it {fault} ({when})",
                         {{"version", version->text()},
                          {"fault", fault->what},
                          {"when", fault->when},
                          {"way_out", fault->way_out}}),
                    seen, "", "{way_out}"});
        }
    if (!any)
      into.add(survey,
               {"D35", CheckStatus::ok,
                What("no_nccl_fault", "NCCL {version} has no known fault that affects these GPUs",
                     {{"version", version->text()}}),
                seen});
  }
}

} // namespace ncclprobe::analysis::doctor
