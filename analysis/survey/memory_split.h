// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What a rank takes of its device's memory, and for what. Devices tell what all processes use
// together, so these are differences between moments of a trial (model::MemoryUse); what did not
// grow as it should, because something else gave memory back meanwhile, is absent.
namespace ncclprobe::analysis {

struct MemorySplit {
  std::string setting;                           // setting of the process (TrialSpec::label)
  int rank = 0;                                  // global
  std::optional<std::uint64_t> context_bytes;    // of the process on the device, NCCL not yet begun
  std::optional<std::uint64_t> connecting_bytes; // making the communicator of all ranks
  std::uint64_t buffer_bytes = 0;                // the workload's: what its schedules declare
  // What came with the cells besides: what NCCL makes for its channels when a collective is
  // launched first, code of kernels, what cuBLAS works in.
  std::optional<std::uint64_t> launching_bytes;
  bool operator==(const MemorySplit&) const = default;
};

// By rank. `first`: a trial that no other one came before, for one that was prepared, whose own
// first readings hold the end of the trial before it.
std::vector<MemorySplit> memory_splits(const model::TrialRecord& trial,
                                       const model::TrialRecord* first = nullptr);

// Of each setting that was measured the first trial that came to its end, the default's in front;
// in it by rank.
std::vector<MemorySplit> memory_splits(const model::Run& run);

// "context 496 MiB, connecting 322 MiB, buffers 512 MiB, launching 1229 MiB": of each the most of
// any rank.
std::string memory_text(const std::vector<MemorySplit>& of_setting);

} // namespace ncclprobe::analysis
