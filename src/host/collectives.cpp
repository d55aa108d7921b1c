// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/collectives.h"

#include "base/error.h"
#include "host/element_functions.h"
#include "host/reduce_scatter.h"
#include "host/slots.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/scatter.h>

#include <algorithm>
#include <cstring>

namespace ncclprobe::host {

using model::Collective;

namespace {

std::uint8_t* u8(std::byte* bytes) {
  return reinterpret_cast<std::uint8_t*>(bytes);
}

void copy_unless_same(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from)
    std::memcpy(to, from, bytes);
}

// With one rank, every collective copies its block from send to receive.
void run_alone(const HostCollective& call) {
  copy_unless_same(call.receive, call.send, call.count * size_bytes(call.type));
  if (reduces(call.collective))
    finish_reduction(call.receive, call.type, call.op, call.count, 1);
}

template <typename Unit>
void all_reduce(const HostCollective& call, CollectiveLane& lane, const HostSettings& settings,
                std::uint32_t tag) {
  gloo::AllreduceOptions options(lane.mesh);
  bool ring = settings.all_reduce_algorithm(lane.mesh->size, call.count * sizeof(Unit)) ==
              AllReduceAlgorithm::ring;
  options.setAlgorithm(ring ? gloo::AllreduceOptions::Algorithm::RING
                            : gloo::AllreduceOptions::Algorithm::BCUBE);
  options.setMaxSegmentSize(settings.chunk_bytes);
  options.setTag(tag);
  if (call.send != call.receive)
    options.setInput(reinterpret_cast<Unit*>(call.send), call.count);
  options.setOutput(reinterpret_cast<Unit*>(call.receive), call.count);
  options.setReduceFunction(reduce_function(call.type, call.op));
  gloo::allreduce(options);
  finish_reduction(call.receive, call.type, call.op, call.count, lane.mesh->size);
}

template <typename Unit>
void reduce(const HostCollective& call, CollectiveLane& lane, const HostSettings& settings,
            std::uint32_t tag) {
  bool root = lane.mesh->rank == call.root;
  std::byte* out = call.receive;
  if (!root) { // Gloo leaves intermediate results in the output of all ranks
    lane.scratch.resize(std::max<std::size_t>(lane.scratch.size(), call.count * sizeof(Unit)));
    out = lane.scratch.data();
  }
  gloo::ReduceOptions options(lane.mesh);
  options.setMaxSegmentSize(settings.chunk_bytes);
  options.setTag(tag);
  options.setRoot(call.root);
  if (call.send != out)
    options.setInput(reinterpret_cast<Unit*>(call.send), call.count);
  options.setOutput(reinterpret_cast<Unit*>(out), call.count);
  options.setReduceFunction(reduce_function(call.type, call.op));
  gloo::reduce(options);
  if (root)
    finish_reduction(out, call.type, call.op, call.count, lane.mesh->size);
}

void all_gather(const HostCollective& call, CollectiveLane& lane, std::uint32_t tag) {
  std::size_t block = call.count * size_bytes(call.type);
  gloo::AllgatherOptions options(lane.mesh);
  options.setTag(tag);
  if (call.send != call.receive + static_cast<std::size_t>(lane.mesh->rank) * block)
    options.setInput(u8(call.send), block);
  options.setOutput(u8(call.receive), block * static_cast<std::size_t>(lane.mesh->size));
  gloo::allgather(options);
}

void broadcast(const HostCollective& call, CollectiveLane& lane, std::uint32_t tag) {
  std::size_t bytes = call.count * size_bytes(call.type);
  gloo::BroadcastOptions options(lane.mesh);
  options.setTag(tag);
  options.setRoot(call.root);
  if (lane.mesh->rank == call.root && call.send != call.receive)
    options.setInput(u8(call.send), bytes);
  options.setOutput(u8(call.receive), bytes);
  gloo::broadcast(options);
}

void all_to_all(const HostCollective& call, CollectiveLane& lane, std::uint32_t tag) {
  std::size_t bytes =
      call.count * size_bytes(call.type) * static_cast<std::size_t>(lane.mesh->size);
  gloo::AlltoallOptions options(lane.mesh);
  options.setTag(tag);
  options.setInput(u8(call.send), bytes);
  options.setOutput(u8(call.receive), bytes);
  gloo::alltoall(options);
}

void gather(const HostCollective& call, CollectiveLane& lane, std::uint32_t tag) {
  std::size_t block = call.count * size_bytes(call.type);
  gloo::GatherOptions options(lane.mesh);
  options.setTag(tag);
  options.setRoot(call.root);
  options.setInput(u8(call.send), block);
  if (lane.mesh->rank == call.root)
    options.setOutput(u8(call.receive), block * static_cast<std::size_t>(lane.mesh->size));
  gloo::gather(options);
}

void scatter(const HostCollective& call, CollectiveLane& lane, std::uint32_t tag) {
  std::size_t block = call.count * size_bytes(call.type);
  gloo::ScatterOptions options(lane.mesh);
  options.setTag(tag);
  options.setRoot(call.root);
  if (lane.mesh->rank == call.root) {
    std::vector<std::uint8_t*> blocks;
    for (int rank = 0; rank < lane.mesh->size; ++rank)
      blocks.push_back(u8(call.send + static_cast<std::size_t>(rank) * block));
    options.setInputs(blocks, block);
  }
  options.setOutput(u8(call.receive), block);
  gloo::scatter(options);
}

// Gloo's reductions work on units of the element's size.
template <typename Run>
void with_unit(model::DataType type, Run run) {
  switch (size_bytes(type)) {
  case 1:
    return run(std::uint8_t{});
  case 2:
    return run(std::uint16_t{});
  case 4:
    return run(std::uint32_t{});
  default:
    return run(std::uint64_t{});
  }
}

} // namespace

void run_collective(const HostCollective& call, CollectiveLane& lane,
                    const HostSettings& settings) {
  if (!lane.mesh)
    return run_alone(call);
  std::uint32_t tag = lane.sequence++ % k_first_control_tag;
  switch (call.collective) {
  case Collective::all_reduce:
    return with_unit(call.type,
                     [&](auto unit) { all_reduce<decltype(unit)>(call, lane, settings, tag); });
  case Collective::reduce:
    return with_unit(call.type,
                     [&](auto unit) { reduce<decltype(unit)>(call, lane, settings, tag); });
  case Collective::reduce_scatter:
    return ring_reduce_scatter(*lane.mesh, ring_slot(tag), call, settings.chunk_bytes,
                               lane.scratch);
  case Collective::all_gather:
    return all_gather(call, lane, tag);
  case Collective::broadcast:
    return broadcast(call, lane, tag);
  case Collective::all_to_all:
    return all_to_all(call, lane, tag);
  case Collective::gather:
    return gather(call, lane, tag);
  case Collective::scatter:
    return scatter(call, lane, tag);
  case Collective::send_recv:
  case Collective::all_to_all_v:
  case Collective::hypercube:
    break;
  }
  raise(Errc::invalid_argument, "{} is written as sends and receives", to_string(call.collective));
}

} // namespace ncclprobe::host
