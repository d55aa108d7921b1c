// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/trial_outcome.h"

#include "base/units.h"
#include "launch/supervisor/autopsy.h"

#include <algorithm>
#include <map>

namespace ncclprobe::launch {
namespace {

using model::Outcome;
using model::OutcomeKind;

void for_each_rank(auto& reports, auto visit) {
  for (auto& report : reports)
    for (auto& worker : report.workers)
      for (auto& rank : worker.ranks)
        visit(rank);
}

std::string where(const Trouble& cause, const model::TrialSpec& spec) {
  if (cause.cell >= 0 && cause.cell < std::ssize(spec.cells))
    return fmt::format("in cell {} ({})", cause.cell, describe(spec.cells[cause.cell]));
  if (!cause.phase)
    return "in the trial";
  if (*cause.phase <= WorkerPhase::started)
    return "in start-up";
  if (*cause.phase == WorkerPhase::cell)
    return "between cells";
  return fmt::format("in {}", base::to_string(*cause.phase));
}

// "30 s", "500 ms": limits are round numbers.
std::string format_limit(std::int64_t limit_ns) {
  if (limit_ns % 1'000'000'000 == 0)
    return fmt::format("{} s", limit_ns / 1'000'000'000);
  if (limit_ns % 1'000'000 == 0)
    return fmt::format("{} ms", limit_ns / 1'000'000);
  return base::format_duration(static_cast<double>(limit_ns));
}

Outcome timed_out(const Trouble& cause, const model::TrialSpec& spec,
                  const std::vector<TrialReport>& reports) {
  int cells = static_cast<int>(spec.cells.size());
  std::vector<int> stuck;
  std::vector<int> through;
  std::string limit = format_limit(cause.limit_ns);
  auto sort_by = [&](auto&& is_through) {
    for_each_rank(reports, [&](const RankReport& rank) {
      (is_through(rank) ? through : stuck).push_back(rank.rank);
    });
    if (stuck.empty())
      stuck = cause.ranks;
  };
  std::string did_not;
  if (cause.cell >= 0 && cause.cell < cells) {
    sort_by([&](const RankReport& rank) { return rank.results.contains(cause.cell); });
    did_not = fmt::format("did not finish {} within {}", describe(spec.cells[cause.cell]), limit);
  } else if (cause.phase >= WorkerPhase::teardown) {
    stuck = cause.ranks; // the end of others may just not have been noticed yet
    did_not = fmt::format("did not exit within {} of the last result", limit);
  } else if (cause.phase == WorkerPhase::cell) {
    stuck = cause.ranks;
    did_not = fmt::format("did not go on within {} of the last result", limit);
  } else {
    sort_by([](const RankReport& rank) { return rank.phase >= WorkerPhase::cell; });
    did_not = fmt::format("{} not ready within {} (last seen {})",
                          stuck.size() == 1 ? "was" : "were", limit, where(cause, spec));
  }
  std::string reason = name_ranks(stuck) + " " + did_not;
  if (!through.empty() && cause.cell >= 0)
    reason += " (" + name_ranks(through) + " did)";
  if (!cause.reason.empty()) // ranks that could not even be asked
    reason += "; " + cause.reason;
  reason += autopsy(cause, stuck, spec, reports);
  return {OutcomeKind::timed_out, std::move(reason), std::move(stuck)};
}

Outcome merged_outcome(const std::vector<RankReport*>& ranks, int cell) {
  Outcome merged;
  for (const RankReport* rank : ranks) {
    Outcome one = rank->results.at(cell).outcome;
    if (!one.ok() && one.ranks.empty())
      one.ranks = {rank->rank};
    merged = model::worse(std::move(merged), one);
  }
  return merged;
}

// The data counts as checked only if all ranks checked it; errors that were found count in any
// case.
model::CheckResult merged_check(const std::vector<RankReport*>& ranks, int cell) {
  model::CheckResult merged;
  merged.checked = true;
  for (const RankReport* rank : ranks) {
    const model::CheckResult& one = rank->results.at(cell).check;
    merged.elements += one.elements;
    merged.wrong += one.wrong;
    merged.launches += one.launches;
    if (merged.method.empty())
      merged.method = one.method;
    if (merged.first_wrong.empty())
      merged.first_wrong = one.first_wrong;
    if (one.checked)
      continue;
    if (merged.checked)
      merged.why_unchecked = one.why_unchecked;
    merged.checked = false;
  }
  return merged;
}

// Takes the rows of all ranks: with thousands of them there is no room for two copies.
model::CellRecord merge_cell(const std::vector<RankReport*>& ranks, int cell) {
  model::CellRecord record{merged_outcome(ranks, cell), merged_check(ranks, cell), {}, {}};
  auto take_all = [&](auto rows_of) {
    std::size_t all = 0;
    for (RankReport* rank : ranks)
      all += rows_of(rank->results.at(cell)).size();
    auto& into = rows_of(record);
    into.reserve(all);
    for (RankReport* rank : ranks) {
      const auto rows = std::exchange(rows_of(rank->results.at(cell)), {});
      into.insert(into.end(), rows.begin(), rows.end());
    }
  };
  take_all([](model::CellRecord & one) -> auto& { return one.samples; });
  take_all([](model::CellRecord & one) -> auto& { return one.conditions; });
  take_all([](model::CellRecord & one) -> auto& { return one.marks; });
  std::ranges::stable_sort(record.samples, [](const model::Sample& a, const model::Sample& b) {
    return std::pair(a.batch, a.rank) < std::pair(b.batch, b.rank);
  });
  return record;
}

} // namespace

std::string describe_lost(const model::WorkerRecord& worker) {
  return fmt::format("{} (pid {} on {}) outlived SIGKILL: the device counts as lost",
                     name_ranks(worker.ranks), worker.pid, worker.host);
}

std::string describe(const model::Cell& cell) {
  const model::CellLabel& label = cell.label;
  return fmt::format("{} {} {}{}", label.workload(), base::format_bytes(label.bytes),
                     model::to_string(label.type),
                     cell.settings.empty() ? "" : " with " + model::label_of(cell.settings));
}

Outcome outcome_of(const Trouble& cause, const model::TrialSpec& spec,
                   const std::vector<TrialReport>& reports) {
  switch (cause.kind) {
  case Trouble::Kind::interrupted:
    return {OutcomeKind::not_run, cause.reason, {}};
  case Trouble::Kind::timed_out:
    return timed_out(cause, spec, reports);
  case Trouble::Kind::skipped:
    return {OutcomeKind::skipped, cause.reason, cause.ranks};
  case Trouble::Kind::exited:
  case Trouble::Kind::signalled:
    return {OutcomeKind::crashed,
            fmt::format("{} {}: {}", name_ranks(cause.ranks), where(cause, spec), cause.reason),
            cause.ranks};
  case Trouble::Kind::failed:
    break;
  }
  std::string who = cause.ranks.empty() ? "" : name_ranks(cause.ranks) + " ";
  return {OutcomeKind::failed, fmt::format("{}{}: {}", who, where(cause, spec), cause.reason),
          cause.ranks};
}

std::set<int> unended_cells(const model::TrialSpec& spec, const std::vector<TrialReport>& reports) {
  std::map<int, int> ranks_of;
  for_each_rank(reports, [&](const RankReport& rank) {
    for (const auto& [cell, result] : rank.results)
      ++ranks_of[cell];
  });
  std::set<int> unended;
  for (int cell = 0; cell < std::ssize(spec.cells); ++cell)
    if (ranks_of[cell] != spec.ranks)
      unended.insert(cell);
  return unended;
}

model::TrialRecord make_record(const model::TrialSpec& spec, const std::optional<Trouble>& cause,
                               std::vector<TrialReport> reports) {
  model::TrialRecord record;
  record.spec = spec;
  std::vector<RankReport*> ranks;
  bool any_started = false;
  for_each_rank(reports, [&](RankReport& rank) {
    ranks.push_back(&rank);
    any_started = any_started || rank.cell >= 0;
  });
  std::ranges::sort(ranks,
                    [](const RankReport* a, const RankReport* b) { return a->rank < b->rank; });

  Outcome ended_by;
  if (cause)
    ended_by = outcome_of(*cause, spec, reports);
  const std::set<int> unended = unended_cells(spec, reports);
  bool all_ended = true;
  for (int cell = 0; cell < std::ssize(spec.cells); ++cell) {
    model::CellRecord& one = record.cells.emplace_back();
    const bool ended = !unended.contains(cell);
    bool first_unended = !ended && std::exchange(all_ended, false);
    bool interrupted = cause && cause->kind == Trouble::Kind::interrupted;
    if (ended) {
      one = merge_cell(ranks, cell);
      record.outcome = model::worse(record.outcome, one.outcome);
    } else if (first_unended || !any_started || interrupted) {
      one.outcome = ended_by;
    } else {
      one.outcome = {OutcomeKind::not_run, "an earlier cell ended the trial", {}};
    }
  }
  for (const RankReport* rank : ranks)
    if (rank->evidence)
      record.evidence.push_back(*rank->evidence);
  // An interruption after the last result lost nothing.
  bool harmless = all_ended && ended_by.kind == OutcomeKind::not_run;
  if (cause && !harmless)
    record.outcome = model::worse(ended_by, record.outcome);

  for (TrialReport& report : reports) {
    record.prepared = record.prepared || report.prepared;
    record.startup_ns = std::max(record.startup_ns, report.startup_ns);
    for (WorkerReport& worker : report.workers) {
      if (worker.lost) {
        if (record.outcome.ok())
          record.outcome.kind = OutcomeKind::failed;
        record.outcome.reason +=
            (record.outcome.reason.empty() ? "" : "; ") + describe_lost(worker.record);
      }
      if (record.outcome.ok()) {
        worker.record.output_tail.clear();
        worker.record.position.clear();
        worker.record.stack.clear();
      }
      record.workers.push_back(std::move(worker.record));
    }
  }
  std::ranges::sort(record.workers, [](const model::WorkerRecord& a, const model::WorkerRecord& b) {
    return a.ranks < b.ranks;
  });
  return record;
}

} // namespace ncclprobe::launch
