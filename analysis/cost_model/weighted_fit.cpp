// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/weighted_fit.h"

#include "analysis/cell_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ncclprobe::analysis::cost_model {
namespace {

using Matrix = std::vector<std::vector<double>>;

// Inverse of a symmetric positive matrix with ones on its diagonal; nothing if it has (nearly)
// none.
std::optional<Matrix> inverse(Matrix a) {
  const std::size_t n = a.size();
  Matrix out(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i)
    out[i][i] = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < n; ++row)
      if (std::abs(a[row][column]) > std::abs(a[pivot][column]))
        pivot = row;
    if (std::abs(a[pivot][column]) < 1e-12)
      return std::nullopt;
    std::swap(a[pivot], a[column]);
    std::swap(out[pivot], out[column]);
    const double by = a[column][column];
    for (std::size_t k = 0; k < n; ++k) {
      a[column][k] /= by;
      out[column][k] /= by;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double times = a[row][column];
      if (row == column || times == 0)
        continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[row][k] -= times * a[column][k];
        out[row][k] -= times * out[column][k];
      }
    }
  }
  return out;
}

// Least squares of 1 = sum of factor x column, over the columns in use; the others' factor is 0.
struct Solution {
  std::vector<double> factors;
  Matrix inverse; // of the normal equations, over all columns
};
std::optional<Solution> solve(const Matrix& rows, const std::vector<std::size_t>& used,
                              std::size_t columns) {
  std::vector<double> norms;
  for (std::size_t c : used) {
    double sum = 0;
    for (const auto& row : rows)
      sum += row[c] * row[c];
    if (!(sum > 0))
      return std::nullopt;
    norms.push_back(std::sqrt(sum));
  }
  Matrix normal(used.size(), std::vector<double>(used.size(), 0));
  std::vector<double> right(used.size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < used.size(); ++i) {
      right[i] += row[used[i]] / norms[i];
      for (std::size_t j = 0; j < used.size(); ++j)
        normal[i][j] += row[used[i]] / norms[i] * row[used[j]] / norms[j];
    }
  auto inverted = inverse(std::move(normal));
  if (!inverted)
    return std::nullopt;
  Solution out{std::vector<double>(columns, 0), Matrix(columns, std::vector<double>(columns, 0))};
  for (std::size_t i = 0; i < used.size(); ++i)
    for (std::size_t j = 0; j < used.size(); ++j) {
      out.factors[used[i]] += (*inverted)[i][j] * right[j] / norms[i];
      out.inverse[used[i]][used[j]] = (*inverted)[i][j] / norms[i] / norms[j];
    }
  return out;
}

} // namespace

double Fit::at(const std::vector<double>& features) const {
  return std::inner_product(factors.begin(), factors.end(), features.begin(), 0.0);
}

std::optional<Interval> Fit::interval_at(const std::vector<double>& features) const {
  if (!relative_deviation)
    return std::nullopt;
  const double value = at(features);
  double variance = std::pow(*relative_deviation * value, 2);
  for (std::size_t i = 0; i < features.size(); ++i)
    for (std::size_t j = 0; j < features.size(); ++j)
      variance += features[i] * covariance[i][j] * features[j];
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
  Matrix rows = features;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (double& value : rows[i])
      value /= times_ns[i];
  std::vector<std::size_t> used(columns);
  std::iota(used.begin(), used.end(), std::size_t{0});
  std::optional<Solution> solution;
  for (;;) {
    solution = solve(rows, used, columns);
    if (!solution)
      return std::nullopt;
    auto least = std::min_element(used.begin(), used.end(), [&](std::size_t a, std::size_t b) {
      return solution->factors[a] < solution->factors[b];
    });
    if (solution->factors[*least] >= 0 || used.size() == 1)
      break;
    used.erase(least);
  }
  Fit fit{.factors = solution->factors,
          .intervals = std::vector<std::optional<Interval>>(columns),
          .degrees_of_freedom = rows.size() - used.size(),
          .covariance = solution->inverse};
  double squares = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = fit.at(features[i]);
    fit.residuals.push_back(times_ns[i] / value - 1);
    squares += std::pow(1 - value / times_ns[i], 2);
  }
  if (fit.degrees_of_freedom == 0)
    return fit;
  const double variance = squares / static_cast<double>(fit.degrees_of_freedom);
  fit.relative_deviation = std::sqrt(variance);
  for (auto& row : fit.covariance)
    for (double& value : row)
      value *= variance;
  const double quantile =
      student_quantile(static_cast<double>(fit.degrees_of_freedom), k_confidence);
  for (std::size_t c : used) {
    const double half = quantile * std::sqrt(fit.covariance[c][c]);
    fit.intervals[c] = Interval{fit.factors[c] - half, fit.factors[c] + half};
  }
  return fit;
}

} // namespace ncclprobe::analysis::cost_model
