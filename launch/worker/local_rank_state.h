// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <map>
#include <memory>
#include <vector>

namespace ncclprobe::worker {

// State of one of this process's ranks across cells.
struct LocalRankState {
  int rank = 0; // global
  backend::Device* device = nullptr;
  std::map<std::pair<int, int>, std::unique_ptr<backend::Stream>> streams; // by (index, priority)
  std::map<int, std::unique_ptr<backend::Event>> events;
};

// A schedule's buffers in this process: by local rank, then by the schedule's index. Data is
// between guard bands (guard_bands.h).
using LocalBuffers = std::vector<std::vector<backend::Buffer*>>;

} // namespace ncclprobe::worker
