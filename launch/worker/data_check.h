// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/worker/communicator_cache.h"
#include "launch/worker/local_rank_state.h"
#include "launch/worker/untouched_memory.h"
#include "model/data_pattern.h"
#include "model/record.h"
#include "model/schedule.h"

#include <string>
#include <vector>

namespace ncclprobe::worker {

// Which launches of a cell are checked.
enum class CheckMethod {
  none,
  every_launch,    // latency mode
  every_batch,     // events mode: the results are poisoned before each
  last_launch,     // the last of a batch: it receives into separate, poisoned buffers
  separate_launch, // after each batch, untimed, with rewritten inputs
};
std::string_view in_words(CheckMethod method); // for CheckResult::method

// Whether a schedule may be launched repeatedly on the same inputs, and how to see that a launch
// did its work.
struct DataFlow {
  // Buffers with promised contents (Schedule::checks).
  std::vector<int> results;
  // No launch changes an input, and all results are in buffers without inputs: any launch can be
  // checked, if the results are poisoned before. Otherwise ("in place") inputs must be rewritten.
  bool repeatable = true;
  // Only the timed region uses buffers: a launch of it can receive into other buffers.
  bool self_contained = true;
};
DataFlow data_flow(const model::Schedule& schedule);

// The best method for a cell. `slots` says whether there was memory for the last launch.
enum class Slots { none, there };
CheckMethod choose_method(const DataFlow& flow, model::TimingMode mode, Slots slots);

// The results of one launch on one local rank.
struct DataComparison {
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  std::string first_wrong; // "rank 3 element 17: bits 0x1 instead of 0x2 (2)"
};

// Writes the inputs of a schedule and compares its results with the oracle of model/data_pattern.h.
// No stream may be using the buffers.
class CellData {
public:
  // All arguments must outlive the object; `communicators` follows schedule.communicators.
  CellData(const model::Schedule& schedule, const std::vector<LocalRankState>& local_ranks,
           const std::vector<LocalCommunicator*>& communicators, int world_size,
           std::uint64_t seed);

  const DataFlow& flow() const { return flow_; }
  // Poisons the guard bands, once: later writes to them stay visible until the end.
  void guard(const LocalBuffers& buffers) const;
  // Poisons every buffer between its guard bands, then writes the inputs.
  void fill(const LocalBuffers& buffers) const;
  // For repeatable schedules: distinguishes a launch that did nothing from one that did its work.
  void poison_results(const LocalBuffers& buffers) const;
  // By local rank.
  std::vector<DataComparison> compare(const LocalBuffers& buffers) const;
  // By local rank, text about bytes that no operation writes (untouched_memory.h) but that were
  // overwritten since the last fill; "" if there are none. For the buffers with these indexes.
  std::vector<std::string> compare_untouched(const LocalBuffers& buffers,
                                             const std::vector<int>& which) const;

private:
  // This process's local ranks that have some data, with their numbers among `size` ranks.
  struct Group {
    struct Member {
      std::size_t local_rank;
      int rank;
    };
    int size = 0;
    std::vector<Member> members;
  };
  Group group(int communicator, const std::vector<int>& ranks) const;
  std::uint64_t seed_of(int communicator) const;
  void poison(const LocalBuffers& buffers, int index) const;
  model::Pattern input_pattern(const model::Fill& fill, int ranks) const;
  std::string overwritten(const UntouchedRegion& region, std::size_t local_rank,
                          backend::Buffer& buffer) const;

  const model::Schedule& schedule_;
  const std::vector<LocalRankState>& ranks_;
  const std::vector<LocalCommunicator*>& communicators_;
  int world_size_;
  std::uint64_t seed_;
  DataFlow flow_;
};

} // namespace ncclprobe::worker
