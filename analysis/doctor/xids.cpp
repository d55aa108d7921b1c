// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/xids.h"

#include "base/text_layout.h"
#include "knowledge/health_codes.h"
#include "knowledge/log_causes.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

constexpr std::int64_t k_hour_s = 3600;
// Our limit.
constexpr std::int64_t k_old_s = 24 * k_hour_s;

// NVIDIA's catalogue has no action for some Xids; for these, the log cause decides.
bool is_only_a_warning(const knowledge::XidMeaning& xid) {
  const auto& causes = knowledge::log_causes();
  return std::any_of(causes.begin(), causes.end(), [&](const knowledge::LogCause& one) {
    return one.id == xid.cause && one.severity == knowledge::CauseSeverity::warn;
  });
}

// Whether NVIDIA's first action leaves the GPU in service. Unknown for an Xid that the table lacks.
bool spares_the_gpu(const model::Xid& seen) {
  constexpr int k_cleanup = 45; // another Xid caused it, and is judged instead
  if (seen.number == k_cleanup)
    return true;
  const knowledge::XidMeaning* known = knowledge::xid(seen.number);
  if (known == nullptr)
    return false;
  return known->immediate.empty()
             ? is_only_a_warning(*known)
             : known->immediate == "RESTART_APP" || known->immediate == "IGNORE";
}

std::string meaning_of(int number) {
  const knowledge::XidMeaning* known = knowledge::xid(number);
  if (known == nullptr)
    return fmt::format("Xid {}: not in our table", number);
  return fmt::format("Xid {} ({}): {}{}{}", number, known->mnemonic, known->meaning,
                     known->advice.empty() ? "" : "; " + known->advice,
                     known->immediate.empty() ? "" : "; first action: " + known->immediate);
}

enum class Era { recent, old, before_boot };

Era era_of(const model::Xid& xid, const model::KernelLog& log) {
  if (!xid.age_s)
    return Era::recent;
  if (log.uptime_s && *xid.age_s > *log.uptime_s)
    return Era::before_boot;
  return *xid.age_s > k_old_s ? Era::old : Era::recent;
}

std::string age_text(const std::optional<std::int64_t>& age_s) {
  if (!age_s)
    return "age unknown";
  if (*age_s < k_hour_s)
    return fmt::format("{} min ago", *age_s / 60);
  return *age_s < 2 * k_old_s ? fmt::format("{} h ago", *age_s / k_hour_s)
                              : fmt::format("{} days ago", *age_s / k_old_s);
}

// Worst first, then lines, newest first.
std::vector<std::string> evidence_of(const std::vector<const model::Xid*>& xids) {
  std::vector<std::string> seen;
  for (bool grave : {true, false})
    for (const model::Xid* xid : xids) {
      std::string meaning = meaning_of(xid->number);
      if (spares_the_gpu(*xid) != grave &&
          std::find(seen.begin(), seen.end(), meaning) == seen.end())
        seen.push_back(meaning);
    }
  for (auto xid = xids.rbegin(); xid != xids.rend(); ++xid)
    seen.push_back(fmt::format("{}: {}", age_text((*xid)->age_s), (*xid)->line));
  return seen;
}

CheckResult finding_of(Era era, const std::vector<const model::Xid*>& xids) {
  bool harmless = std::all_of(xids.begin(), xids.end(),
                              [](const model::Xid* xid) { return spares_the_gpu(*xid); });
  CheckResult finding{"D11", CheckStatus::info, {}, evidence_of(xids)};
  std::vector<int> numbers;
  for (const model::Xid* xid : xids)
    numbers.push_back(xid->number);
  Object values{{"xids", base::count_of(xids.size(), "Xid", "Xids")}, {"numbers", numbers}};
  switch (era) {
  case Era::recent:
    finding.status = harmless ? CheckStatus::warn : CheckStatus::fail;
    finding.what = harmless ? What("xids_solved",
                                   "the kernel log has {xids} of the NVIDIA driver, all solved by "
                                   "a restart of the application",
                                   std::move(values))
                            : What("xids", "the kernel log has {xids} of the NVIDIA driver",
                                   std::move(values));
    finding.cost = "ranks die or hang; the Xid number says what is broken";
    finding.fix = "ncclprobe doctor --log explains these lines";
    break;
  case Era::old:
    values.emplace_back("limit_h", k_old_s / k_hour_s);
    finding.what = {"xids_old",
                    "{xids} of the NVIDIA driver since the host was started, older than {limit_h} "
                    "h (our limit)",
                    std::move(values)};
    if (harmless)
      break;
    finding.status = CheckStatus::warn;
    finding.cost = "a GPU that still needs a reset may fail again";
    finding.fix = "ncclprobe doctor --log explains these lines; if the GPU has not been reset "
                  "since: reboot when the node is free";
    break;
  case Era::before_boot:
    finding.what = {"xids_before_boot",
                    "{xids} of the NVIDIA driver from before the host was started",
                    std::move(values)};
    break;
  }
  return finding;
}

} // namespace

void check_xids(const model::Survey& survey, CheckResults& into) {
  const model::KernelLog& log = survey.host->kernel_log;
  if (log.source.empty()) {
    into.add_host(survey,
                  {"D11",
                   CheckStatus::unknown,
                   {"kernel_log_unreadable", "the kernel log is not readable: Xids are unknown"},
                   {log.problem},
                   "",
                   "sudo dmesg | grep -i xid"});
    return;
  }
  for (Era era : {Era::recent, Era::old, Era::before_boot}) {
    std::vector<const model::Xid*> xids;
    for (const model::Xid& one : log.xids)
      if (era_of(one, log) == era)
        xids.push_back(&one);
    if (!xids.empty())
      into.add_host(survey, finding_of(era, xids));
  }
}

} // namespace ncclprobe::analysis::doctor
