// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D34: whether the measured collective is as fast as on comparable machines.
#include "analysis/doctor/check_results.h"
#include "analysis/reference/reference_range.h"
#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

using model::OutcomeKind;

constexpr std::size_t k_causes = 3;

bool on_one_host(const Case& one) {
  return std::all_of(one.surveys.begin(), one.surveys.end(), [&](const model::Survey& survey) {
    return survey.inventory.same_host(one.surveys.front().inventory);
  });
}

bool turns_nvls_off(const model::Survey& survey) {
  const model::Setting* setting = survey.variable("NCCL_NVLS_ENABLE");
  return setting != nullptr && setting->value == "0";
}

// An estimate from the links' ceilings is weaker evidence than published measurements.
CheckStatus status_of(const RangeVerdict& verdict) {
  switch (verdict.verdict) {
  case RangeLevel::normal:
    return CheckStatus::ok;
  case RangeLevel::low:
    return verdict.estimate ? CheckStatus::info : CheckStatus::warn;
  case RangeLevel::broken:
    return verdict.estimate ? CheckStatus::warn : CheckStatus::fail;
  default:
    return CheckStatus::info;
  }
}

void judge(const SmokeTest& smoke_test, const SmokeTestCell& cell, const NodeLinks& links,
           bool nvls_off, CheckResults& into) {
  MeasuredFigure figure{{.collective = cell.label.workload()},
                        cell.label.bytes,
                        smoke_test.ranks,
                        *cell.busbw_gb_per_s,
                        nvls_off};
  RangeVerdict verdict = judge_by_range(links, figure);
  Object values{{"what", fmt::format("{} of {} MiB on {} ({})", cell.label.workload(),
                                     cell.label.bytes >> 20, smoke_test.name,
                                     base::count_of(static_cast<std::size_t>(smoke_test.ranks),
                                                    "GPU", "GPUs"))},
                {"collective", cell.label.workload()},
                {"bytes", cell.label.bytes},
                {"ranks", smoke_test.ranks},
                {"busbw_gb_per_s", *cell.busbw_gb_per_s},
                {"speed", to_string(verdict.verdict)}};
  std::vector<std::string> seen{fmt::format("bus bandwidth {}", describe(verdict, figure))};
  if (!verdict.source.empty())
    seen.push_back("source: " + verdict.source);
  std::string causes; // a fitting ceiling, but no measurement
  for (std::size_t i = 0; i < verdict.causes.size() && i < k_causes; ++i)
    causes += fmt::format("{}{}. {}", i == 0 ? "" : "; ", i + 1, verdict.causes[i]);
  CheckStatus status = status_of(verdict);
  bool bad = status >= CheckStatus::warn;
  if (!causes.empty())
    values.emplace_back("causes", causes);
  into.add({"D34", status,
            verdict.verdict == RangeLevel::unknown
                ? What("no_reference", "{what}: there is no reference value to compare it with",
                       std::move(values))
                : What("speed", "{what}: the speed is {speed}", std::move(values)),
            seen, bad ? "every training step waits for it" : "",
            !bad             ? ""
            : causes.empty() ? "ncclprobe p2p shows which links are slow; ncclprobe run "
                               "--collectives {collective} measures it at all sizes"
                             : "ncclprobe p2p shows which links are slow; ncclprobe run "
                               "--collectives {collective} measures it at all sizes. The cause is "
                               "unknown; it may be {causes}"});
}

} // namespace

void check_speed(const Case& one, CheckResults& into) {
  if (one.surveys.empty() || one.backend != "nvidia" || !on_one_host(one))
    return; // published results between hosts do not apply to this network
  auto links = node_links(one.surveys.front().inventory);
  if (!links)
    return;
  for (const SmokeTest& smoke_test : one.smoke_tests)
    for (const SmokeTestCell& cell : smoke_test.cells)
      if (cell.busbw_gb_per_s && cell.outcome.ok())
        judge(smoke_test, cell, *links, turns_nvls_off(one.surveys.front()), into);
      else if (cell.label.bytes >= k_measured_bytes && cell.outcome.kind == OutcomeKind::skipped)
        into.add({"D34",
                  CheckStatus::info,
                  What("not_measured", "the {collective} of {mib} MiB was not measured",
                       {{"collective", cell.label.workload()}, {"mib", cell.label.bytes >> 20}}),
                  {cell.outcome.reason}});
}

} // namespace ncclprobe::analysis::doctor
