// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/compared_run.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/verdict/verdict.h"

#include <algorithm>

namespace ncclprobe::analysis::compare {

const RunCell* ComparedRun::cell(const CellKey& key) const {
  auto found = std::ranges::lower_bound(cells, key, {}, &RunCell::key);
  return found == cells.end() || found->key != key ? nullptr : &*found;
}

ComparedRun compared_run(const RunSummary& run, std::string name) {
  ComparedRun out;
  out.name = std::move(name);
  out.run_id = run.header.run_id;
  out.started_utc = run.header.started_utc;
  out.synthetic = is_synthetic(run);
  out.facts = facts_of(run);
  const std::vector<SettingResult> results = setting_results(run);
  for (const auto& floor : noise_floors(results))
    out.floors.push_back(floor ? std::optional(floor->ratio) : std::nullopt);
  for (const SettingResult& result : results)
    out.cells.push_back({{result.label, result.ranks, result.timing_mode, result.setting},
                         result.data,
                         result.not_as_asked,
                         process_times_ns(result)});
  std::ranges::sort(out.cells, {}, &RunCell::key);
  return out;
}

RunSource source_of(const ComparedRun& run, std::string side) {
  return {.side = std::move(side),
          .file = printable(run.name),
          .run_id = printable(run.run_id),
          .started_utc = printable(run.started_utc),
          .ranks = printable(value_of(run.facts, FactKind::ranks)),
          .backend = printable(value_of(run.facts, FactKind::backend)),
          .ncclprobe = printable(value_of(run.facts, FactKind::ncclprobe)),
          .synthetic = run.synthetic};
}

std::vector<std::string> leave_out_copies(std::vector<ComparedRun>& runs) {
  std::vector<std::string> left_out;
  std::vector<ComparedRun> kept;
  for (ComparedRun& run : runs) {
    const auto same = std::ranges::find(kept, run.run_id, &ComparedRun::run_id);
    if (same == kept.end() || run.run_id.empty())
      kept.push_back(std::move(run));
    else
      left_out.push_back(fmt::format("{} is left out: it is the same run as {}",
                                     printable(run.name), printable(same->name)));
  }
  runs = std::move(kept);
  return left_out;
}

} // namespace ncclprobe::analysis::compare
