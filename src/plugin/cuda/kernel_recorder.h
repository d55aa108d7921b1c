// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/cuda/kernel_rows.h"
#include "plugin/cuda/kernel_windows.h"
#include "plugin/cuda/loaded_cupti.h"
#include "plugin/profiler/kernel_recording.h"
#include "trace/spool_writer.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>

namespace ncclprobe::plugin {

// Records the kernels and copies of a process that is not ours, through the CUPTI that it has
// loaded. CUPTI is subscribed to only while kernels are wanted (KernelWindows), so that another
// tool can use it at other times. If another tool has it, that window is left out, and the spool
// says who had it. All calls of CUPTI come from a thread of ours: one that waits for the driver
// stops neither the job nor the writing of NCCL's events.
class KernelRecorder : public KernelRecording {
public:
  // `path`: of the spool, which must not exist. `injection`: the library that CUDA was told to load
  // (may be null). `say`: prints a line to the user. Throws what std::thread and new throw.
  KernelRecorder(int rank, std::string path, const Limits& limits, const char* injection,
                 void (*say)(const std::string&));
  // Waits up to 5 s for CUPTI, which may wait for a device that hangs; then a thread stays behind.
  ~KernelRecorder() override;
  void follow(const JobProgress& progress) override;

private:
  struct State;
  State* state_; // stays if the thread does
};

// Sets the sizes of CUPTI's buffers, which CUDA has to know before it creates a context.
void prepare_kernel_recording();

} // namespace ncclprobe::plugin
