// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/model_search.h"

#include <algorithm>
#include <limits>

namespace ncclprobe::analysis::search {
namespace {

// How bad a bad candidate is does not matter. It would hide the differences between good ones.
constexpr double k_worst = 0.3;

std::vector<Observation> bounded(std::vector<Observation> tried) {
  for (Observation& one : tried)
    one.value = std::min(one.value, k_worst);
  return tried;
}

double lowest_mean(const GaussianProcess& process, const std::vector<Observation>& tried) {
  std::vector<Candidate> candidates;
  for (const Observation& one : tried)
    candidates.push_back(one.candidate);
  double lowest = 0;
  for (const Belief& belief : process.beliefs(candidates))
    lowest = std::min(lowest, belief.mean);
  return lowest;
}

} // namespace

ModelSearch::ModelSearch(const Space& space) {
  constexpr std::size_t k_most_combinations = 4096;
  pool_ = combinations(space, false, k_most_combinations);
}

std::vector<Candidate> ModelSearch::next(const std::vector<Observation>& tried,
                                         const Allowed& allowed, std::size_t most) {
  constexpr double k_least_improvement = 0.002;
  std::erase_if(pool_, [&](const Candidate& one) {
    return !allowed(one) || std::ranges::find(tried, one, &Observation::candidate) != tried.end();
  });
  std::vector<Candidate> chosen;
  for (const Candidate& one : pool_)
    if (changes(one) == 1 && chosen.size() < most)
      chosen.push_back(one);
  if (!chosen.empty() || tried.empty())
    return chosen;

  const std::vector<Observation> known = bounded(tried);
  GaussianProcess process(known, GaussianProcess::k_exploring);
  const double best = lowest_mean(process, known);
  // Each further one is chosen as if the ones before had been measured, with the value that is
  // expected (the "kriging believer" of Ginsbourger, Le Riche and Carraro, 2010).
  while (chosen.size() < most && chosen.size() < pool_.size()) {
    const std::vector<Belief> beliefs = process.beliefs(pool_);
    std::size_t at = pool_.size();
    double most_improvement = k_least_improvement;
    for (std::size_t i = 0; i < pool_.size(); ++i)
      if (double improvement = expected_improvement(beliefs[i], best);
          improvement > most_improvement && std::ranges::find(chosen, pool_[i]) == chosen.end()) {
        most_improvement = improvement;
        at = i;
      }
    if (at == pool_.size())
      break;
    chosen.push_back(pool_[at]);
    process = process.with({pool_[at], beliefs[at].mean, known.back().variance});
  }
  return chosen;
}

std::vector<double> ModelSearch::values(const std::vector<Observation>& tried) const {
  std::vector<Candidate> candidates;
  for (const Observation& one : tried)
    candidates.push_back(one.candidate);
  std::vector<double> out;
  const GaussianProcess process(bounded(tried), GaussianProcess::k_estimating);
  for (const Belief& belief : process.beliefs(candidates))
    out.push_back(belief.mean);
  return out;
}

} // namespace ncclprobe::analysis::search
