// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/abi.h"
#include "plugin/profiler/recorder.h"

namespace {

using namespace ncclprobe::plugin;

constexpr const char* k_name = "ncclprobe";

abi::Result open(int version, void** context, int* mask, std::uint64_t communicator, int ranks,
                 int rank) {
  *context = open_context(version, communicator, ranks, rank);
  if (*context == nullptr)
    return abi::k_internal_error; // NCCL goes on without a profiler
  *mask = static_cast<int>(abi::k_collective | abi::k_point_to_point);
  return abi::k_success;
}

abi::Result init_v4(void** context, int* mask, const char*, std::uint64_t hash, int, int ranks,
                    int rank, abi::Logger) {
  return open(4, context, mask, hash, ranks, rank);
}

template <int Version>
abi::Result init_v5(void** context, std::uint64_t id, int* mask, const char*, int, int ranks,
                    int rank, abi::Logger) {
  return open(Version, context, mask, id, ranks, rank);
}

template <typename Descriptor>
abi::Result start(void* context, void** handle, Descriptor* descriptor) {
  *handle = nullptr; // no stop or state is asked for; an unwritten handle would be a stale one
  if (descriptor->type != abi::k_collective && descriptor->type != abi::k_point_to_point)
    return abi::k_success;
  Record* record = begin_record(context);
  if (record == nullptr)
    return abi::k_success;
  if (descriptor->type == abi::k_collective) {
    const auto& what = descriptor->collective;
    record->function.set(what.function);
    record->data_type.set(what.data_type);
    record->algorithm.set(what.algorithm);
    record->protocol.set(what.protocol);
    record->count = what.count;
    record->channels = what.channels;
  } else {
    const auto& what = descriptor->point_to_point;
    record->function.set(what.function);
    record->data_type.set(what.data_type);
    record->count = what.count;
    record->channels = what.channels;
    record->peer = what.peer;
  }
  end_record(record);
  return abi::k_success;
}

abi::Result stop(void*) {
  return abi::k_success;
}

abi::Result record_state(void*, int, void*) {
  return abi::k_success;
}

abi::Result finalize(void*) {
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
