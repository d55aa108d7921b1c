// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/memory_library.h"

#include "host/element_functions.h"

namespace ncclprobe::support {

using backend::CollectiveCall;
using model::Collective;

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_at(const backend::Place& place, std::uint64_t bytes) {
  Bytes content(bytes);
  place.buffer.read(place.offset, content);
  return content;
}

// All ranks' calls, in their order.
void run_collective(const std::vector<CollectiveCall>& calls) {
  const CollectiveCall& first = calls.front();
  const auto n = calls.size();
  const auto root = static_cast<std::size_t>(first.root);
  const std::uint64_t block = first.count * size_bytes(first.type);
  const auto blocks = block_counts(first.collective, static_cast<int>(n));
  const bool from_root =
      first.collective == Collective::broadcast || first.collective == Collective::scatter;
  std::vector<Bytes> in(n);
  for (std::size_t rank = 0; rank < n; ++rank)
    if (!from_root || rank == root)
      in[rank] = bytes_at(calls[rank].send, block * static_cast<std::uint64_t>(blocks.send));
  auto write = [&](std::size_t rank, std::uint64_t at, const std::byte* data, std::uint64_t bytes) {
    const backend::Place& into = calls[rank].receive;
    into.buffer.write(into.offset + at, {data, bytes});
  };
  if (reduces(first.collective)) {
    Bytes all = in[0];
    std::uint64_t count = all.size() / size_bytes(first.type);
    for (std::size_t rank = 1; rank < n; ++rank)
      host::reduce_function(first.type, first.op)(all.data(), all.data(), in[rank].data(), count);
    host::finish_reduction(all.data(), first.type, first.op, count, static_cast<int>(n));
    for (std::size_t rank = 0; rank < n; ++rank)
      if (first.collective == Collective::reduce_scatter)
        write(rank, 0, all.data() + rank * block, block);
      else if (first.collective == Collective::all_reduce || rank == root)
        write(rank, 0, all.data(), block);
    return;
  }
  for (std::size_t rank = 0; rank < n; ++rank) {
    if (first.collective == Collective::broadcast)
      write(rank, 0, in[root].data(), block);
    else if (first.collective == Collective::scatter)
      write(rank, 0, in[root].data() + rank * block, block);
    else if (first.collective == Collective::all_to_all)
      for (std::size_t from = 0; from < n; ++from)
        write(rank, from * block, in[from].data() + rank * block, block);
    else if (first.collective == Collective::all_gather || rank == root)
      for (std::size_t from = 0; from < n; ++from)
        write(rank, from * block, in[from].data(), block);
  }
}

} // namespace

void MemoryLibrary::group_end() {
  --depth_;
  run_unless_grouped();
}

void MemoryLibrary::run_unless_grouped() {
  if (depth_ == 0)
    run();
}

void MemoryLibrary::enqueue(int communicator, int rank, int size, const CollectiveCall& call) {
  sizes_[communicator] = size;
  calls_[communicator][rank].push_back(call);
  run_unless_grouped();
}

void MemoryLibrary::send(int communicator, int from, int to, backend::Place place,
                         std::uint64_t bytes) {
  sends_[{communicator, from, to}].push_back({place, bytes});
  run_unless_grouped();
}

void MemoryLibrary::receive(int communicator, int from, int to, backend::Place place,
                            std::uint64_t bytes) {
  receives_[{communicator, from, to}].push_back({place, bytes});
  run_unless_grouped();
}

void MemoryLibrary::run() {
  for (const auto& [communicator, ranks] : std::exchange(calls_, {})) {
    if (static_cast<int>(ranks.size()) != sizes_[communicator])
      base::raise(base::Errc::failed, "a rank did not call a collective");
    for (std::size_t i = 0; i < ranks.begin()->second.size(); ++i) {
      std::vector<CollectiveCall> calls;
      for (const auto& [rank, of_rank] : ranks)
        calls.push_back(of_rank.at(i));
      run_collective(calls);
    }
  }
  // All is read before anything is written, as messages may cross.
  std::vector<std::pair<Message, Bytes>> deliveries;
  auto sends = std::exchange(sends_, {});
  for (const auto& [way, receives] : std::exchange(receives_, {}))
    for (std::size_t i = 0; i < receives.size(); ++i) {
      const Message& sent = sends[way].at(i);
      deliveries.emplace_back(receives[i], bytes_at(sent.place, sent.bytes));
    }
  for (const auto& [into, content] : deliveries)
    into.place.buffer.write(into.place.offset, content);
}

} // namespace ncclprobe::support
