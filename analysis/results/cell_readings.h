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

// What the readings of the GPUs' state come to, cell by cell: a cell of 512 ranks has a thousand
// readings and more, and no report shows one by itself.
namespace ncclprobe::analysis {

using Range = std::optional<std::pair<std::int32_t, std::int32_t>>; // lowest, highest
void include(Range& range, const Range& other);

// The most of any rank, of each by itself: NVLink between two readings that follow one another
// while the cell was timed, PCIe as one such reading tells it.
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
  // The most processes on its GPU at once, of ranks that had two or more.
  std::vector<std::pair<int, std::int32_t>> processes;
  // Mean of the readings that a running cell alone stands behind (k_power_window_ns), by rank, W.
  RankValues power_w;
  LinkRates links;
  // Steps of training: how often which clock was read while timed on ranks that train, MHz; and the
  // most memory that was used on a device.
  std::map<std::int32_t, std::size_t> step_clocks_mhz;
  std::optional<std::uint64_t> step_memory_bytes;
};
CellReadings readings_of(const model::Cell& cell, const model::CellRecord& record);

// Reasons for which a GPU ran slower than asked for while the cell was timed or right after it
// (model::k_throttled_bits); 0 if none, or none is known.
std::uint64_t throttle_reasons(const model::CellRecord& record);

// A GPU's reading of its power may be a mean over up to a second before (NVML). Readings count only
// if the cell had been running for that long by then; shorter cells have no figure.
inline constexpr std::int64_t k_power_window_ns = 1'000'000'000;

// Memory errors that a rank's GPU counted.
struct MemoryErrors {
  std::uint64_t corrected = 0;
  std::uint64_t uncorrected = 0;
  bool operator==(const MemoryErrors&) const = default;
};
// In a trial, from the first reading to the last: what comes between trials is not the run's, nor
// need the GPU be the same. By rank; none: no entry.
std::map<int, MemoryErrors> memory_errors(const model::TrialRecord& trial);

} // namespace ncclprobe::analysis
