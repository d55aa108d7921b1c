// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/job_operation.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

// One number for a step on all ranks. The ranks of a communicator number its operations alike, so
// the steps that one rank shows are known on all ranks that share a communicator with it.
namespace ncclprobe::analysis::job {

inline constexpr std::uint32_t k_outside = UINT32_MAX; // in no step

// Consecutive steps of one kind that directly follow each other.
struct StepBatch {
  std::uint32_t first = 0; // its number
  std::uint32_t steps = 0;
  std::uint32_t kind = 0;
};

// Which steps contain which operations of each communicator.
class StepNumbers {
public:
  // `steps`: of each operation, or k_outside. Places that are known already stay as they are.
  void add(std::span<const JobOperation> operations, std::span<const std::uint32_t> steps);
  std::uint32_t of(const JobOperation& operation) const; // k_outside: not known

private:
  // Operations first to end - 1 of a place; each step has as many.
  struct Range {
    std::uint64_t first = 0, end = 0, of_each = 0;
    std::uint32_t step = 0; // of the first
  };
  std::unordered_map<std::uint64_t, std::vector<Range>> places_; // ascending
};

struct NumberedOperations {
  std::vector<std::uint32_t> steps; // of each operation, or k_outside
  std::size_t known = 0;        // operations whose number others told; 0: none, nothing is known
  std::size_t out_of_order = 0; // of these, operations of an earlier step than the one before
};
// The operations of a further rank. Those that no other rank shares belong to the step of their
// neighbours. Between two steps, they are divided at the pause that is usually the longest.
// `batches`: ascending.
NumberedOperations number_operations(std::span<const JobOperation> operations,
                                     const StepNumbers& numbers,
                                     std::span<const StepBatch> batches);

// Null if it is in none.
const StepBatch* batch_of(std::span<const StepBatch> batches, std::uint32_t step);

} // namespace ncclprobe::analysis::job
