// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/reduce_scatter.h"

#include "host/element_functions.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>

namespace ncclprobe::host {

namespace {

using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

// A buffer serves only one transfer at a time, hence one for each chunk and purpose.
struct RingChunk {
  std::size_t offset; // in the block
  std::size_t elements;
  Buffer first_send; // our own share, on the first step
  Buffer partial[2]; // for odd and even steps: one is sent while the other fills
  bool sending[2] = {false, false};
};

} // namespace

void ring_reduce_scatter(Mesh& mesh, std::uint64_t slot, const HostCollective& call,
                         std::size_t chunk_bytes, std::vector<std::byte>& scratch) {
  const int n = mesh.size;
  const int next = (mesh.rank + 1) % n;
  const int previous = (mesh.rank + n - 1) % n;
  const std::size_t element = size_bytes(call.type);
  const std::size_t block = call.count * element;
  const std::size_t chunk = std::max<std::size_t>(1, chunk_bytes / element) * element;
  const ReduceFunction add = reduce_function(call.type, call.op);
  scratch.resize(std::max(scratch.size(), 2 * block));

  // On step s this rank sends on block rank-1-s and receives block rank-2-s: the last one is its
  // own.
  auto share_of = [&](int step) {
    auto index = static_cast<std::size_t>(((mesh.rank - 2 - step) % n + n) % n);
    return call.send + index * block;
  };
  auto post_receive = [&](RingChunk& one, int step) {
    one.partial[step % 2]->recv(previous, slot);
  };

  std::vector<RingChunk> chunks;
  for (std::size_t offset = 0; offset < block; offset += chunk) {
    std::size_t bytes = std::min(chunk, block - offset);
    RingChunk one{
        offset, bytes / element, mesh.createUnboundBuffer(share_of(-1) + offset, bytes), {}};
    for (std::size_t parity : {0, 1})
      one.partial[parity] =
          mesh.createUnboundBuffer(scratch.data() + parity * block + offset, bytes);
    chunks.push_back(std::move(one));
  }

  for (RingChunk& one : chunks)
    post_receive(one, 0);
  for (RingChunk& one : chunks)
    one.first_send->send(next, slot);
  for (int step = 0; step < n - 1; ++step) {
    bool last = step == n - 2;
    for (RingChunk& one : chunks) {
      int here = step % 2;
      int other = 1 - here;
      auto& partial = one.partial[here];
      partial->waitRecv();
      std::byte* result = last ? call.receive + one.offset : static_cast<std::byte*>(partial->ptr);
      add(result, partial->ptr, share_of(step) + one.offset, one.elements);
      if (last)
        continue;
      if (one.sending[other])
        one.partial[other]->waitSend();
      one.sending[other] = false;
      post_receive(one, step + 1);
      partial->send(next, slot);
      one.sending[here] = true;
    }
  }
  for (RingChunk& one : chunks) {
    one.first_send->waitSend();
    for (int parity : {0, 1})
      if (one.sending[parity])
        one.partial[parity]->waitSend();
  }
  finish_reduction(call.receive, call.type, call.op, call.count, n);
}

} // namespace ncclprobe::host
