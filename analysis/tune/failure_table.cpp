// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/failure_table.h"

#include "analysis/report/label_words.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {
namespace {

struct FailureRow {
  std::string candidate;
  std::optional<std::string> target;
  std::string how;
  std::string reason;
  const RanTrial* trial = nullptr; // null: unknown, or a companion
};

bool is_of(const search::CellRequest& cell, const search::Reason& reason) {
  return cell.candidate == reason.candidate && (!reason.target || cell.target == *reason.target);
}

// How the trial shows that failure; null: it does not. If no cell is to blame, all are.
const model::Outcome* failure_in(const RanTrial& trial, const search::Reason& reason) {
  if (trial.role == TrialRole::companion)
    return nullptr;
  for (const FailedCell& failed : trial.failed)
    if (failed.outcome.kind == reason.outcome && is_of(trial.request.cells[failed.cell], reason))
      return &failed.outcome;
  const bool has_it = std::ranges::any_of(
      trial.request.cells, [&](const search::CellRequest& cell) { return is_of(cell, reason); });
  return trial.failed.empty() && has_it && trial.outcome.kind == reason.outcome ? &trial.outcome
                                                                                : nullptr;
}

FailureRow row_of(const Tuning& tuning, const search::Reason& reason) {
  FailureRow row{.candidate = to_text(tuning.space, reason.candidate),
                 .target = {},
                 .how = analysis::in_words(reason.outcome),
                 .reason = ""};
  if (reason.target)
    row.target = tuning.space.targets[*reason.target].name;
  for (const RanTrial& trial : tuning.ran)
    if (const model::Outcome* outcome = failure_in(trial, reason)) {
      row.reason = outcome->reason;
      row.trial = &trial;
    }
  return row;
}

} // namespace

TablePtr failure_table(const Tuning& tuning) {
  std::vector<FailureRow> rows;
  for (const search::Reason& reason : tuning.outcome.reasons)
    if (reason.fate == search::Fate::failed && reason.outcome != model::OutcomeKind::skipped)
      rows.push_back(row_of(tuning, reason));
  for (const IneffectiveSetting& one : tuning.ineffective)
    rows.push_back({.candidate = to_text(tuning.space, one.candidate),
                    .target = {},
                    .how = fmt::format("{}={}: {}", one.setting.name, one.setting.value,
                                       to_string(one.effect)),
                    .reason = in_words(one.reason)});
  TableOf<FailureRow> table(std::move(rows));
  using Row = const FailureRow&;
  table.add("candidate", &FailureRow::candidate).titled("candidate").left(44);
  table.add("target", &FailureRow::target).titled("for").left(24).if_any();
  table.add("how", &FailureRow::how).titled("how").left();
  table.add("reason", &FailureRow::reason).titled("reason").left(40);
  table
      .add("file",
           [](Row row) { return row.trial ? std::optional(row.trial->file) : std::nullopt; })
      .titled("file")
      .left()
      .if_any();
  table
      .add("trial",
           [](Row row) { return row.trial ? std::optional(row.trial->number) : std::nullopt; })
      .titled("trial")
      .if_any();
  return table.table();
}

} // namespace ncclprobe::analysis::tune
