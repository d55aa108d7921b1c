// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <array>
#include <concepts>
#include <cstdint>
#include <tuple>

// The device's activity, and the calls that requested it.
namespace ncclprobe::trace {

// Stands for StreamRow::id if there is no stream, as in a synchronization with a whole device.
inline constexpr std::uint16_t k_no_stream = UINT16_MAX;

// Bits of KernelRow::flags.
inline constexpr std::uint8_t k_communication = 0x1; // belongs to the communication library
inline constexpr std::uint8_t k_helper =
    0x2; // ncclprobe's own: spins that hold a stream, barriers, filling and checking data
inline constexpr std::uint8_t k_no_times = 0x4; // the device reported no times: a counted loss
// As words, in the order of the bits.
inline constexpr std::array<std::string_view, 3> k_flag_names{"communication", "helper",
                                                              "no_times"};
// /kernel: kernels of a GPU; on the CPU the tasks that the backend executed on a stream
struct KernelRow {
  static constexpr Table k_table = Table::kernel;
  std::uint64_t start_ns = 0;
  std::uint64_t graph_node = 0; // 0: not of a graph
  std::uint32_t duration_ns = 0;
  TextId name;
  std::uint32_t correlation = 0; // of ApiRow
  std::uint32_t operation = 0;   // OperationRow::id; 0: none
  std::uint32_t grid = 0;        // blocks
  std::uint32_t block = 0;       // threads in a block
  std::uint32_t shared_bytes = 0;
  std::uint16_t stream = 0; // StreamRow::id
  std::uint8_t flags = 0;
};
template <std::same_as<KernelRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column("duration_ns", &R::duration_ns, "duration, ns; 4294967295: see /long_duration"),
      base::column("name", &R::name, "name of the kernel, row in /strings"),
      base::column("stream", &R::stream, "stream that it ran on, /stream/id"),
      base::column("correlation", &R::correlation, "call that launched it, /api/correlation"),
      base::column("operation", &R::operation, "operation of the schedule, /operation/id; 0: none"),
      base::column("graph_node", &R::graph_node,
                   "id of its node in a CUDA graph; 0: not part of a graph"),
      base::column("grid", &R::grid, "number of blocks in the grid"),
      base::column("block", &R::block, "number of threads in a block"),
      base::column("shared_bytes", &R::shared_bytes, "shared memory of a block, bytes"),
      base::column("flags", &R::flags,
                   "bit mask; 1: the communication library's kernel, 2: ncclprobe's own, 4: no "
                   "times were reported"));
}

enum class CopyKind : std::uint8_t {
  unknown,
  host_to_device,
  device_to_host,
  device_to_device,
  peer,
  host_to_host,
  set
};
// /copy: copies and memory sets
struct CopyRow {
  static constexpr Table k_table = Table::copy;
  std::uint64_t start_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t operation = 0;
  std::uint16_t stream = 0;
  std::uint8_t source_device = 0;
  std::uint8_t destination_device = 0;
  CopyKind kind = CopyKind::unknown;
  std::uint8_t flags = 0; // as KernelRow's
};
template <std::same_as<CopyRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column("duration_ns", &R::duration_ns, "duration, ns; 4294967295: see /long_duration"),
      base::column("bytes", &R::bytes, "bytes moved or set"),
      base::column("kind", &R::kind, "direction of the copy; set: a memory set"),
      base::column("source_device", &R::source_device, "CUDA ordinal of the source device"),
      base::column("destination_device", &R::destination_device,
                   "CUDA ordinal of the destination device"),
      base::column("stream", &R::stream, "stream that it ran on, /stream/id"),
      base::column("correlation", &R::correlation, "call that requested it, /api/correlation"),
      base::column("operation", &R::operation, "operation of the schedule, /operation/id; 0: none"),
      base::column("graph_node", &R::graph_node,
                   "id of its node in a CUDA graph; 0: not part of a graph"),
      base::column("flags", &R::flags,
                   "bit mask; 1: the communication library's copy, 2: ncclprobe's own, 4: no times "
                   "were reported"));
}

// /stream: the streams that kernels, copies and synchronizations name
struct StreamRow {
  static constexpr Table k_table = Table::stream;
  std::uint16_t id = 0;         // counted by this trace, from 0
  std::uint16_t device = 0;     // CUDA ordinal, or slot on the CPU
  std::uint32_t context = 0;    // CUPTI's number
  std::uint32_t library_id = 0; // CUPTI's number of the stream
  std::int32_t priority = 0;
  TextId name; // empty: unknown
};
template <std::same_as<StreamRow> R>
constexpr auto columns(R) {
  return std::tuple(base::column("id", &R::id, "its number in this trace, from 0"),
                    base::column("device", &R::device, "CUDA ordinal, or slot on the CPU"),
                    base::column("context", &R::context, "CUPTI's id of its CUDA context"),
                    base::column("library_id", &R::library_id, "CUPTI's id of the stream"),
                    base::column("priority", &R::priority, "CUDA priority; lower is more urgent"),
                    base::column("name", &R::name, "name, row in /strings; 0: unknown"));
}

