// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/launch_ranks.h"

#include <set>

namespace ncclprobe::launch {

int rank_of_launch(const model::TrialSpec& spec, int rank) {
  return spec.launch_ranks.empty() ? rank : spec.launch_ranks.at(static_cast<std::size_t>(rank));
}

bool has_launch_ranks(const model::TrialSpec& spec, int ranks) {
  const std::set<int> known(spec.launch_ranks.begin(), spec.launch_ranks.end());
  return static_cast<int>(known.size()) == spec.ranks && known.size() == spec.launch_ranks.size() &&
         *known.begin() >= 0 && *known.rbegin() < ranks;
}

void number_as_launch(const model::TrialSpec& spec, std::vector<TrialReport>& reports,
                      std::optional<Trouble>& cause) {
  if (spec.launch_ranks.empty())
    return;
  // Reports come from other processes: a number that is not the trial's stays as it is.
  auto renumber = [&](int& rank) {
    if (rank >= 0 && rank < spec.ranks)
      rank = rank_of_launch(spec, rank);
  };
  auto renumber_all = [&](std::vector<int>& ranks) {
    for (int& rank : ranks)
      renumber(rank);
  };
  auto renumber_rows = [&](auto& rows) {
    for (auto& row : rows)
      renumber(row.rank);
  };
  if (cause)
    renumber_all(cause->ranks);
  for (TrialReport& report : reports)
    for (WorkerReport& worker : report.workers) {
      renumber_all(worker.record.ranks);
      renumber_rows(worker.record.memory);
      for (RankReport& rank : worker.ranks) {
        renumber(rank.rank);
        if (rank.evidence)
          renumber(rank.evidence->rank);
        for (auto& [cell, result] : rank.results) {
          renumber_all(result.outcome.ranks);
          renumber_rows(result.samples);
          renumber_rows(result.conditions);
          renumber_rows(result.marks);
        }
      }
    }
}

} // namespace ncclprobe::launch
