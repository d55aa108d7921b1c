// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/search/trial.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::search {

// What one trial measured. Times are logarithms of nanoseconds.
class MeasuredTrial {
public:
  explicit MeasuredTrial(TrialRequest request) : request_(std::move(request)) {}

  const TrialRequest& request() const { return request_; }
  const Candidate& process() const { return request_.process; }
  void add(const CellRequest& cell, double time_ns);
  // The mean over the cells of that target and candidate. Nothing if none was measured.
  std::optional<double> log_time(std::size_t target, const Candidate& candidate) const;
  // The weighted mean over all targets. Nothing if one is missing.
  std::optional<double> log_time(const Space& space, const Candidate& candidate) const;

private:
  struct Sum {
    double of_logs = 0;
    int count = 0;
  };
  TrialRequest request_;
  std::map<std::pair<std::size_t, Candidate>, Sum> sums_;
};

// Trials that belong together: the default's and those that are compared with it.
using Block = std::vector<MeasuredTrial>;

} // namespace ncclprobe::analysis::search
