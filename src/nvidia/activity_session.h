// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"
#include "nvidia/activity_buffers.h"
#include "nvidia/activity_library.h"
#include "nvidia/traced_calls.h"

namespace ncclprobe::nvidia {

// CUPTI recording into our buffers, from the constructor on until the process ends: its calls have
// no room for "whose", so the buffers stay for good. Throws Errc::unsupported with the reason: a
// function missing, or another tool is its user, whose name is told.
class ActivitySession {
public:
  ActivitySession(ActivityLibrary library, model::TraceLevel level);
  ~ActivitySession();
  ActivitySession(const ActivitySession&) = delete;
  ActivitySession& operator=(const ActivitySession&) = delete;

  const ActivityLibrary& library() const { return library_; }
  ActivityBuffers& buffers() const { return *buffers_; }

  // Buffers whose records are complete come back. `forced`: all of them; only when no kernel runs,
  // for records of running ones are lost by it.
  enum class Flush { complete, forced };
  void flush(Flush flush) const;
  // At level full: CUPTI itself tells of what is asked for in between that it belongs to this
  // operation.
  void push_operation(std::uint32_t id) const;
  void pop_operation() const;
  // Since the last time that somebody asked.
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
