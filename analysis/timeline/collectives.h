// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"
#include "analysis/timeline/by_collective.h"

#include <cstddef>
#include <cstdint>
#include <vector>

// The same collective on all ranks.
namespace ncclprobe::analysis::timeline {

// One in this many collectives is not used to compare clocks (clock_inference.h), and can therefore
// check them.
inline constexpr std::uint64_t k_one_is_held_out_of = 8;
bool is_held_out(const CollectiveKey& key);

// One rank's part of a collective.
struct CollectivePart {
  CollectiveKey key;
  std::uint32_t activity = 0; // index
  StepKey step;
  std::uint32_t expected_ranks = 0; // 0: unknown
  // No rank can end before all have begun; this does not hold for broadcast and reduce.
  bool needs_all = false;
};

// Data in the names of functions and kernels, by TextId::id.
struct TextTraits {
  explicit TextTraits(const std::vector<std::string>& texts);
  bool is_collective(std::uint32_t text) const { return has(collective, text); }
  bool needs_all(std::uint32_t text) const { return has(all, text); }

private:
  static bool has(const std::vector<bool>& set, std::uint32_t text) {
    return text < set.size() && set[text];
  }
  std::vector<bool> collective, all;
};

// In order of time; within the steps, if there are any. Call it after join_nccl().
std::vector<CollectivePart> collective_parts(const RankTrace& trace, const Activities& activities,
                                             const OperationIndex& operations,
                                             const TextTraits& traits, const TraceSource& source);

// Summary of a collective over all ranks, of constant size. Times are aligned.
struct CollectiveSummary {
  std::int64_t first_start_ns = INT64_MAX;
  std::int64_t last_start_ns = INT64_MIN;
  std::int64_t second_last_start_ns = INT64_MIN;
  std::int64_t first_end_ns = INT64_MAX;
  StepKey step;
  int first_rank = -1;
  int last_rank = -1;
  int second_last_rank = -1;
  int first_end_rank = -1;
  std::uint32_t ranks = 0;
  std::uint32_t expected_ranks = 0; // 0: unknown
  bool needs_all = false;
  bool is_held_out = false;
  // Seen on all participants, as far as known: only then is the last to come known.
  bool is_complete() const { return ranks >= 2 && ranks >= expected_ranks; }
};

class CollectiveTable {
public:
  void add(const CollectivePart& part, std::int64_t start_ns, std::int64_t end_ns, int rank);
  // Null: unknown. `hint`: as ByCollective's.
  const CollectiveSummary* find(const CollectiveKey& key, std::size_t& hint) const;
  std::size_t index_of(const CollectiveSummary& collective) const {
    return static_cast<std::size_t>(&collective - all().data());
  }
  const std::vector<CollectiveSummary>& all() const { return summaries_.all(); }

private:
  ByCollective<CollectiveSummary> summaries_;
  std::size_t hint_ = 0;
};

} // namespace ncclprobe::analysis::timeline
