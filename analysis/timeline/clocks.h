// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/rank_trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// One clock for all ranks: lines through readings of two clocks, with what they may be wrong by.
namespace ncclprobe::analysis::timeline {

// Of a time on another clock or a difference of such: the true one is within value +- error.
struct Aligned {
  double value_ns = 0;
  double error_ns = 0;
  // A difference that is not twice its error is not told from none.
  bool is_shown() const;
};
// "3.1 +- 0.8 us", "3.1 us" without error, "not shown (below 2 x 0.8 us)".
std::string format_us(const Aligned& time);

// reference = own + offset + rate x (own - at)
struct ClockModel {
  std::uint64_t at_ns = 0;    // own clock
  std::int64_t offset_ns = 0; // at at_ns
  double offset_rest_ns = 0;  // fraction of it
  double rate = 0;            // reference ns gained per own ns
  // The true offset is within error_ns from the first to the last reading, and may leave that by
  // drift_error each ns outside.
  double error_ns = 0;
  std::uint64_t first_ns = 0, last_ns = UINT64_MAX;
  double drift_error = 0;
  // How good the line is.
  std::size_t readings = 0;
  double worst_envelope_ns = 0;   // largest error of a reading
  double worst_residual_ns = 0;   // largest distance of a reading from the line: measured error of
                                  // interpolation
  std::size_t contradictions = 0; // readings whose distance is beyond their own error

  std::int64_t to_reference(std::uint64_t own_ns) const;
  double error_at(std::uint64_t own_ns) const;
  // error_ns then holds from first to last, which may lie outside of the readings.
  void extend(std::uint64_t first_own_ns, std::uint64_t last_own_ns);
};

// Weighted least squares, weights 1/error^2. Nothing without readings. error_ns = worst envelope +
// worst residual. A rate that the readings do not tell to within trace::k_most_drift is taken to be
// 0.
std::optional<ClockModel> fit_clock(const std::vector<trace::ClockRow>& readings);

// From inner's own clock to outer's reference, for trees of hosts. Errors add up.
ClockModel compose(const ClockModel& inner, const ClockModel& outer);

// Of all ranks, to the clock of the first rank's host.
struct Clocks {
  struct OfRank {
    std::size_t host_index = 0;
    std::optional<ClockModel> host; // nothing: another host's clock that nobody compared
    std::optional<ClockModel> gpu;  // %globaltimer to the rank's own host; nothing: no readings
    double own_error_ns =
        0; // of its times on its own host's clock, where known: times of the GPU's
  };
  std::map<int, OfRank> ranks;
  std::size_t hosts = 0;
  // Readings between ranks of the first rank's host, which share its clock: how far off they were.
  std::size_t same_host_readings = 0;
  std::size_t same_host_contradictions = 0; // 0 is not within the reading's error
  double same_host_error_ns = 0;            // largest error of these

  // Hosts whose clock nobody compared, aligned by what collectives allow (clock_inference.h).
  std::size_t inferred_hosts = 0;
  std::uint64_t inferred_from = 0; // of these collectives, of the host with the fewest

  bool all_known() const;
  // Of the difference of two ranks' times; ClockModel::error_ns goes into it. Of hosts' clocks 0 on
  // one host.
  double pair_error_ns(int a, int b) const;
  double worst_error_ns() const; // of hosts whose clock is known
};
Clocks fit_clocks(const std::vector<RankHead>& ranks);

} // namespace ncclprobe::analysis::timeline
