// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/cell_memory.h"

#include "launch/worker/guard_bands.h"

#include <algorithm>

namespace ncclprobe::worker {
namespace {

using model::Memory;

// Allocating and freeing larger ones is cheap compared with the cell itself.
constexpr std::uint64_t k_large_slot_bytes = std::uint64_t{256} << 20;

} // namespace

CellMemory::CellMemory(const std::vector<LocalRankState>& local_ranks)
    : ranks_(local_ranks), buffers_(local_ranks.size()), slots_(local_ranks.size()) {}

backend::Buffer& CellMemory::grown(std::size_t local_rank, std::vector<Pool>& pools, int index,
                                   const model::BufferDecl& declared) {
  std::uint64_t bytes = with_guards(declared.bytes.at(ranks_[local_rank].rank));
  auto& buffer = pools[local_rank][{index, declared.memory}];
  if (buffer && buffer->size_bytes() >= bytes)
    return *buffer;
  buffer.reset(); // free the old one before allocating
  backend::Device& device = *ranks_[local_rank].device;
  switch (bytes == 0 ? Memory::plain : declared.memory) { // no kind of memory was available
  case Memory::plain:
    buffer = device.allocate(bytes);
    break;
  case Memory::registered:
    buffer = device.allocate_registrable(bytes);
    break;
  case Memory::shared:
    buffer = device.allocate_shared(bytes);
    break;
  case Memory::pinned_host:
  case Memory::pageable_host:
    buffer = device.allocate_on_host(bytes, declared.memory);
    break;
  }
  return *buffer;
}

std::uint64_t CellMemory::held_bytes(std::size_t local_rank) const {
  std::uint64_t bytes = 0;
  for (const Pool* pool : {&buffers_[local_rank], &slots_[local_rank]})
    for (const auto& [key, buffer] : *pool) {
      bool on_host = key.second == Memory::pinned_host || key.second == Memory::pageable_host;
      bytes += buffer && !on_host ? buffer->size_bytes() : 0;
    }
  return bytes;
}

LocalBuffers CellMemory::make_room(const model::Schedule& schedule) {
  LocalBuffers all(ranks_.size());
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    for (int index = 0; index < std::ssize(schedule.buffers); ++index)
      all[local_rank].push_back(&grown(local_rank, buffers_, index, schedule.buffers[index]));
  return all;
}

LocalBuffers CellMemory::make_slots(const model::Schedule& schedule, const LocalBuffers& buffers,
                                    const std::vector<int>& replaced) {
  LocalBuffers all = buffers;
  for (std::size_t local_rank = 0; local_rank < ranks_.size(); ++local_rank)
    for (int index : replaced) {
      auto at = static_cast<std::size_t>(index);
      all[local_rank][at] = &grown(local_rank, slots_, index, schedule.buffers[at]);
    }
  return all;
}

void CellMemory::drop_large_slots() {
  for (Pool& pool : slots_)
    std::erase_if(pool, [](const auto& entry) {
      return !entry.second || entry.second->size_bytes() >= k_large_slot_bytes;
    });
}

std::vector<std::unique_ptr<backend::Registration>>
register_buffers(const model::Schedule& schedule, const LocalBuffers& buffers,
                 const std::vector<LocalCommunicator*>& communicators) {
  std::vector<std::unique_ptr<backend::Registration>> all;
  for (LocalCommunicator* local : communicators)
    for (std::size_t i = 0; i < local->local_ranks.size(); ++i)
      for (std::size_t index = 0; index < schedule.buffers.size(); ++index) {
        backend::Buffer& buffer = *buffers[local->local_ranks[i]][index];
        if (schedule.buffers[index].memory == Memory::registered && buffer.size_bytes() > 0)
          all.push_back(local->members[i]->register_buffer(buffer));
      }
  return all;
}

} // namespace ncclprobe::worker
