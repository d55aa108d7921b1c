// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/gpu_results.h"

#include "analysis/doctor/facts.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::analysis::doctor {

void GpuResults::bad(const char* id, CheckStatus status, const What& what,
                     const model::GpuHealth& gpu, const std::string& seen, const Words& cost,
                     const Words& fix) {
  auto same = std::find_if(found_.begin(), found_.end(), [&](const OfGpus& one) {
    const CheckResult& finding = one.finding;
    return finding.id == id && finding.status == status && finding.what == what &&
           finding.fix == fix;
  });
  if (same == found_.end()) {
    found_.push_back({{id, status, what, {}, cost, fix}, {}});
    same = std::prev(found_.end());
  }
  same->finding.evidence.push_back(seen.empty() ? gpu_label(gpu) : gpu_label(gpu) + ": " + seen);
  same->gpus.push_back(gpu.index);
}

void GpuResults::finish(CheckResults& into) {
  for (OfGpus& one : found_) {
    if (one.finding.fix.sentence.find("{gpus}") != std::string_view::npos)
      one.finding.what.values.emplace_back("gpus", fmt::format("{}", fmt::join(one.gpus, ",")));
    into.add_host(survey_, std::move(one.finding));
  }
}

void GpuResults::finish(const char* id, const What& well, const std::vector<std::string>& untold,
                        CheckResults& into) {
  finish(into);
  if (!untold.empty())
    into.add_host(survey_,
                  {id, CheckStatus::unknown,
                   What("partly_unknown", "'{what}' cannot be confirmed: some data is missing",
                        {{"what", well.sentence}}),
                   untold, "", "nvidia-smi -q"});
  else if (found_.empty())
    into.add_host(survey_, {id, CheckStatus::ok, well});
}

} // namespace ncclprobe::analysis::doctor
