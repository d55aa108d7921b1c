// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/fleet_check.h"

#include <optional>
#include <vector>

namespace ncclprobe::analysis::fleet {

// Of one path (the whole nodes, or one rail) in groups of one size.
struct PathInput {
  struct Value {
    const Group* nodes = nullptr;
    int trial = 0;
    double slowness = 0; // logarithm of the time, over any reference
    double expected = 0; // that reference, if it is of an earlier check
  };
  // What an earlier check says of a node, and how much too fast it may have seen it.
  struct Earlier {
    double slowness = 0;
    double doubt = 0;       // with the certainty of an accusation
    double shown_doubt = 0; // half of a 95% interval
  };
  std::vector<Value> values;
  std::vector<bool> out;        // nodes that failed; their meetings say nothing about others
  std::vector<Earlier> earlier; // by node; empty: values are not compared with an earlier check
  double alpha = 0;             // for all of its nodes, and as much for all of its groups
};

class PathJudge {
public:
  PathJudge(const CheckOptions& options, PathInput input);

  std::optional<double> usual_ns() const; // nothing was measured: absent
  double noise() const { return noise_; }
  double centre_error() const; // standard error of the logarithm of usual_ns()
  PathVerdict verdict(int node) const;
  // Groups of good nodes that are slow together.
  std::vector<GroupVerdict> groups() const;

private:
  using Value = PathInput::Value;
  // A node's value, and with whom it was measured.
  struct Seen {
    double slowness = 0;
    const Group* group = nullptr;
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
  PathInput::Earlier earlier_of(int node) const;
  bool informs(const Value& value, int node) const;
  bool is_good(int node) const;
  bool is_bad(int node) const;
  double share_of_alpha(double tests) const;
  SpeedEstimate estimate_of(const std::vector<Seen>& seen, double doubt) const;

  const CheckOptions& options_;
  std::vector<bool> out_;
  std::vector<Value> values_; // slowness over the usual one
  std::vector<PathInput::Earlier> earlier_;
  double alpha_ = 0;
  std::vector<std::vector<int>> values_of_; // by node
  std::vector<Standing> standing_;
  double centre_ = 0;
  double noise_ = 0;
  int controls_ = 0;
};

} // namespace ncclprobe::analysis::fleet