enum class CallDomain : std::uint8_t { runtime, driver };
// /api: calls of the CUDA runtime and driver
struct ApiRow {
  static constexpr Table k_table = Table::api;
  std::uint64_t start_ns = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t thread = 0;
  std::uint32_t result = 0;
  std::uint16_t function = 0; // callback id
  CallDomain domain = CallDomain::runtime;
  TextId name; // empty: CUPTI did not report it
};
template <std::same_as<ApiRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column("duration_ns", &R::duration_ns, "duration, ns; 4294967295: see /long_duration"),
      base::column("function", &R::function, "CUPTI's callback id of the called function"),
      base::column("domain", &R::domain, "runtime or driver"),
      base::column("thread", &R::thread, "id of the calling thread"),
      base::column("correlation", &R::correlation,
                   "correlation id, to which kernels, copies and others refer"),
      base::column("result", &R::result, "return value; 0: success"),
      base::column("name", &R::name, "the called function, row in /strings; 0: unknown", 1));
}

enum class SynchronizationKind : std::uint8_t { other, event, stream_wait_event, stream, context };
// /synchronization
struct SynchronizationRow {
  static constexpr Table k_table = Table::synchronization;
  std::uint64_t start_ns = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t correlation = 0;
  std::uint32_t event = 0;          // CUPTI's event id
  std::uint64_t event_instance = 0; // of DeviceEventRow: the record() that was waited for
  std::uint16_t stream = 0;
  SynchronizationKind kind = SynchronizationKind::other;
};
template <std::same_as<SynchronizationRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column("duration_ns", &R::duration_ns, "duration, ns; 4294967295: see /long_duration"),
      base::column("kind", &R::kind, "what was waited for"),
      base::column("event", &R::event, "CUPTI's id of the event that is waited for; 0: none"),
      base::column("event_instance", &R::event_instance,
                   "which recording of the event, /device_event/instance; 0: unknown"),
      base::column("stream", &R::stream,
                   "stream that is involved, /stream/id; 65535: none, or unknown"),
      base::column("correlation", &R::correlation, "call that synchronized, /api/correlation"));
}

// /device_event: records of events on streams
struct DeviceEventRow {
  static constexpr Table k_table = Table::device_event;
  std::uint64_t at_ns = 0; // on the device; 0: unknown
  std::uint64_t instance = 0;
  std::uint32_t event = 0;
  std::uint32_t correlation = 0;
  std::uint16_t stream = 0;
};
template <std::same_as<DeviceEventRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("at_ns", &R::at_ns, "when the stream reached the event, ns; 0: unknown"),
      base::column("instance", &R::instance, "number of this recording of the event"),
      base::column("event", &R::event, "CUPTI's id of the event"),
      base::column("stream", &R::stream, "stream that it is recorded on, /stream/id"),
      base::column("correlation", &R::correlation, "call that recorded it, /api/correlation"));
}

// /overhead: activity of tracing or the driver in between
struct OverheadRow {
  static constexpr Table k_table = Table::overhead;
  std::uint64_t start_ns = 0;
  std::uint32_t duration_ns = 0;
  std::uint32_t thread = 0;
  TextId kind; // CUPTI's word: "buffer_flush", "lazy_function_loading", ...
};
template <std::same_as<OverheadRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "start time, ns"),
      base::column("duration_ns", &R::duration_ns, "duration, ns; 4294967295: see /long_duration"),
      base::column("thread", &R::thread, "thread id; 0: none"),
      base::column("kind", &R::kind, "kind of overhead, row in /strings"));
}

// /kernel_window: when the kernels of a captured job were recorded; without such rows, always
struct KernelWindowRow {
  static constexpr Table k_table = Table::kernel_window;
  std::uint64_t start_ns = 0; // launches from here on
  std::uint64_t end_ns = 0;
};
template <std::same_as<KernelWindowRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("start_ns", &R::start_ns, "kernel launches were recorded from this time on, ns"),
      base::column("end_ns", &R::end_ns, "kernel launches were recorded up to this time, ns"));
}

// /environment: state of the device during the trace
struct EnvironmentRow {
  static constexpr Table k_table = Table::environment;
  std::uint64_t at_ns = 0;
  std::uint64_t throttle_reasons = 0;
  std::uint32_t sm_clock_mhz = 0, memory_clock_mhz = 0; // 0: unknown
  std::uint32_t power_mw = 0;
  std::uint32_t temperature_c = 0;
};
template <std::same_as<EnvironmentRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("at_ns", &R::at_ns, "time of the reading, ns"),
      base::column("sm_clock_mhz", &R::sm_clock_mhz, "SM clock, MHz; 0: not in this reading"),
      base::column("memory_clock_mhz", &R::memory_clock_mhz,
                   "memory clock, MHz; 0: not in this reading"),
      base::column("power_mw", &R::power_mw,
                   "power that the GPU draws, milliwatts; 0: not in this reading"),
      base::column("temperature_c", &R::temperature_c,
                   "temperature of the GPU, degrees Celsius; 0: not in this reading"),
      base::column("throttle_reasons", &R::throttle_reasons,
                   "why the clocks are not higher: a bit mask, as in CUPTI and NVML"));
}

} // namespace ncclprobe::trace
