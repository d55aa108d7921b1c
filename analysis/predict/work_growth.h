// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

// How an activity's time changes with the work of one operation (docs/method.md, "The cost model").
namespace ncclprobe::analysis::cost_model {

// Sizes this close count as equal: buckets and padding differ slightly between numbers of ranks.
inline constexpr double k_same_size = 0.01;

// The operations of one activity and kind, in a step on one number of ranks. Means over operations.
struct WorkPoint {
  int ranks = 0;
  double amount = 0;                // of one operation
  double time_ns = 0;               // of one operation, without concurrent communication
  double in_step_ns = 0;            // of one operation, in the whole step
  std::map<int, double> process_ns; // time_ns by process
};

// An operation of x units takes a + b x. The line is fitted to all numbers of ranks and used as a
// ratio to the last one, the base, whose time is known.
class WorkGrowth {
public:
  WorkGrowth() = default;
  explicit WorkGrowth(std::vector<WorkPoint> points); // one or more, by ranks

  double base_amount() const { return points_.back().amount; }

  // Times of an operation with `ratio` times the base's work, relative to the base's time.
  struct Time {
    double factor = 1;
    double fit = 0;      // half width (95%): from the measurements' noise
    double model = 0;    // half width: from the deviation of times from a line
    bool is_told = true; // otherwise the error is unknown, and `model` is a generous bound
  };
  Time at(double ratio) const;

private:
  std::vector<WorkPoint> points_;
  double noise_ = 0; // standard deviation of a point, without the part that processes share
  double noise_quantile_ = 0; // its degrees of freedom; 0: the noise is unknown
  double model_error_ = 0;    // largest error of a left-out point, relative to the base's time
  bool is_checked_ = false;   // a point could be left out
};

} // namespace ncclprobe::analysis::cost_model
