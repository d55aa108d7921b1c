// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/table_tuner/table_tuner.h"

namespace ncclprobe::plugin {
namespace {

void count(std::atomic<std::uint64_t>& counter) {
  counter.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

TableTuner::TableTuner(tuning::Table table, std::string sha256)
    : table_(std::move(table)), sha256_(std::move(sha256)), counters_(table_.rows.size()) {}

std::string TableTuner::why_aside(const std::string& nccl) const {
  if (table_.header.nccl.empty() || nccl.empty() || table_.header.nccl == nccl)
    return "";
  return "it was measured with NCCL " + table_.header.nccl + ", and this is NCCL " + nccl;
}

bool TableTuner::decide(const Communicator& communicator, const TunedCall& call) noexcept {
  const int index = communicator.lookup.row_of(call.collective, call.bytes);
  if (index < 0) {
    count(without_row_);
    return false;
  }
  const tuning::Row& row = table_.rows[static_cast<std::size_t>(index)];
  Counter& counter = counters_[static_cast<std::size_t>(index)];
  // Rows with an estimate were measured for single operations. NCCL estimates a group by another
  // rule, so the machine could not be told from others.
  if (row.estimate && call.operations != 1) {
    count(without_row_);
    return false;
  }
  const float* own = call.cost(tuning::Algorithm::ring, tuning::Protocol::simple);
  if (own != nullptr && !tuning::fits_estimate(row, call.bytes, static_cast<double>(*own))) {
    count(set_aside_);
    return true;
  }
  if (row.choice) {
    float* cost = call.cost(row.choice->algorithm, row.choice->protocol);
    if (cost == nullptr || *cost < 0) {
      count(counter.impossible);
      return false;
    }
    *cost = 0;
  }
  if (row.channels != tuning::k_keep_channels)
    *call.channels = row.channels;
  count(counter.applied);
  return false;
}

tuning::HitCounts TableTuner::hits() const {
  tuning::HitCounts counts{sha256_, without_row_.load(), set_aside_.load(), {}};
  for (const Counter& counter : counters_)
    counts.rows.push_back({counter.applied.load(), counter.impossible.load()});
  return counts;
}

} // namespace ncclprobe::plugin
