// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/space.h"

#include <algorithm>

namespace ncclprobe::analysis::search {
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

int changes(const Candidate& candidate) {
  return static_cast<int>(candidate.size() -
                          static_cast<std::size_t>(std::ranges::count(candidate, 0)));
}

bool contains(const Candidate& candidate, const Candidate& part) {
  for (std::size_t p = 0; p < part.size(); ++p)
    if (part[p] != 0 && candidate[p] != part[p])
      return false;
  return true;
}

std::vector<Candidate> combinations(const Space& space, bool in_process, std::size_t most) {
  std::vector<Candidate> all{default_candidate(space)};
  // Each is made only once, from the combination without its last change.
  auto last_change = [](const Candidate& one) {
    std::size_t after = one.size();
    while (after > 0 && one[after - 1] == 0)
      --after;
    return after;
  };
  for (std::size_t from = 0; from < all.size(); ++from)
    for (std::size_t p = last_change(all[from]); p < space.parameters.size(); ++p) {
      if (space.parameters[p].in_process != in_process)
        continue;
      for (int value = 1; value < static_cast<int>(space.parameters[p].values.size()); ++value) {
        if (all.size() > most)
          break;
        all.push_back(all[from]);
        all.back()[p] = value;
      }
    }
  all.erase(all.begin());
  return all;
}

double count_of_combinations(const Space& space, std::optional<bool> in_process) {
  double product = 1;
  for (const Parameter& one : space.parameters)
    if (!in_process || one.in_process == *in_process)
      product *= static_cast<double>(one.values.size());
  return product;
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
