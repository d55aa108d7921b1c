// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/disturbance_section.h"

#include "analysis/results/conditions.h"
#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {

using base::count_of;

namespace {

constexpr FindingKind k_disturbed{"disturbed", Severity::warning,
                                  "In {trials}, the default itself was disturbed."};
constexpr FindingKind k_repeated{
    "rejected_and_repeated", Severity::warning,
    "Rejected and repeated, because the default was disturbed or failed there: {trials}."};
constexpr FindingKind k_not_repeated{
    "rejected_only", Severity::warning,
    "Rejected, because the default was disturbed or failed there, and not repeated, because the "
    "budget or the run ended first: {trials}."};
constexpr FindingKind k_throttled{"throttled_trials", Severity::warning,
                                  "In {throttled} of {all} timed trials, GPUs were throttled "
                                  "({reasons}). These trials count like "
                                  "others."};

struct DisturbanceRow {
  const search::Disturbance* disturbance;
  const RanTrial* trial; // null: it is not known
};

std::string trials(std::ptrdiff_t count) {
  return count_of(static_cast<std::size_t>(count), "trial", "trials");
}

} // namespace

TablePtr disturbance_table(const Tuning& tuning) {
  std::vector<DisturbanceRow> rows;
  for (const search::Disturbance& one : tuning.outcome.disturbances) {
    const auto ran = std::ranges::find_if(tuning.ran, [&](const RanTrial& trial) {
      return trial.role != TrialRole::companion && trial.request.id == one.trial;
    });
    rows.push_back({&one, ran == tuning.ran.end() ? nullptr : &*ran});
  }
  TableOf<DisturbanceRow> table(std::move(rows));
  using Row = const DisturbanceRow&;
  table
      .add("file",
           [](Row row) { return row.trial ? std::optional(row.trial->file) : std::nullopt; })
      .titled("file")
      .left();
  table
      .add("trial",
           [](Row row) { return row.trial ? std::optional(row.trial->number) : std::nullopt; })
      .titled("trial");
  table.add("time_ratio", [](Row row) { return six_digits(row.disturbance->ratio); })
      .titled("its time / before", {Unit::ratio, 3});
  table.add("limit", [](Row row) { return six_digits(row.disturbance->limit); })
      .titled("scatter up to", {Unit::ratio, 3});
  table.add("new_level", [](Row row) { return row.disturbance->new_level; });
  table.show_left("new level", [](Row row) { return row.disturbance->new_level ? "yes" : "no"; });
  return table.table();
}

std::vector<Finding> disturbance_findings(const Tuning& tuning) {
  std::vector<Finding> all;
  const search::Outcome& outcome = tuning.outcome;
  if (!outcome.disturbances.empty())
    all.push_back({&k_disturbed, {{"trials", trials(std::ssize(outcome.disturbances))}}});
  const auto repeated = std::ranges::count(outcome.rejections, true, &search::Rejection::repeated);
  if (repeated > 0)
    all.push_back({&k_repeated, {{"trials", trials(repeated)}}});
  if (const auto left = std::ssize(outcome.rejections) - repeated;
      left > 0 && !outcome.default_failed)
    all.push_back({&k_not_repeated, {{"trials", trials(left)}}});
  std::uint64_t reasons = 0;
  int throttled = 0;
  int timed = 0;
  for (const RanTrial& one : tuning.ran) {
    if (one.role == TrialRole::companion)
      continue;
    ++timed;
    reasons |= one.throttle_reasons;
    throttled += one.throttle_reasons != 0 ? 1 : 0;
  }
  if (throttled > 0)
    all.push_back(
        {&k_throttled,
         {{"throttled", throttled}, {"all", timed}, {"reasons", throttle_text(reasons)}}});
  return all;
}

} // namespace ncclprobe::analysis::tune
