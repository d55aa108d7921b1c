// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/space.h"

#include <algorithm>

namespace ncclprobe::analysis::search {
namespace {

bool possible_for_any(const Space& space, const Candidate& candidate) {
  for (std::size_t target = 0; target < space.targets.size(); ++target)
    if (!space.possible || space.possible(candidate, target))
      return true;
  return false;
}

std::vector<Candidate> combinations(const Space& space, bool in_process) {
  std::vector<Candidate> all{default_candidate(space)};
  for (std::size_t p = 0; p < space.parameters.size(); ++p) {
    if (space.parameters[p].in_process != in_process)
      continue;
    const std::size_t before = all.size();
    for (int value = 1; value < static_cast<int>(space.parameters[p].values.size()); ++value)
      for (std::size_t i = 0; i < before; ++i) {
        all.push_back(all[i]);
        all.back()[p] = value;
      }
  }
  std::erase_if(all, [&](const Candidate& one) { return !possible_for_any(space, one); });
  return all;
}

} // namespace

Candidate default_candidate(const Space& space) {
  return Candidate(space.parameters.size(), 0);
}

Candidate process_part(const Space& space, Candidate candidate) {
  return joined(space, std::move(candidate), default_candidate(space));
}

Candidate joined(const Space& space, Candidate process, const Candidate& in_process) {
  for (std::size_t p = 0; p < space.parameters.size(); ++p)
    if (space.parameters[p].in_process)
      process[p] = in_process[p];
  return process;
}

bool possible_for_all(const Space& space, const Candidate& candidate) {
  for (std::size_t target = 0; target < space.targets.size(); ++target)
    if (space.possible && !space.possible(candidate, target))
      return false;
  return true;
}

std::vector<Candidate> process_candidates(const Space& space) {
  return combinations(space, false);
}

std::vector<Candidate> in_process_candidates(const Space& space) {
  return combinations(space, true);
}

std::string to_text(const Space& space, const Candidate& candidate) {
  std::string text;
  for (std::size_t p = 0; p < space.parameters.size(); ++p)
    if (candidate[p] != 0)
      text += (text.empty() ? "" : " ") + space.parameters[p].name + "=" +
              space.parameters[p].values[static_cast<std::size_t>(candidate[p])];
  return text.empty() ? "default" : text;
}

} // namespace ncclprobe::analysis::search
