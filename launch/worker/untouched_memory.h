// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/schedule.h"

#include <cstdint>
#include <vector>

namespace ncclprobe::worker {

// A section of a rank's buffer that no operation of the schedule writes. It keeps its contents
// after any number of launches: poison or an input.
struct UntouchedRegion {
  int buffer = 0;
  std::uint64_t begin = 0; // bytes, counted from the start of the guard band before the data
  std::uint64_t end = 0;
  int fill = -1; // index of the fill that wrote it; -1: poison
  bool operator==(const UntouchedRegion&) const = default;
};

// All of them, including guard bands: the inputs that are not overwritten, the outputs of ranks
// that get none, and the gaps between a buffer's blocks.
std::vector<UntouchedRegion> untouched_memory(const model::Schedule& schedule, int world_size,
                                              int global_rank);

} // namespace ncclprobe::worker
