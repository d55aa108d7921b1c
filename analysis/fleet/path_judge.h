// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"

#include <optional>
#include <utility>
#include <vector>

namespace ncclprobe::analysis::fleet {

// One path (the whole nodes, or one rail) by itself.
class PathJudge {
public:
  // `out`: nodes that failed; their meetings say nothing about others.
  PathJudge(const CheckOptions& options, const History& history, int path, std::vector<bool> out);

  std::optional<double> usual_ns() const; // nothing was measured: absent
  double noise() const { return noise_; }
  double centre_error() const; // standard error of the logarithm of usual_ns()
  PathVerdict verdict(int node) const;
  // Pairs of good nodes that are slow together.
  std::vector<LinkVerdict> links() const;

private:
  struct Value {
    const Group* nodes = nullptr;
    int trial = 0;
    double slowness = 0; // logarithm of the time over the usual one
  };
  // A node's value, and with whom it was measured.
  struct Seen {
    double slowness = 0;
    int partner = 0;
  };

  void centre();
  void recentre(const std::vector<bool>& is_control);
  void measure_noise();
  void decide();
  std::vector<double> lower_medians() const;
  bool others_are(const Value& value, int node, Standing standing) const;
  // Meetings whose other members are not bad; with `proven`, only those whose are all good.
  enum class Partners { not_bad, proven };
  std::vector<Seen> seen_by(int node, Partners partners) const;
  bool is_good(int node) const;
  bool is_bad(int node) const;
  double share_of_alpha(double tests) const;
  SpeedEstimate estimate_of(const std::vector<Seen>& seen) const;

  const CheckOptions& options_;
  std::vector<bool> out_;
  std::vector<Value> values_;
  std::vector<std::vector<int>> values_of_; // by node
  std::vector<Standing> standing_;
  double centre_ = 0;
  double noise_ = 0;
  int controls_ = 0;
};

} // namespace ncclprobe::analysis::fleet
