// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/abi.h"
#include "plugin/profiler/recorder.h"
#include "plugin/profiler/tracing.h"

namespace {

using namespace ncclprobe::plugin;

constexpr const char* k_name = "ncclprobe";

// The value that NCCL passes back with each event. It says whether the process traces or records,
// which its first communicator decides.
bool traces(const void* context) {
  return context != nullptr && is_traced_communicator(context);
}

abi::Result open(int version, void** context, int* mask, std::uint64_t hash, const char* name,
                 int nodes, int ranks, int rank) {
  *context = open_context(version, hash, ranks, rank);
  if (*context != nullptr) { // a companion trial
    *mask = static_cast<int>(abi::k_collective | abi::k_point_to_point);
    return abi::k_success;
  }
  if (!is_tracing())
    start_by_itself(rank);
  *context = open_communicator(version, hash, name, nodes, ranks, rank);
  if (*context == nullptr)
    return abi::k_internal_error; // NCCL continues without a profiler
  *mask = static_cast<int>(wanted_events());
  remember_mask(mask);
  return abi::k_success;
}

abi::Result init_v4(void** context, int* mask, const char* name, std::uint64_t hash, int nodes,
                    int ranks, int rank, abi::Logger) {
  return open(4, context, mask, hash, name, nodes, ranks, rank);
}

template <int Version>
abi::Result init_v5(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                    int ranks, int rank, abi::Logger) {
  return open(Version, context, mask, id, name, nodes, ranks, rank);
}

template <typename Descriptor>
void record(void* context, const Descriptor& descriptor) {
  if (descriptor.type != abi::k_collective && descriptor.type != abi::k_point_to_point)
    return;
  Record* record = begin_record(context);
  if (record == nullptr)
    return;
  if (descriptor.type == abi::k_collective) {
    const auto& what = descriptor.collective;
    record->function.set(what.function);
    record->data_type.set(what.data_type);
    record->algorithm.set(what.algorithm);
    record->protocol.set(what.protocol);
    record->count = what.count;
    record->channels = what.channels;
  } else {
    const auto& what = descriptor.point_to_point;
    record->function.set(what.function);
    record->data_type.set(what.data_type);
    record->count = what.count;
    record->channels = what.channels;
    record->peer = what.peer;
  }
  end_record(record);
}

template <typename Descriptor>
void* trace(Communicator& communicator, const Descriptor& descriptor) {
  switch (descriptor.type) {
  case abi::k_collective:
    return begin_event(communicator, descriptor.collective);
  case abi::k_point_to_point:
    return begin_event(communicator, descriptor.point_to_point);
  case abi::k_channel:
    return begin_event(descriptor.parent, descriptor.channel);
  case abi::k_proxy_operation:
    return begin_event(descriptor.parent, descriptor.proxy_operation);
  case abi::k_proxy_step:
    return begin_event(descriptor.parent, descriptor.proxy_step);
  case abi::k_network:
    return begin_event(descriptor.parent, descriptor.network);
  default:
    return nullptr;
  }
}

template <typename Descriptor>
abi::Result start(void* context, void** handle, Descriptor* descriptor) {
  // Null: NCCL then reports no stop or state. An unwritten handle would be stale.
  *handle = nullptr;
  if (traces(context))
    *handle = trace(*static_cast<Communicator*>(context), *descriptor);
  else
    record(context, *descriptor);
  return abi::k_success;
}

abi::Result stop(void* handle) {
  if (handle != nullptr)
    end_event(handle);
  return abi::k_success;
}

abi::Result record_state(void* handle, int state, void* arguments) {
  if (handle != nullptr)
    enter_state(handle, state, static_cast<const abi::StateArguments*>(arguments));
  return abi::k_success;
}

abi::Result finalize(void* context) {
  if (traces(context))
    flush_tracing();
  return abi::k_success;
}

} // namespace

extern "C" {
[[gnu::visibility("default")]] abi::ProfilerV4 ncclProfiler_v4{
    k_name, init_v4, start<abi::DescriptorV4>, stop, record_state, finalize};
[[gnu::visibility("default")]] abi::ProfilerV5 ncclProfiler_v5{
    k_name, init_v5<5>, start<abi::DescriptorV5>, stop, record_state, finalize};
[[gnu::visibility("default")]] abi::ProfilerV5 ncclProfiler_v6{
    k_name, init_v5<6>, start<abi::DescriptorV5>, stop, record_state, finalize};
[[gnu::visibility("default")]] abi::ProfilerV5 ncclProfiler_v7{
    k_name, init_v5<7>, start<abi::DescriptorV5>, stop, record_state, finalize};
}
