// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// NCCL's profiler plugin interface, written down by hand: versions 4 (NCCL 2.27), 5 (2.28), 6
// (2.29, 2.30) and 7 (2.31). 5 to 7 agree in all that is read here; 6 and 7 have not been tried
// with a library. Only events that are recorded have their members spelt out.
namespace ncclprobe::plugin::abi {

using Result = int; // ncclResult_t
inline constexpr Result k_success = 0;
inline constexpr Result k_internal_error = 3;

// Event types, and bits of the activation mask.
inline constexpr std::uint64_t k_collective = 0x2;
inline constexpr std::uint64_t k_point_to_point = 0x4;

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

struct DescriptorV4 {
  std::uint8_t type; // one byte: what lies behind it is not set
  void* parent;
  int rank;
  union {
    CollectiveV4 collective;
    PointToPointV4 point_to_point;
  };
};

struct DescriptorV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    CollectiveV4 collective; // a pointer more follows in both, which is not read
    PointToPointV4 point_to_point;
    std::byte whole[88];
  };
};

// Measured on NCCL's own structs.
static_assert(sizeof(DescriptorV4) == 104 && sizeof(DescriptorV5) == 112);
static_assert(offsetof(DescriptorV5, parent) == 8 && offsetof(DescriptorV5, rank) == 16);
static_assert(offsetof(DescriptorV5, collective) == 24);
static_assert(offsetof(CollectiveV4, algorithm) == 88 - 24);

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

// What NCCL looks for, by name, the newest that it knows first.
extern "C" {
extern ncclprobe::plugin::abi::ProfilerV4 ncclProfiler_v4;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v5;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v6;
extern ncclprobe::plugin::abi::ProfilerV5 ncclProfiler_v7;
}
