// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/p2p/p2p_limits.h"
#include "analysis/results/cell_summary.h"

// The matrices of a run of `ncclprobe p2p`, from its samples. A figure is the median over processes
// of their medians over batches. Bandwidths: GB/s of 1e9 bytes. Latencies: ns per hop; for messages
// half the round trip.
namespace ncclprobe::analysis {

// A measured value and its limit.
struct P2pFigure {
  double value = 0;
  double lowest = 0; // over all batches of all processes
  double highest = 0;
  std::size_t batches = 0;
  P2pLimit limit;
  std::optional<double> share() const {
    return limit.gb_per_s ? std::optional(value / *limit.gb_per_s) : std::nullopt;
  }
  // A measurement error, or the limit is wrong: nothing is faster than its link.
  bool beyond_limit() const { return share().value_or(0) > 1 + k_limit_tolerance; }
  bool outlier = false; // slower than its class by more than the noise
  double class_median = 0;
};

// One transfer, or in `together` all of one rank.
struct P2pEntry {
  model::P2pTransfer transfer; // together: from and to are the rank whose total this is
  // One way. Absent if it was not measured, or cannot be separated from the way back (bi of the
  // host).
  std::optional<P2pFigure> figure;
  std::optional<P2pFigure> both_ways; // bi: the sum, in the entries of both ways
  model::Outcome outcome;             // the worst of all processes
  DataState data = DataState::unchecked;
  std::string data_note;
};

struct P2pMatrix {
  model::P2pMode mode = model::P2pMode::direct;
  model::P2pMethod method = model::P2pMethod::ce;
  model::P2pDirection direction = model::P2pDirection::uni;
  std::uint64_t bytes = 0;
  std::vector<P2pEntry> entries; // by transfer

  bool latency() const { return model::measures_latency(method); }
  const P2pEntry* at(const model::P2pTransfer& transfer) const;
};

// True for the second of two entries that represent one measurement, there and back.
bool is_mirrored(const P2pMatrix& matrix, const model::P2pTransfer& transfer);

bool is_p2p(const model::Run& run);

inline constexpr std::size_t k_least_class = 4; // of equal links: fewer have no outliers

// In the order of the plan. Marks outliers: entries that are worse than the median of their class
// of links by more than 5% and by more than five times the noise (1.4826 x the median absolute
// deviation), in every batch. A class of fewer than four has no outliers.
std::vector<P2pMatrix> p2p_matrices(const model::Run& run);

// The figures of a run beyond their limits, as text. A sound run has none.
std::vector<std::string> beyond_limits(const std::vector<P2pMatrix>& matrices);

// "ce, one way, 0 to 1": the text in reports.
std::string describe(const P2pMatrix& matrix);
std::string describe(const P2pMatrix& matrix, const P2pEntry& entry);

} // namespace ncclprobe::analysis
