// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ncclprobe::plugin {

// What the thread that writes NCCL's events knows of the job's steps.
struct JobProgress {
  bool steps_known = false;
  std::uint64_t steps = 0;
  bool ended = false; // a limit has ended the recording
};

// Records kernels beside NCCL's events (cuda/). follow() is called some times each 50 ms, by the
// thread that writes NCCL's events, so it must not wait.
class KernelRecording {
public:
  KernelRecording() = default;
  KernelRecording(const KernelRecording&) = delete;
  KernelRecording& operator=(const KernelRecording&) = delete;
  virtual ~KernelRecording() = default;
  virtual void follow(const JobProgress& progress) = 0;
};

} // namespace ncclprobe::plugin
