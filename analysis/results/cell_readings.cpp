// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/cell_readings.h"

#include "model/cell_label.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using model::Condition;
using When = Condition::When;

Range range_of(const std::optional<std::int32_t>& value) {
  return value ? Range({*value, *value}) : std::nullopt;
}

// --- power ---

// By rank: its readings that only cover a running cell, W.
std::map<int, std::vector<double>> power_readings_w(const std::vector<Condition>& conditions) {
  // Most cells are too short, which this check detects at once.
  if (std::ranges::none_of(conditions, [](const Condition& one) {
        return one.when != When::before && one.power_mw && one.at_ns >= k_power_window_ns;
      }))
    return {};
  std::map<int, std::int64_t> began_ns;
  for (const Condition& one : conditions)
    if (one.when == When::before)
      began_ns[one.rank] = one.at_ns;
  std::map<int, std::vector<double>> found;
  for (const Condition& one : conditions)
    if (one.when != When::before && one.power_mw &&
        one.at_ns - began_ns[one.rank] >= k_power_window_ns)
      found[one.rank].push_back(*one.power_mw / 1e3);
  return found;
}

RankValues mean_power_w(const std::vector<Condition>& conditions) {
  RankValues means;
  for (const auto& [rank, readings_w] : power_readings_w(conditions)) {
    double mean_w = 0;
    for (double one_w : readings_w)
      mean_w += one_w / static_cast<double>(readings_w.size());
    means.add(rank, mean_w);
  }
  return means;
}

using Counter = std::optional<std::uint64_t> Condition::*;

// The counter's growth while the cell ran, over that time. mJ per ns are 10^6 W.
RankValues counted_power_w(const std::vector<Condition>& conditions) {
  std::map<int, std::pair<const Condition*, const Condition*>> ends;
  for (const Condition& one : conditions)
    if (one.energy_mj) {
      auto& [first, last] = ends[one.rank];
      if (first == nullptr)
        first = &one;
      last = &one;
    }
  RankValues power_w;
  for (const auto& [rank, of_rank] : ends) {
    const auto& [first, last] = of_rank;
    const std::int64_t time_ns = last->at_ns - first->at_ns;
    // A restarted driver counts from 0.
    if (first->when == When::before && time_ns >= k_power_window_ns &&
        *last->energy_mj > *first->energy_mj)
      power_w.add(rank, 1e6 * static_cast<double>(*last->energy_mj - *first->energy_mj) /
                            static_cast<double>(time_ns));
  }
  return power_w;
}

// --- links ---

using Rate = std::optional<double>;

// Bytes per ns are GB/s.
Rate rate(const Condition& from, const Condition& to, Counter counter) {
  if (!(from.*counter) || !(to.*counter) || to.*counter < from.*counter || to.at_ns <= from.at_ns)
    return std::nullopt;
  return static_cast<double>(*(to.*counter) - *(from.*counter)) /
         static_cast<double>(to.at_ns - from.at_ns);
}

Rate gb_per_s(const std::optional<std::int32_t>& mb_per_s) {
  return mb_per_s ? Rate(*mb_per_s / 1e3) : std::nullopt;
}

LinkRates link_rates(const std::vector<Condition>& conditions) {
  LinkRates most;
  const Condition* before = nullptr;
  for (const Condition& one : conditions) {
    if (one.when != When::during)
      continue;
    // An absent rate is below any rate.
    most.pcie_sent_gb_per_s = std::max(most.pcie_sent_gb_per_s, gb_per_s(one.pcie_sent_mb_per_s));
    most.pcie_received_gb_per_s =
        std::max(most.pcie_received_gb_per_s, gb_per_s(one.pcie_received_mb_per_s));
    if (before != nullptr && before->rank == one.rank) {
      most.nvlink_sent_gb_per_s =
          std::max(most.nvlink_sent_gb_per_s, rate(*before, one, &Condition::nvlink_sent_bytes));
      most.nvlink_received_gb_per_s = std::max(
          most.nvlink_received_gb_per_s, rate(*before, one, &Condition::nvlink_received_bytes));
    }
    before = &one;
  }
  return most;
}

// --- steps of training ---

void add_step_readings(CellReadings& readings, const model::CellLabel& label,
                       const std::vector<Condition>& conditions) {
  const auto* step = label.step();
  for (const Condition& one : conditions) {
    if (one.when == When::before)
      continue;
    if (step && one.sm_clock_mhz && one.when == When::during &&
        std::ranges::find(step->ranks, one.rank) != step->ranks.end())
      ++readings.step_clocks_mhz[*one.sm_clock_mhz];
    readings.step_memory_bytes = std::max(readings.step_memory_bytes, one.memory_used_bytes);
  }
}

} // namespace

void include(Range& range, const Range& other) {
  if (!other)
    return;
  if (!range)
    range = other;
  range->first = std::min(range->first, other->first);
  range->second = std::max(range->second, other->second);
}

std::uint64_t throttle_reasons(const model::CellRecord& record) {
  std::uint64_t reasons = 0;
  for (const Condition& condition : record.conditions)
    if (condition.when != When::before)
      reasons |= condition.throttle_reasons.value_or(0);
  return reasons & model::k_throttled_bits;
}

CellReadings readings_of(const model::Cell& cell, const model::CellRecord& record) {
  CellReadings readings;
  if (record.conditions.empty())
    return readings;
  readings.any = true;
  for (const Condition& one : record.conditions) {
    include(readings.sm_clock_mhz, range_of(one.sm_clock_mhz));
    include(readings.temperature_c, range_of(one.temperature_c));
    include(readings.power_mw, range_of(one.power_mw));
    readings.throttling_known = readings.throttling_known || one.throttle_reasons.has_value();
    readings.processes_counted = readings.processes_counted || one.processes.has_value();
    if (one.processes.value_or(0) < 2)
      continue;
    // Readings arrive in the order of ranks.
    if (readings.processes.empty() || readings.processes.back().first != one.rank)
      readings.processes.emplace_back(one.rank, *one.processes);
    auto& most = readings.processes.back().second;
    most = std::max(most, *one.processes);
  }
  readings.throttle_reasons = throttle_reasons(record);
  readings.power_w = mean_power_w(record.conditions);
  readings.counted_power_w = counted_power_w(record.conditions);
  readings.links = link_rates(record.conditions);
  if (cell.timing.mode == model::TimingMode::steps)
    add_step_readings(readings, cell.label, record.conditions);
  return readings;
}

void MemoryErrorCounter::Count::add(const std::optional<std::uint64_t>& value) {
  if (!first)
    first = value;
  if (value)
    last = value;
}

// A restarted driver counts from 0.
std::uint64_t MemoryErrorCounter::Count::growth() const {
  return first && *last > *first ? *last - *first : 0;
}

void MemoryErrorCounter::add(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) {
    if (!condition.corrected_errors && !condition.uncorrected_errors)
      continue;
    auto& [corrected, uncorrected] = counts_[condition.rank];
    corrected.add(condition.corrected_errors);
    uncorrected.add(condition.uncorrected_errors);
  }
}

std::map<int, MemoryErrors> MemoryErrorCounter::errors() const {
  std::map<int, MemoryErrors> errors;
  for (const auto& [rank, of_rank] : counts_)
    if (const MemoryErrors one{of_rank.first.growth(), of_rank.second.growth()};
        one != MemoryErrors{})
      errors.emplace(rank, one);
  return errors;
}

} // namespace ncclprobe::analysis
