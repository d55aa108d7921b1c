// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// The part of CUPTI that the plugin uses, declared by hand, because it is built without CUDA and
// runs with any CUDA since 11.8. Records have the layout that CUDA 11.8 to 13.0 share; later
// layouts extend it. A test compares all of this with CUPTI's own header
// (tests/nvidia/cupti_abi_test.cpp).
namespace ncclprobe::plugin::cupti {

using Result = int;
inline constexpr Result k_success = 0;
inline constexpr Result k_no_more_records = 12;
inline constexpr Result k_other_subscriber = 39; // only one tool per process

inline constexpr std::uint32_t k_oldest = 18; // cuptiGetVersion() of CUDA 11.8
// From here on, a request for a buffer may be refused; before, CUPTI crashes.
inline constexpr std::uint32_t k_bears_refusal = 27;

enum Kind : std::uint32_t { k_copy = 1, k_set = 2, k_kernel = 10, k_peer_copy = 22 };
enum Attribute : std::uint32_t { k_device_buffer_bytes = 0, k_device_buffers = 2, k_zeroed = 5 };
inline constexpr std::uint32_t k_flush_forced = 1;

struct Record {
  std::uint32_t kind;
};

struct KernelRecord { // CUpti_ActivityKernel8
  std::uint32_t kind;
  std::uint32_t settings[3];
  std::uint64_t start, end;
  std::uint64_t completed;
  std::uint32_t device, context, stream;
  std::int32_t grid_x, grid_y, grid_z;
  std::int32_t block_x, block_y, block_z;
  std::int32_t static_shared_bytes, dynamic_shared_bytes;
  std::uint32_t local_bytes[2];
  std::uint32_t correlation;
  std::int64_t grid_number;
  const char* name;
  std::uint64_t more[4];
  std::uint64_t graph_node;
};

struct CopyRecord { // CUpti_ActivityMemcpy5
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t correlation;
  std::uint32_t runtime_correlation, padding;
  std::uint64_t reserved;
  std::uint64_t graph_node;
};

struct PeerCopyRecord { // CUpti_ActivityMemcpyPtoP4
  std::uint32_t kind;
  std::uint8_t copy_kind, source_kind, destination_kind, flags;
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t source_device, source_context, destination_device, destination_context;
  std::uint32_t correlation;
  std::uint64_t reserved;
  std::uint64_t graph_node;
};

struct SetRecord { // CUpti_ActivityMemset4
  std::uint32_t kind;
  std::uint32_t value;
  std::uint64_t bytes;
  std::uint64_t start, end;
  std::uint32_t device, context, stream;
  std::uint32_t correlation;
  std::uint32_t flags, padding;
  std::uint64_t reserved;
  std::uint64_t graph_node;
};

struct SubscriberParameters { // CUpti_SubscriberParams
  std::size_t struct_bytes;
  const char* name;
  char* other_name;
  std::size_t other_bytes;
};

using Subscriber = void*;
using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* bytes,
                                 std::size_t* most_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer,
                                 std::size_t bytes, std::size_t valid_bytes);
using Timestamp = std::uint64_t (*)();

// Functions by their names in CUPTI. Those of the second part are null if this CUPTI lacks them.
struct Functions {
  Result (*cuptiGetVersion)(std::uint32_t*) = nullptr;
  Result (*cuptiSubscribe)(Subscriber*, Callback, void* user) = nullptr;
  Result (*cuptiUnsubscribe)(Subscriber) = nullptr;
  Result (*cuptiActivityRegisterTimestampCallback)(Timestamp) = nullptr;
  Result (*cuptiActivityRegisterCallbacks)(BufferRequested, BufferCompleted) = nullptr;
  Result (*cuptiActivitySetAttribute)(std::uint32_t, std::size_t* bytes, void* value) = nullptr;
  Result (*cuptiActivityEnable)(std::uint32_t kind) = nullptr;
  Result (*cuptiActivityDisable)(std::uint32_t kind) = nullptr;
  Result (*cuptiActivityFlushAll)(std::uint32_t flags) = nullptr;
  Result (*cuptiActivityGetNextRecord)(std::uint8_t*, std::size_t valid_bytes, Record**) = nullptr;
  Result (*cuptiActivityGetNumDroppedRecords)(void* context, std::uint32_t stream,
                                              std::size_t*) = nullptr;
  Result (*cuptiGetResultString)(Result, const char**) = nullptr;

  Result (*cuptiSubscribe_v2)(Subscriber*, Callback, void* user, SubscriberParameters*) = nullptr;
};

} // namespace ncclprobe::plugin::cupti
