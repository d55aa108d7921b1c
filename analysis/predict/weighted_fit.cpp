// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/weighted_fit.h"

#include "analysis/results/cell_summary.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace ncclprobe::analysis::cost_model {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Of these columns; nothing if one of them is (nearly) a sum of others.
std::optional<MatrixXd> pseudo_inverse(const MatrixXd& columns) {
  constexpr double k_independent = 1e-6; // a column's component orthogonal to the others
  const VectorXd norms = columns.colwise().norm();
  if (!(norms.minCoeff() > 0))
    return std::nullopt;
  const VectorXd scale = norms.cwiseInverse();
  Eigen::ColPivHouseholderQR<MatrixXd> qr(columns * scale.asDiagonal());
  qr.setThreshold(k_independent);
  if (qr.rank() < columns.cols())
    return std::nullopt;
  MatrixXd inverse = qr.solve(MatrixXd::Identity(columns.rows(), columns.rows()));
  inverse.array().colwise() *= scale.array();
  return inverse;
}

} // namespace

double Fit::at(const std::vector<double>& features) const {
  return std::inner_product(factors.begin(), factors.end(), features.begin(), 0.0);
}

std::optional<Interval> Fit::interval_at(const std::vector<double>& features) const {
  if (!relative_deviation)
    return std::nullopt;
  const double value = at(features);
  const auto columns = static_cast<Eigen::Index>(features.size());
  const Eigen::Map<const VectorXd> row(features.data(), columns);
  const Eigen::Map<const MatrixXd> of_factors(covariance.data(), columns, columns);
  const double variance = std::pow(*relative_deviation * value, 2) + row.dot(of_factors * row);
  const double half =
      student_quantile(static_cast<double>(degrees_of_freedom), k_confidence) * std::sqrt(variance);
  return Interval{std::max(value - half, 0.0), value + half};
}

std::optional<Fit> fit_times(const std::vector<std::vector<double>>& features,
                             const std::vector<double>& times_ns) {
  if (features.empty() || features.size() < features.front().size() ||
      std::any_of(times_ns.begin(), times_ns.end(), [](double t) { return !(t > 0); }))
    return std::nullopt;
  const std::size_t columns = features.front().size();
  MatrixXd rows(features.size(), columns); // 1 = sum of factor x column
  for (std::size_t i = 0; i < features.size(); ++i)
    rows.row(static_cast<Eigen::Index>(i)) =
        VectorXd::Map(features[i].data(), rows.cols()) / times_ns[i];
  std::vector<std::size_t> used(columns);
  std::iota(used.begin(), used.end(), std::size_t{0});
  std::optional<MatrixXd> inverse;
  VectorXd found;
  for (;;) {
    inverse = pseudo_inverse(rows(Eigen::all, used));
    if (!inverse)
      return std::nullopt;
    found = inverse->rowwise().sum();
    Eigen::Index least = 0;
    if (found.minCoeff(&least) >= 0 || used.size() == 1)
      break;
    used.erase(used.begin() + least);
  }
  Fit fit{.factors = std::vector<double>(columns, 0),
          .intervals = std::vector<std::optional<Interval>>(columns),
          .degrees_of_freedom = features.size() - used.size(),
          .covariance = std::vector<double>(columns * columns, 0)};
  VectorXd::Map(fit.factors.data(), rows.cols())(used) = found;
  double squares = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const double value = fit.at(features[i]);
    fit.residuals.push_back(times_ns[i] / value - 1);
    squares += std::pow(1 - value / times_ns[i], 2);
  }
  if (fit.degrees_of_freedom == 0)
    return fit;
  const double variance = squares / static_cast<double>(fit.degrees_of_freedom);
  fit.relative_deviation = std::sqrt(variance);
  MatrixXd::Map(fit.covariance.data(), rows.cols(), rows.cols())(used, used) =
      variance * *inverse * inverse->transpose();
  const double quantile =
      student_quantile(static_cast<double>(fit.degrees_of_freedom), k_confidence);
  for (std::size_t c : used) {
    const double half = quantile * std::sqrt(fit.covariance[c * columns + c]);
    fit.intervals[c] = Interval{fit.factors[c] - half, fit.factors[c] + half};
  }
  return fit;
}

} // namespace ncclprobe::analysis::cost_model
