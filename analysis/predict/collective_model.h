// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/cost_points.h"
#include "analysis/predict/weighted_fit.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// Hockney's model t(m) = alpha + beta m of collectives (docs/method.md, "The cost model").
namespace ncclprobe::analysis::cost_model {

// A range of sizes in which one line describes the times.
struct Piece {
  std::uint64_t first_bytes = 0; // of the measured sizes
  std::uint64_t last_bytes = 0;
  std::string algorithm; // empty: unknown
  std::string protocol;
  // Why it begins here: the first; NCCL changed algorithm or protocol; or one line did not describe
  // the times before and after.
  enum class Begin { first, observed, fitted } begin = Begin::first;
  Fit line; // factors alpha (ns), beta (ns per byte)
  double alpha_ns() const { return line.factors[0]; }
  double beta_ns_per_byte() const { return line.factors[1]; }
};

constexpr auto enum_names(Piece::Begin) {
  using enum Piece::Begin;
  return std::to_array<std::pair<Piece::Begin, std::string_view>>(
      {{first, ""}, {observed, "NCCL switches"}, {fitted, "fit"}});
}

// One collective in a communicator of one size.
struct CollectiveModel {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::vector<Piece> pieces; // by size
  // Of each size that can be left out (three or more in its piece): |predicted / measured - 1|.
  std::vector<double> left_out_errors;
  std::size_t points = 0;
};

// One for each collective and size of communicator with two sizes or more. `points` come from
// cost_points(); those without a known algorithm, from with_nearest_algorithms().
std::vector<CollectiveModel> collective_models(const std::vector<Point>& points);

// All models' errors combined; nothing if no size could be left out.
struct LeftOut {
  double median = 0;
  double largest = 0;
  std::size_t sizes = 0;
};
std::optional<LeftOut> left_out(const std::vector<CollectiveModel>& models);

// The links between nodes, as the user states them: of one node with all of its network cards.
struct InterNode {
  double bytes_per_ns = 0; // GB/s
  double latency_ns = 0;
};

// Ranks that communicate: how many, how many of them on one node, and how many such groups share
// the links of one node at the same time, including this one.
struct RankGroup {
  int ranks = 0;
  int ranks_per_node = 0;
  int sharing = 1;
};

// The work of a collective for `ranks` ranks on nodes of `ranks_per_node`, in steps and bytes:
// ring, or tree if NCCL used one.
struct Shape {
  double hops = 0;       // sequential messages
  double share = 0;      // bytes through each rank's slowest link / S
  double node_hops = 0;  // hops between nodes
  double node_share = 0; // bytes out of each node / S
};
Shape shape_of(model::Collective collective, bool tree, int ranks, int ranks_per_node);

// t(n, m) = base + hops(n) alpha + share(n) m beta, fitted over all numbers of ranks. Beyond a
// node, the hops between nodes add their latency, and the bytes take as long as on the slower of
// the two paths. With only one measured number of ranks, base and alpha are inseparable: base is 0.
class RankModel {
public:
  // For one collective, in the pieces of the largest communicator that has any; nothing if there
  // are too few points.
  static std::optional<RankModel> fit(const std::vector<Point>& points,
                                      model::Collective collective, int ranks_per_node);

  struct Time {
    double ns = 0;
    std::optional<Interval> interval_ns; // for one measurement
  };
  // Nothing beyond a node without `inter_node`, unless more than one node was measured.
  std::optional<Time> at(const RankGroup& group, std::uint64_t bytes,
                         const std::optional<InterNode>& inter_node) const;
  std::optional<Time> at(int ranks, std::uint64_t bytes,
                         const std::optional<InterNode>& inter_node) const {
    return at({ranks, ranks_per_node_, 1}, bytes, inter_node);
  }
  int most_ranks() const { return most_ranks_; } // measured

private:
  struct Segment {
    std::uint64_t last_bytes = 0;
    bool tree = false;
    bool has_base = false;
    Fit fit;
  };
  std::vector<double> features(const Segment& segment, int ranks, double bytes) const;
  model::Collective collective_ = model::Collective::all_reduce;
  int ranks_per_node_ = 0;
  int most_ranks_ = 0;
  std::vector<Segment> segments_; // by size
};

} // namespace ncclprobe::analysis::cost_model
