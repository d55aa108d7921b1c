// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/trial_table.h"

#include "analysis/results/conditions.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::tune {

using search::Cause;
using search::Stage;

namespace {

struct TrialRow {
  const search::Space* space;
  const RanTrial* trial;
  const search::Rejection* rejection; // null: it counts
};

bool has_request(const TrialRow& row) {
  return row.trial->role != TrialRole::companion;
}

bool is_of_default(const TrialRow& row) {
  return row.trial->request.form == search::Form::candidate &&
         row.trial->request.process == default_candidate(*row.space);
}

std::string_view why_in_stage(const TrialRow& row) {
  switch (row.trial->request.stage) {
  case Stage::floor:
    return "the default against itself, for the A/A floor";
  case Stage::explore:
    return is_of_default(row) ? "the default, between the combinations"
                              : "a combination that the search chose to try";
  case Stage::race:
    return is_of_default(row) ? "the default, between the best combinations"
                              : "one of the best combinations, again";
  case Stage::leave_out:
    return is_of_default(row) ? "the default, between the combinations"
                              : "the fastest combination, or the same without one change";
  case Stage::screen:
    return "in-process values in turns with cells without them";
  case Stage::confirm:
    return is_of_default(row) ? "the default, in turns with the finalist"
                              : "the finalist, in a process that had no part in choosing";
  case Stage::delivery:
    return is_of_default(row) ? "the default, in turns with the delivery"
                              : "the delivery as a job loads it, in turns with the default";
  }
  return "";
}

std::string why(const TrialRow& row) {
  const RanTrial& trial = *row.trial;
  if (trial.role == TrialRole::companion)
    return "the library's log shows how it runs these settings";
  switch (trial.request.cause) {
  case Cause::planned:
    return std::string(why_in_stage(row));
  case Cause::slower_than_expected:
    return "again, because it was slower than its changes alone lead to expect";
  case Cause::default_wait:
    return "the default, until it is as before";
  case Cause::default_off:
    return fmt::format("again, because the default was disturbed: {}", why_in_stage(row));
  case Cause::default_failed:
    return fmt::format("again, because the default failed: {}", why_in_stage(row));
  case Cause::cells_not_run:
    return fmt::format("cells that an earlier trial did not reach: {}", why_in_stage(row));
  }
  return "";
}

// Each once, in the order in which they were measured.
std::vector<std::string> candidates_of(const TrialRow& row) {
  std::vector<std::string> names;
  std::set<search::Candidate> seen;
  for (const search::CellRequest& cell : row.trial->request.cells)
    if (seen.insert(cell.candidate).second)
      names.push_back(to_text(*row.space, cell.candidate));
  return names;
}

} // namespace

TablePtr trial_table(const Tuning& tuning) {
  std::vector<TrialRow> rows;
  for (const RanTrial& one : tuning.ran) {
    const auto& all = tuning.outcome.rejections;
    const auto found = std::ranges::find(all, one.request.id, &search::Rejection::trial);
    const bool rejected = one.role != TrialRole::companion && found != all.end();
    rows.push_back({&tuning.space, &one, rejected ? &*found : nullptr});
  }
  TableOf<TrialRow> table(std::move(rows));
  using Row = const TrialRow&;
  table.add("file", [](Row row) { return row.trial->file; });
  table.add("trial", [](Row row) { return row.trial->number; });
  table.add("role", [](Row row) { return row.trial->role; });
  table.add("stage", [](Row row) {
    return has_request(row) ? std::optional(row.trial->request.stage) : std::nullopt;
  });
  table.add("cause", [](Row row) {
    return has_request(row) ? std::optional(row.trial->request.cause) : std::nullopt;
  });
  table.add("why_run", why);
  table.add("settings", [](Row row) { return row.trial->settings; });
  table.add("candidates", candidates_of).nested();
  table.add("cells", [](Row row) { return row.trial->cells; });
  table.add("outcome", [](Row row) { return row.trial->outcome.kind; });
  table.add("reason", [](Row row) { return row.trial->outcome.reason; });
  table.add("rejected", [](Row row) { return row.rejection != nullptr; });
  table.add("repeated", [](Row row) {
    return row.rejection ? std::optional(row.rejection->repeated) : std::nullopt;
  });
  table.add("throttle_reasons", [](Row row) { return throttle_text(row.trial->throttle_reasons); });
  table.add("seconds", [](Row row) { return six_digits(row.trial->seconds); });
  return table.table();
}

} // namespace ncclprobe::analysis::tune
