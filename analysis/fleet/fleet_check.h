// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "base/enum_names.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The search for bad nodes, links and rails as a state machine without side effects. The history is
// the state: judge() (judgement.h) says what it means, next_round() (rounds.h) what to measure
// next. Statistics and sources: docs/method.md.
namespace ncclprobe::analysis::fleet {

struct CheckOptions {
  int nodes = 0;
  // GPUs of a node that have a rail each. With more than one, each group is measured once as a
  // whole and once on all rails at once, each rail separately.
  int rails = 1;
  int group = 2;       // nodes that are measured together
  int large_group = 0; // then of the good ones, for faults that pairs do not show; 0: none
  int most_rounds = 14;
  // The largest probability that anything is named that is at most half as slow as `slower`.
  double alpha = 0.01;
  // The least probability that a node as slow as `slower` is not acquitted.
  double power = 0.99;
  double slower = 0.1; // share of the usual bandwidth that a bad node lacks
  std::uint64_t seed = 0;

  // Numbers of paths: 0 is the whole node, rail r is r + 1.
  int paths() const { return rails > 1 ? 1 + rails : 1; }
};
// Of two larger groups nothing says which one is slow.
constexpr int k_least_large_groups = 3;
// Logarithms of times: what is bad, and what is tolerated.
double bad_shift(const CheckOptions& options);
double tolerated_shift(const CheckOptions& options);

// Nodes that are measured together, in ascending order.
using Group = std::vector<int>;

// One group in one trial.
struct Meeting {
  int round = 0;
  int trial = 0; // meetings of one trial ran at the same time
  Group nodes;
  std::vector<double> times_ns; // by path; empty: the group broke, or did not finish in time
  bool broken() const { return times_ns.empty(); }
};

// What an earlier check says of a path of a node.
struct EarlierSpeed {
  double slowness = 0;   // logarithm, against what was usual then
  double half_width = 0; // of its 95% interval
  int meetings = 0;
};

// Why a node or a link is not good, for programs. Documented in docs/fleet.md.
enum class Reason {
  none,           // it is good
  slow,           // all of its paths
  slow_rails,     // only some of its rails
  slow_in_groups, // only with more nodes than in the first rounds
  got_slower,     // against an earlier check, more than the fleet
  crashed,        // its worker
  no_answer,      // its supervisor went silent
  other_ranks,    // it has another number of ranks than most nodes
  never_finished, // with any partner
  not_finished,   // some measurements did not finish
  not_measured,   // never
  not_decided,    // too noisy, or the rounds are over
};

// A node that is not measured again.
struct Fault {
  int node = 0;
  int round = 0;
  Reason reason = Reason::crashed;
  std::string what;
};

struct History {
  int rounds = 0; // that are over
  std::vector<Meeting> meetings;
  std::vector<Fault> faults;
  // By node and path, from an earlier check, which may not know all nodes. Empty: there is none.
  std::vector<std::vector<std::optional<EarlierSpeed>>> earlier;
};

// failed: it crashed, or hung with every partner. undecided: neither acquitted nor accused yet.
enum class Standing { good, bad, failed, undecided };

// How fast a node, link or rail is, against what is usual.
struct SpeedEstimate {
  double ratio = 1;  // of bandwidths; below 1: slower
  Interval interval; // 95%, of a confidence sequence
  int slow = 0;      // meetings that were slower than tolerated
  int meetings = 0;
};

struct PathVerdict {
  Standing standing = Standing::undecided;
  std::optional<SpeedEstimate> estimate; // absent: it was never measured
};

// What a node's standing rests on.
enum class Evidence { first_groups, large_groups, baseline };

struct NodeVerdict {
  Standing standing = Standing::undecided;
  Evidence evidence = Evidence::first_groups;
  std::vector<PathVerdict> paths;
  std::vector<PathVerdict> large_groups;     // empty: it was not to be measured in them
  std::vector<PathVerdict> against_baseline; // of earlier speeds; empty: none of them is known
  std::vector<int> bad_rails;                // only some of them; empty: not a matter of rails
  Reason fault_reason = Reason::none;
  std::string fault; // why it failed
  int broken = 0;    // meetings that did not finish

  const std::vector<PathVerdict>& decisive() const { // of that evidence
    return evidence == Evidence::first_groups   ? paths
           : evidence == Evidence::large_groups ? large_groups
                                                : against_baseline;
  }
};

// A group whose members are all fine with others. Of two nodes: their link.
struct GroupVerdict {
  Group nodes;
  std::optional<int> rail; // only this one is slow
  Standing standing = Standing::undecided;
  std::optional<SpeedEstimate> estimate; // absent: it only ever broke
};

// One rail of all nodes, against the median of all rails.
struct RailVerdict {
  int rail = 0;
  double ratio = 1;
  bool bad = false;
};

struct Judgement {
  std::vector<NodeVerdict> nodes;
  std::vector<GroupVerdict> groups; // bad and undecided ones
  bool first_decided = false;       // all nodes, by the first groups alone
  std::vector<RailVerdict> rails;   // only if there are at least three
  std::vector<double> usual_ns;     // by path; what a group of good nodes takes; empty: unknown
  double usual_error = 0;           // standard error of the logarithm of the first one
  double noise = 0; // standard deviation of a meeting's logarithm, the largest path's
  std::optional<double>
      large_usual_ns;      // whole nodes in the later groups; absent: none was measured
  int large_measured = 0;  // these groups, finished or not
  int large_undecided = 0; // good in the first groups; the rounds were over for more
  // Nodes that the earlier check knows, but of whose partners too few were as slow then.
  int not_compared = 0;

  int count(Standing standing) const;
  bool decided() const; // nodes and groups
};

} // namespace ncclprobe::analysis::fleet
