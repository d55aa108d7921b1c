// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/gaussian_process.h"

#include <Eigen/Cholesky>
#include <cmath>
#include <limits>
#include <numbers>

namespace ncclprobe::analysis::search {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

VectorXd values_of(const std::vector<Observation>& observations) {
  VectorXd values(static_cast<Index>(observations.size()));
  for (std::size_t i = 0; i < observations.size(); ++i)
    values[static_cast<Index>(i)] = observations[i].value;
  return values;
}

} // namespace

double GaussianProcess::covariance(const Scales& scales, const Candidate& a, const Candidate& b) {
  int equal = 0;
  for (std::size_t p = 0; p < a.size(); ++p)
    equal += a[p] == b[p];
  const int pairs = equal * (equal - 1) / 2;
  const bool same = equal == static_cast<int>(a.size());
  return scales.single * scales.single * equal + scales.pair * scales.pair * pairs +
         (same ? scales.own * scales.own : 0);
}

double GaussianProcess::log_likelihood(const std::vector<Observation>& observations,
                                       const Scales& scales) {
  const auto size = static_cast<Index>(observations.size());
  MatrixXd matrix(size, size);
  for (Index i = 0; i < size; ++i)
    for (Index j = 0; j < size; ++j) {
      const auto &a = observations[static_cast<std::size_t>(i)],
                 &b = observations[static_cast<std::size_t>(j)];
      matrix(i, j) = covariance(scales, a.candidate, b.candidate) + (i == j ? a.variance : 0);
    }
  const Eigen::LLT<MatrixXd> factor(matrix);
  const VectorXd values = values_of(observations);
  const double fit = values.dot(factor.solve(values));
  const double volume = 2 * factor.matrixLLT().diagonal().array().log().sum();
  return -(fit + volume) / 2;
}

GaussianProcess::GaussianProcess(std::vector<Observation> observations, double least_pair)
    : observations_(std::move(observations)) {
  double best = -std::numeric_limits<double>::infinity();
  for (double single : {0.01, 0.03, 0.1, 0.3})
    for (double pair : {least_pair, 0.06, 0.2}) {
      const Scales scales{.single = single, .pair = pair, .own = pair / 2};
      if (double likelihood = log_likelihood(observations_, scales); likelihood > best) {
        best = likelihood;
        scales_ = scales;
      }
    }
}

GaussianProcess GaussianProcess::with(Observation observation) const {
  std::vector<Observation> more = observations_;
  more.push_back(std::move(observation));
  return {std::move(more), scales_};
}

std::vector<Belief> GaussianProcess::beliefs(const std::vector<Candidate>& candidates) const {
  const auto size = static_cast<Index>(observations_.size()),
             asked = static_cast<Index>(candidates.size());
  auto at = [&](Index i) -> const Observation& {
    return observations_[static_cast<std::size_t>(i)];
  };
  MatrixXd matrix(size, size), cross(size, asked);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < size; ++j)
      matrix(i, j) =
          covariance(scales_, at(i).candidate, at(j).candidate) + (i == j ? at(i).variance : 0);
    for (Index c = 0; c < asked; ++c)
      cross(i, c) = covariance(scales_, at(i).candidate, candidates[static_cast<std::size_t>(c)]);
  }
  const Eigen::LLT<MatrixXd> factor(matrix);
  const VectorXd weights = factor.solve(values_of(observations_));
  const MatrixXd half = factor.matrixL().solve(cross);
  std::vector<Belief> out;
  for (Index c = 0; c < asked; ++c) {
    const Candidate& candidate = candidates[static_cast<std::size_t>(c)];
    const double variance = covariance(scales_, candidate, candidate) - half.col(c).squaredNorm();
    out.push_back(
        {.mean = cross.col(c).dot(weights), .deviation = std::sqrt(std::max(variance, 0.0))});
  }
  return out;
}

double expected_improvement(const Belief& belief, double best) {
  const double gain = best - belief.mean;
  if (belief.deviation <= 0)
    return std::max(gain, 0.0);
  const double z = gain / belief.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double probability = std::erfc(-z / std::numbers::sqrt2) / 2;
  return gain * probability + belief.deviation * density;
}

} // namespace ncclprobe::analysis::search
