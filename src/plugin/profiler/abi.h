// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

// NCCL's profiler plugin interface, transcribed by hand: versions 4 (NCCL 2.27), 5 (2.28), 6 (2.29,
// 2.30) and 7 (2.31). Versions 5 to 7 agree in everything that is read here. Versions 4 to 6 were
// compared member by member with the headers of NCCL 2.30.7, version 7 with a description. Versions
// 6 and 7 have not been tried with a library. Only recorded events have their members declared.
namespace ncclprobe::plugin::abi {

using Result = int; // ncclResult_t
inline constexpr Result k_success = 0;
inline constexpr Result k_internal_error = 3;

// Event types, and bits of the activation mask. A bit also activates the parent events above it.
inline constexpr std::uint64_t k_collective = 0x2;
inline constexpr std::uint64_t k_point_to_point = 0x4;
inline constexpr std::uint64_t k_proxy_operation = 0x8;
inline constexpr std::uint64_t k_proxy_step = 0x10;
inline constexpr std::uint64_t k_channel = 0x40; // a channel of a kernel
inline constexpr std::uint64_t k_network = 0x80;

// States of events.
inline constexpr int k_step_send_gpu_wait = 8;
inline constexpr int k_step_send_wait = 9;
inline constexpr int k_step_receive_wait = 10;
inline constexpr int k_step_receive_flush_wait = 11;
inline constexpr int k_step_receive_gpu_wait = 12;
inline constexpr int k_step_send_peer_wait = 20;
inline constexpr int k_channel_stop = 22;

struct CollectiveV4 {
  std::uint64_t seq_number;
  const char* function;
  const void* send_buffer;
  void* receive_buffer;
  std::size_t count;
  int root;
  const char* data_type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct PointToPointV4 {
  const char* function;
  void* buffer;
  const char* data_type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

struct ProxyOperation {
  pid_t process; // of the parent: with PXN another process's
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};

struct ProxyStep {
  int step;
};

struct Channel {
  std::uint8_t channel;
  std::uint64_t timer_ns; // the GPU's %globaltimer
};

struct Network {
  std::int64_t id; // type << 16 | version of what data points to
  void* data;
};
inline constexpr std::int64_t k_network_infiniband = (1 << 16) | 1;
inline constexpr std::int64_t k_network_socket = (2 << 16) | 1;

struct InfiniBandRequest {
  std::uint8_t type;
  struct alignas(8) {
    int device;
    std::uint64_t work_request;
    int operation;
    int queue_pair;
    std::size_t bytes;
  } request;
};

struct SocketRequest {
  std::uint8_t type;
  struct alignas(8) {
    int descriptor;
    int operation;
    std::size_t bytes;
  } request;
};

struct DescriptorV4 {
  std::uint8_t type; // one byte: the bytes after it are not set
  void* parent;
  int rank;
  union {
    CollectiveV4 collective;
    PointToPointV4 point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    Channel channel;
    Network network;
  };
};

struct DescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollectiveV4 collective; // both have another pointer after it, which is not read
    PointToPointV4 point_to_point;
    ProxyOperation proxy_operation;
    ProxyStep proxy_step;
    Channel channel;
    Network network;
    std::byte whole[88];
  };
};

// Measured on NCCL's own structs.
static_assert(sizeof(DescriptorV4) == 104 && sizeof(DescriptorV5) == 112);
static_assert(offsetof(DescriptorV5, parent) == 8 && offsetof(DescriptorV5, rank) == 16);
static_assert(offsetof(DescriptorV5, collective) == 24);
static_assert(offsetof(CollectiveV4, algorithm) == 88 - 24);
static_assert(offsetof(DescriptorV5, channel) + offsetof(Channel, timer_ns) == 32);

// The data that comes with a state, if any.
union StateArguments {
  struct {
    std::size_t bytes;
  } proxy_step;
  struct {
    void* data;
  } network;
  struct {
    std::uint64_t timer_ns;
  } channel;
};

using Logger = void (*)(int level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

template <typename Init, typename Descriptor>
struct Profiler {
  const char* name;
  Init init;
  Result (*start_event)(void* context, void** handle, Descriptor* descriptor);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, void* arguments);
  Result (*finalize)(void* context);
};

using InitV4 = Result (*)(void** context, int* mask, const char* name, std::uint64_t hash,
                          int nodes, int ranks, int rank, Logger log);
using InitV5 = Result (*)(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                          int ranks, int rank, Logger log);
using ProfilerV4 = Profiler<InitV4, DescriptorV4>;
using ProfilerV5 = Profiler<InitV5, DescriptorV5>;

} // namespace ncclprobe::plugin::abi

// The symbols that NCCL looks for, the newest that it knows first.
extern "C" {
extern ncclprobe::plugin::abi::ProfilerV4 ncclProfiler_v4;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v5;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v6;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v7;
}
