// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/cuda/activity_buffers.h"

#include "model/trial.h"
#include "nvidia/activity_library.h"
#include "nvidia/traced_calls.h"

namespace ncclprobe::nvidia {

using plugin::ActivityBuffers;

// CUPTI recording into our buffers, from the constructor until the process ends. Its callbacks have
// no user pointer, so the buffers are never freed. Throws Errc::unsupported with the reason: a
// missing function, or the name of another tool that uses CUPTI.
class ActivitySession {
public:
  ActivitySession(ActivityLibrary library, model::TraceLevel level);
  ~ActivitySession();
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  const ActivityLibrary& library() const { return library_; }
  ActivityBuffers& buffers() const { return *buffers_; }

  // Returns buffers whose records are complete. `forced`: returns all; call it only when no kernel
  // runs, because records of running kernels are lost.
  enum class Flush { complete, forced };
  void flush(Flush flush) const;
  // At level full: makes CUPTI assign the calls between begin and end to this operation.
  void push_operation(std::uint32_t id) const;
  void pop_operation() const;
  // Since the last call.
  std::uint64_t dropped() const;

private:
  void check(CUptiResult result, const char* what) const;
  void subscribe();
  void configure(model::TraceLevel level);
  void stop();

  ActivityLibrary library_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  ActivityBuffers* buffers_ = nullptr;
  std::vector<CUpti_ActivityKind> enabled_;
};

} // namespace ncclprobe::nvidia
