// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/in_process_check.h"

#include "analysis/proof/nccl_log.h"
#include "analysis/results/cell_summary.h"
#include "base/text_files.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {
namespace {

constexpr FindingKind k_other_choice{
    "other_choice", Severity::note,
    "as delivered, the library's log shows {used}, which is not {asked}"};
constexpr FindingKind k_fewer_channels{
    "fewer_channels", Severity::note,
    "as delivered, the library took {used} channels, and {asked} were asked for"};
constexpr FindingKind k_same_choice{
    "same_choice", Severity::note,
    "not found: as delivered, the library's log shows the same choice"};
constexpr FindingKind k_no_log{"no_log", Severity::note,
                               "not found: no log shows what the library chose as delivered"};

// Empty: the settings have none of that name.
std::string value_of(const std::vector<model::Setting>& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &model::Setting::name);
  return found == settings.end() ? "" : found->value;
}

Finding compare_log(const std::vector<Use>& uses, const std::vector<model::Setting>& settings) {
  if (uses.empty())
    return {&k_no_log};
  for (const char* name : {"algorithm", "protocol"}) {
    const std::string asked = value_of(settings, name);
    for (const Use& use : uses)
      if (!asked.empty() &&
          !is_logged_as(asked, name == std::string_view("protocol") ? use.protocol : use.algorithm))
        return {&k_other_choice, {{"used", in_words(use)}, {"asked", asked}}};
  }
  if (const auto asked = base::number_of<int>(value_of(settings, "channels")))
    for (const Use& use : uses)
      if (use.channels > 0 && use.channels < *asked)
        return {&k_fewer_channels, {{"used", use.channels}, {"asked", *asked}}};
  return {&k_same_choice};
}

bool is_beyond(const RatioTest& test, double floor) {
  const bool is_shown = test.interval.low > 1 || test.interval.high < 1;
  return is_shown && std::max(test.ratio, 1 / test.ratio) > floor;
}

std::vector<double> times_ns(const std::vector<SettingResult>& results, const std::string& setting,
                             const model::CellLabel& label, const std::set<int>& without) {
  std::vector<double> times;
  for (const SettingResult& result : results)
    if (result.setting == setting && result.label == label)
      for (const ProcessTime& process : result.processes)
        if (!without.contains(process.trial))
          times.push_back(process.time.over_batches_ns.median);
  return times;
}

} // namespace

std::vector<InProcessCheck> check_in_process(const RunSummary& run,
                                             const std::vector<InProcessTarget>& targets,
                                             const std::string& delivered,
                                             const std::vector<Explanation>& explanations,
                                             const std::set<int>& without) {
  const std::vector<SettingResult> results = setting_results(run);
  std::vector<InProcessCheck> checks;
  for (const InProcessTarget& one : targets) {
    InProcessCheck& check = checks.emplace_back();
    check.target = one.target;
    check.settings = model::label_of(one.settings);
    const auto within = times_ns(results, check.settings, one.cells.of_delivery, without);
    const auto fresh = times_ns(results, delivered, one.cells.of_delivery, without);
    check.in_process_processes = static_cast<int>(within.size());
    check.fresh_processes = static_cast<int>(fresh.size());
    check.ratio = welch_ratio(fresh, within, k_confidence);
    check.differs = check.ratio && is_beyond(*check.ratio, one.floor);
    const Finding logged = compare_log(explanations.at(one.target).of_delivery.uses, one.settings);
    if (logged.kind != &k_no_log)
      check.is_logged = logged.kind != &k_other_choice; // it may take fewer channels
    if (check.differs || check.is_logged == false)
      check.reason = logged;
  }
  return checks;
}

} // namespace ncclprobe::analysis::tune
