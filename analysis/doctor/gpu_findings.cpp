// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/gpu_findings.h"

#include "analysis/doctor/facts.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis::doctor {

void GpuFindings::bad(const char* id, Severity severity, const What& what,
                      const model::GpuHealth& gpu, const std::string& seen, const std::string& cost,
                      const std::string& fix) {
  auto same = std::find_if(found_.begin(), found_.end(), [&](const OfGpus& one) {
    const Finding& finding = one.finding;
    return finding.id == id && finding.severity == severity && finding.what == what &&
           finding.fix == fix;
  });
  if (same == found_.end()) {
    found_.push_back({{id, severity, what, {}, cost, fix}, {}});
    same = std::prev(found_.end());
  }
  same->finding.evidence.push_back(seen.empty() ? gpu_label(gpu) : gpu_label(gpu) + ": " + seen);
  same->gpus.push_back(gpu.index);
}

void GpuFindings::finish(Findings& into) {
  constexpr std::string_view k_gpus = "-i GPUS";
  for (OfGpus& one : found_) {
    std::size_t at = one.finding.fix.find(k_gpus);
    if (at != std::string::npos)
      one.finding.fix.replace(at + 3, k_gpus.size() - 3,
                              fmt::format("{}", fmt::join(one.gpus, ",")));
    into.add_host(survey_, std::move(one.finding));
  }
}

void GpuFindings::finish(const char* id, const What& well, const std::vector<std::string>& untold,
                         Findings& into) {
  finish(into);
  if (!untold.empty())
    into.add_host(survey_,
                  {id, Severity::unknown,
                   What("partly_unknown", "'{what}' cannot be confirmed: some data is missing",
                        {{"what", well.sentence}}),
                   untold, "", "nvidia-smi -q"});
  else if (found_.empty())
    into.add_host(survey_, {id, Severity::ok, well});
}

} // namespace ncclprobe::analysis::doctor
