// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

// The same collective on all ranks.
namespace ncclprobe::analysis::timeline {

// The same on all ranks that take part in a collective, and unique in a trace. An operation of a
// schedule has one communicator, so the key does not need its number.
struct CollectiveKey {
  std::uint64_t where = 0; // communicator and function, or cell, batch and name
  std::uint64_t which = 0; // sequence number, or iteration and operation
  bool operator==(const CollectiveKey&) const = default;
};

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
  struct Hash {
    std::size_t operator()(const CollectiveKey& key) const;
  };
  void add(const CollectivePart& part, std::int64_t start_ns, std::int64_t end_ns, int rank);
  // Null: unknown. Ranks ask in nearly the same order, so `hint`, kept by the caller from 0 on,
  // usually avoids the search.
  const CollectiveSummary* find(const CollectiveKey& key, std::size_t& hint) const;
  std::size_t index_of(const CollectiveSummary& collective) const {
    return static_cast<std::size_t>(&collective - all_.data());
  }
  const std::vector<CollectiveSummary>& all() const { return all_; }

private:
  std::optional<std::size_t> place(const CollectiveKey& key, std::size_t& hint) const;
  std::size_t slot_of(const CollectiveKey& key) const; // of index_: its own, or an empty one
  void grow();

  std::vector<CollectiveKey> keys_;
  std::vector<CollectiveSummary> all_;
  // Open addressing: index + 1, or 0. A third of the memory of the standard's map, which counts for
  // captures with many millions of collectives.
  std::vector<std::uint32_t> index_;
  std::size_t hint_ = 0;
};

} // namespace ncclprobe::analysis::timeline
