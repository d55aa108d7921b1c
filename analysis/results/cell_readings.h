// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/results/rank_values.h"
#include "model/record.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

// Summary of the GPU readings of each cell: a cell of 512 ranks has more than a thousand readings,
// and no report shows a single one.
namespace ncclprobe::analysis {

using Range = std::optional<std::pair<std::int32_t, std::int32_t>>; // lowest, highest
void include(Range& range, const Range& other);

// The highest of any rank, separately for each: NVLink between two consecutive readings while the
// cell was timed, PCIe from one such reading.
struct LinkRates {
  std::optional<double> nvlink_sent_gb_per_s;
  std::optional<double> nvlink_received_gb_per_s;
  std::optional<double> pcie_sent_gb_per_s;
  std::optional<double> pcie_received_gb_per_s;
};

struct CellReadings {
  bool any = false;
  Range sm_clock_mhz;
  Range temperature_c;
  Range power_mw;
  bool throttling_known = false;
  std::uint64_t throttle_reasons = 0; // throttle_reasons() below
  bool processes_counted = false;
  // The largest number of simultaneous processes on its GPU, for ranks that had two or more.
  std::vector<std::pair<int, std::int32_t>> processes;
  // By rank, W: mean of the readings that only cover the running cell (k_power_window_ns), and by
  // the counter of energy, over cells of that length.
  RankValues power_w;
  RankValues counted_power_w;
  LinkRates links;
  // Training steps: how often each clock was read during timing on training ranks, MHz; and the
  // largest memory use of a device.
  std::map<std::int32_t, std::size_t> step_clocks_mhz;
  std::optional<std::uint64_t> step_memory_bytes;
};
CellReadings readings_of(const model::Cell& cell, const model::CellRecord& record);

// Reasons why a GPU ran slower than requested while the cell was timed or right after it
// (model::k_throttled_bits); 0 if none, or unknown.
std::uint64_t throttle_reasons(const model::CellRecord& record);

// A GPU's power reading may be a mean over up to a second before it (NVML). Readings count only if
// the cell had been running for that long; shorter cells have no value.
inline constexpr std::int64_t k_power_window_ns = 1'000'000'000;

// Memory errors that a rank's GPU counted.
struct MemoryErrors {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
  bool operator==(const MemoryErrors&) const = default;
};
// Counts them within a trial, from the first reading to the last: errors between trials do not
// belong to the run, and the GPU may change.
class MemoryErrorCounter {
public:
  // Of the next cell.
  void add(const std::vector<model::Condition>& conditions);
  std::map<int, MemoryErrors> errors() const; // by rank; none: no entry

private:
  struct Count { // of a GPU since the driver's start
    std::optional<std::uint64_t> first;
    std::optional<std::uint64_t> last;
    void add(const std::optional<std::uint64_t>& value);
    std::uint64_t growth() const;
  };
  std::map<int, std::pair<Count, Count>> counts_; // corrected, uncorrected
};

} // namespace ncclprobe::analysis
