// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/space.h"

#include <vector>

namespace ncclprobe::analysis::search {

// A measured candidate: the logarithm of its time over the default's, and the variance of that.
struct Observation {
  Candidate candidate;
  double value = 0;
  double variance = 0;
};
// What is believed of a candidate's value.
struct Belief {
  double mean = 0;
  double deviation = 0; // standard
};

// A Gaussian process over candidates. Each value of a parameter, each pair of values, and each
// candidate has an effect of its own; effects are independent and normal around 0. Values need no
// order. The scales of the effects are those of a small grid under which the observations are most
// probable. Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006,
// equations 2.23 to 2.30; the kernel is the additive one of Duvenaud, Nickisch and Rasmussen, NIPS
// 2011, of order 2.
class GaussianProcess {
public:
  // The least scale of the effects of pairs. Exploring supposes that two values may matter together
  // before anything shows it. Estimates do not: then each combination says more about the others.
  static constexpr double k_exploring = 0.06;
  static constexpr double k_estimating = 0.02;
  // At least one observation.
  GaussianProcess(std::vector<Observation> observations, double least_pair);
  std::vector<Belief> beliefs(const std::vector<Candidate>& candidates) const;
  // The same scales with one more observation.
  GaussianProcess with(Observation observation) const;

private:
  struct Scales {
    double single = 0, pair = 0, own = 0; // standard deviations of effects
  };
  GaussianProcess(std::vector<Observation> observations, Scales scales)
      : observations_(std::move(observations)), scales_(scales) {}
  static double covariance(const Scales& scales, const Candidate& a, const Candidate& b);
  static double log_likelihood(const std::vector<Observation>& observations, const Scales& scales);

  std::vector<Observation> observations_;
  Scales scales_;
};

// The improvement over `best` (lower is better) that is expected of a candidate. Source: Jones,
// Schonlau and Welch, "Efficient Global Optimization", 1998, equation 15.
double expected_improvement(const Belief& belief, double best);

} // namespace ncclprobe::analysis::search
