// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/cupti_abi.h"

#include "nvidia/activity_records.h"
#include "support/catch.h"

#include <cupti.h>

using namespace ncclprobe;
namespace ours = ncclprobe::plugin::cupti;

// What the plugin declares by hand is what CUPTI's header says, in the layout of our workers and in
// the newest one that this header has.
namespace {

template <typename Theirs>
void check_kernel() {
  CHECK(offsetof(ours::KernelRecord, start) == offsetof(Theirs, start));
  CHECK(offsetof(ours::KernelRecord, end) == offsetof(Theirs, end));
  CHECK(offsetof(ours::KernelRecord, device) == offsetof(Theirs, deviceId));
  CHECK(offsetof(ours::KernelRecord, context) == offsetof(Theirs, contextId));
  CHECK(offsetof(ours::KernelRecord, stream) == offsetof(Theirs, streamId));
  CHECK(offsetof(ours::KernelRecord, grid_x) == offsetof(Theirs, gridX));
  CHECK(offsetof(ours::KernelRecord, block_z) == offsetof(Theirs, blockZ));
  CHECK(offsetof(ours::KernelRecord, static_shared_bytes) == offsetof(Theirs, staticSharedMemory));
  CHECK(offsetof(ours::KernelRecord, dynamic_shared_bytes) ==
        offsetof(Theirs, dynamicSharedMemory));
  CHECK(offsetof(ours::KernelRecord, correlation) == offsetof(Theirs, correlationId));
  CHECK(offsetof(ours::KernelRecord, name) == offsetof(Theirs, name));
  CHECK(offsetof(ours::KernelRecord, graph_node) == offsetof(Theirs, graphNodeId));
}

template <typename Ours, typename Theirs>
void check_copy() {
  CHECK(offsetof(Ours, bytes) == offsetof(Theirs, bytes));
  CHECK(offsetof(Ours, start) == offsetof(Theirs, start));
  CHECK(offsetof(Ours, end) == offsetof(Theirs, end));
  CHECK(offsetof(Ours, device) == offsetof(Theirs, deviceId));
  CHECK(offsetof(Ours, context) == offsetof(Theirs, contextId));
  CHECK(offsetof(Ours, stream) == offsetof(Theirs, streamId));
  CHECK(offsetof(Ours, correlation) == offsetof(Theirs, correlationId));
  CHECK(offsetof(Ours, graph_node) == offsetof(Theirs, graphNodeId));
}

} // namespace

TEST_CASE("the plugin's declarations of CUPTI are those of its header") {
  check_kernel<nvidia::KernelRecord>();
  check_copy<ours::CopyRecord, nvidia::CopyRecord>();
  check_copy<ours::PeerCopyRecord, nvidia::PeerCopyRecord>();
  check_copy<ours::SetRecord, nvidia::SetRecord>();
  CHECK(offsetof(ours::CopyRecord, copy_kind) == offsetof(nvidia::CopyRecord, copyKind));
  CHECK(offsetof(ours::PeerCopyRecord, source_device) ==
        offsetof(nvidia::PeerCopyRecord, srcDeviceId));
  CHECK(offsetof(ours::PeerCopyRecord, destination_device) ==
        offsetof(nvidia::PeerCopyRecord, dstDeviceId));
#if CUPTI_API_VERSION >= 130000
  check_kernel<CUpti_ActivityKernel10>();
  check_copy<ours::CopyRecord, CUpti_ActivityMemcpy6>();
  CHECK(sizeof(ours::SubscriberParameters) == sizeof(CUpti_SubscriberParams));
  CHECK(offsetof(ours::SubscriberParameters, other_name) ==
        offsetof(CUpti_SubscriberParams, oldSubscriberName));
#endif
  CHECK(int(ours::k_kernel) == int(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  CHECK(int(ours::k_copy) == int(CUPTI_ACTIVITY_KIND_MEMCPY));
  CHECK(int(ours::k_peer_copy) == int(CUPTI_ACTIVITY_KIND_MEMCPY2));
  CHECK(int(ours::k_set) == int(CUPTI_ACTIVITY_KIND_MEMSET));
  CHECK(int(ours::k_device_buffer_bytes) == int(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE));
  CHECK(int(ours::k_device_buffers) == int(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT));
  CHECK(int(ours::k_zeroed) == int(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER));
  CHECK(int(ours::k_no_more_records) == int(CUPTI_ERROR_MAX_LIMIT_REACHED));
  CHECK(int(ours::k_other_subscriber) == int(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED));
  CHECK(int(ours::k_flush_forced) == int(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}
