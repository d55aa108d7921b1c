// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How a rank uses its device's memory. Devices report only the use of all processes together, so
// these are differences between moments of a trial (model::MemoryUse). A value is absent if it did
// not grow as it should, because something else freed memory meanwhile.
namespace ncclprobe::analysis {

struct MemorySplit {
  std::string setting;                           // setting of the process (TrialSpec::label)
  int rank = 0;                                  // global
  std::optional<std::uint64_t> context_bytes;    // of the process on the device, before NCCL
  std::optional<std::uint64_t> connecting_bytes; // creation of the communicator of all ranks
  std::uint64_t buffer_bytes = 0;                // of the workload: declared by its schedules
  // Further memory that the cells took: NCCL's allocations for its channels at the first launch of
  // a collective, code of kernels, cuBLAS's workspace.
  std::optional<std::uint64_t> launching_bytes;
  bool operator==(const MemorySplit&) const = default;
};
NCCLPROBE_FIELDS(MemorySplit, setting, rank, context_bytes, connecting_bytes, buffer_bytes,
                 launching_bytes)

// By rank. `first`: a trial without a predecessor, needed for a prepared trial, whose own first
// readings include the end of the trial before it.
std::vector<MemorySplit> memory_splits(const model::TrialRecord& trial,
                                       const model::TrialRecord* first = nullptr);

// For each measured setting the first trial that finished, the default's first; within it by rank.
std::vector<MemorySplit> memory_splits(const model::Run& run);

// "context 496 MiB, connecting 322 MiB, buffers 512 MiB, launching 1229 MiB": the highest of any
// rank for each.
std::string memory_text(const std::vector<MemorySplit>& of_setting);

} // namespace ncclprobe::analysis
