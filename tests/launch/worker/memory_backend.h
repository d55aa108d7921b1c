// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <functional>
#include <memory>

namespace ncclprobe::support {

// A planted fault. Called with the data that a copy or a chase has just written.
struct MemoryFault {
  std::function<void(std::span<std::byte> written)> damage;
  bool copies_nothing = false;
  bool shares_nothing = false;
};

// A backend whose devices are plain memory, with everything that a P2P matrix needs: copies of all
// kinds, pointer chases, host memory, and memory shared between "processes", which are threads with
// a backend each. Work is done when it is enqueued, or when its group ends. Ranks of several
// backends meet by the rendezvous given to connect(); collectives and messages only work between
// ranks of one backend.
std::unique_ptr<backend::Backend> make_memory_backend(MemoryFault fault = {});

// How many buffers of other processes were mapped, by all backends since the last call.
int count_mapped();

} // namespace ncclprobe::support
