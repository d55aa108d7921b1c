// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// All straight lines y = a + rate x between two sets of points: above the lower ones and below the
// upper ones. For a clock, x is its time and y its offset to another clock.
namespace ncclprobe::analysis::timeline {

// x and y are relative to a nearby moment, so doubles can represent nanoseconds of hours.
struct LinePoint {
  double x = 0;
  double y = 0;
  std::size_t source = 0; // source of the point, for the caller
};

// Upper and lower change places; rates stay.
std::vector<LinePoint> mirrored(std::vector<LinePoint> points);

// The points that some line, not too steep, touches when it is lowered onto all of them.
class UpperHull {
public:
  // Points in any order.
  explicit UpperHull(std::vector<LinePoint> points);
  bool empty() const { return corners_.empty(); }
  const std::vector<LinePoint>& corners() const { return corners_; } // ascending x
  // The corner that a line of this rate touches.
  const LinePoint& touched(double rate) const;
  // The smallest a of all lines of this rate that are not below any point.
  double least_intercept(double rate) const;
  // Rates at which a line touches two corners.
  std::vector<double> edges() const;

private:
  std::vector<LinePoint> corners_;
};

// No line is steeper than most_rate, up or down.
class FeasibleLines {
public:
  // At least one point each.
  FeasibleLines(std::vector<LinePoint> lower, std::vector<LinePoint> upper, double most_rate);

  // The distance by which every point must be moved to allow a line; 0 if there is one.
  double lacking() const { return lacking_; }
  // The two or three sources with the largest contradiction; empty if lacking() is 0.
  std::vector<std::size_t> contradicting() const;

  // The range of the lines at x. If there is none, the range after all points move by lacking().
  struct Range {
    double low = 0;
    double high = 0;
    double middle() const { return low + (high - low) / 2; }
    double half_width() const { return (high - low) / 2; }
  };
  Range at(double x) const;
  // Both ends of the range are straight between these x, and before and behind them.
  const std::vector<double>& knots() const { return knots_; }
  double least_rate() const { return corners_.front().rate; }
  double greatest_rate() const { return corners_.back().rate; }

private:
  // The lines of one rate: their intercepts.
  struct Corner {
    double rate = 0;
    double low = 0;
    double high = 0;
  };
  double gap(double rate) const; // by how much the lower points exceed the upper ones
  void find_corners(const std::vector<double>& rates, std::size_t best);

  UpperHull lower_;
  UpperHull upper_; // mirrored
  double lacking_ = 0;
  double best_rate_ = 0;        // with the smallest gap
  std::vector<Corner> corners_; // ascending rate
  std::vector<double> knots_;
};

} // namespace ncclprobe::analysis::timeline
