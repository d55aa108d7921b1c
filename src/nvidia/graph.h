// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "nvidia/handles.h"
#include "nvidia/stream.h"

#include <functional>
#include <span>
#include <vector>

namespace ncclprobe::nvidia {

// One CUDA graph per device, all captured together, which NCCL needs if several ranks of a
// communicator are in one process. On each device the first stream carries the graph. The other
// streams wait for it and it for them, which keeps the order within every stream.
class GpuGraph final : public backend::Graph {
public:
  GpuGraph(std::span<const std::vector<backend::Stream*>> streams,
           const std::function<void()>& enqueue);
  void launch() override;

private:
  static void note_captured(std::span<const std::vector<backend::Stream*>> streams, bool captured);
  struct Part {
    GpuStream* origin = nullptr;
    std::vector<GpuStream*> others;
    EventHandle fork;               // on the first stream
    std::vector<EventHandle> joins; // on each of the others
    GraphExecHandle graph;
  };
  static void fork(const Part& part);
  static void join(const Part& part);

  std::vector<Part> parts_;
};

} // namespace ncclprobe::nvidia
