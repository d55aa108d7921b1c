// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>
#include <vector>

// Which calls of the CUDA runtime and driver are traced. Records of kernels and copies name their
// call, whose time identifies the operation (operation_log.h). Calls that launch or copy are
// therefore needed at every level.
namespace ncclprobe::nvidia {

// `other`: not needed.
enum class CallPurpose : std::uint8_t { launch, graph_launch, copy, order, other };

struct TracedCall {
  CUpti_CallbackId id = 0;
  CallPurpose purpose = CallPurpose::order;
};

std::span<const TracedCall> runtime_calls();
std::span<const TracedCall> driver_calls();

// Looked up once for each record of a call.
class CallPurposes {
public:
  CallPurposes();
  CallPurpose of(CUpti_ActivityKind kind, CUpti_CallbackId id) const {
    const auto& all = kind == CUPTI_ACTIVITY_KIND_RUNTIME ? runtime_ : driver_;
    return id < all.size() ? all[id] : CallPurpose::other;
  }

private:
  std::vector<CallPurpose> runtime_, driver_;
};

} // namespace ncclprobe::nvidia
