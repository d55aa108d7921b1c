// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/collective_model.h"
#include "analysis/predict/step_program.h"

#include <map>
#include <optional>
#include <vector>

namespace ncclprobe::analysis::cost_model {

// The user's statement about the links between nodes: between `worst` and `best`.
struct InterNodeRange {
  InterNode worst, best;
  InterNode middle() const {
    return {(worst.bytes_per_ns + best.bytes_per_ns) / 2, (worst.latency_ns + best.latency_ns) / 2};
  }
};

// How wrong models are for numbers of ranks that they were not fitted to: each number is left out
// in turn, and its times are predicted from the others'.
struct RankErrors {
  std::vector<int> left_out; // numbers of ranks, ascending
  struct Error {
    double bytes_per_rank = 0;
    double relative = 0; // predicted / measured - 1
  };
  std::vector<Error> errors; // of all of their sizes
  std::vector<int> measured; // all numbers of ranks
  double rms() const;
  // Half the width of a 95% interval for that many ranks, relative. From the errors of the sizes
  // nearest to this one, measured in bytes per rank, because those decide the share of latency.
  // Errors of successive doublings of the ranks are assumed to be independent: they grow with the
  // square root of the number of doublings beyond the measurements. Nothing if fewer than two
  // numbers were measured.
  std::optional<double> half_width(int ranks, std::uint64_t bytes) const;
};

// Durations of transfers, from models of all measured collectives.
class TransferCosts {
public:
  TransferCosts(const std::vector<Point>& points, int ranks_per_node);

  struct Time {
    double ns = 0;
    std::optional<double> half_width; // relative, 95%: of one further measurement
  };
  // Errors: not_found for a collective with fewer than two measured sizes; unavailable beyond a
  // node without `inter_node`.
  base::Result<Time> of(const Transfer& transfer, const std::optional<InterNode>& inter_node) const;

  const std::map<model::Collective, RankErrors>& rank_errors() const { return rank_errors_; }

private:
  std::map<model::Collective, RankModel> models_;
  std::map<model::Collective, RankErrors> rank_errors_;
  std::map<model::Collective, std::vector<int>> no_line_; // numbers of ranks without a model
};

} // namespace ncclprobe::analysis::cost_model
