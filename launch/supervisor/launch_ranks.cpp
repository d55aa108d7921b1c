// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/launch_ranks.h"

#include <set>

namespace ncclprobe::launch {
namespace {

// Reports come from other processes: a number that is not the trial's stays as it is.
int known_rank(const model::TrialSpec& spec, int rank) {
  return rank >= 0 && rank < spec.ranks ? rank_of_launch(spec, rank) : rank;
}

} // namespace

int rank_of_launch(const model::TrialSpec& spec, int rank) {
  return spec.launch_ranks.empty() ? rank : spec.launch_ranks.at(static_cast<std::size_t>(rank));
}

bool has_launch_ranks(const model::TrialSpec& spec, int ranks) {
  const std::set<int> known(spec.launch_ranks.begin(), spec.launch_ranks.end());
  return static_cast<int>(known.size()) == spec.ranks && known.size() == spec.launch_ranks.size() &&
         *known.begin() >= 0 && *known.rbegin() < ranks;
}

void number_rows_as_launch(const model::TrialSpec& spec, model::CellRecord& record) {
  if (spec.launch_ranks.empty())
    return;
  auto renumber = [&](auto& rows) {
    for (auto& row : rows)
      row.rank = known_rank(spec, row.rank);
  };
  renumber(record.samples);
  renumber(record.conditions);
  renumber(record.marks);
}

void number_as_launch(const model::TrialSpec& spec, std::vector<TrialReport>& reports,
                      std::optional<Trouble>& cause) {
  if (spec.launch_ranks.empty())
    return;
  auto renumber = [&](int& rank) { rank = known_rank(spec, rank); };
  auto renumber_all = [&](std::vector<int>& ranks) {
    for (int& rank : ranks)
      renumber(rank);
  };
  if (cause)
    renumber_all(cause->ranks);
  for (TrialReport& report : reports)
    for (WorkerReport& worker : report.workers) {
      renumber_all(worker.record.ranks);
      for (model::MemoryUse& use : worker.record.memory)
        renumber(use.rank);
      for (RankReport& rank : worker.ranks) {
        renumber(rank.rank);
        if (rank.evidence)
          renumber(rank.evidence->rank);
        for (auto& [cell, result] : rank.results) {
          renumber_all(result.outcome.ranks);
          number_rows_as_launch(spec, result);
        }
      }
    }
}

} // namespace ncclprobe::launch
