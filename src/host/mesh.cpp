// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/mesh.h"

#include "base/error.h"

#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>

namespace ncclprobe::host {

namespace {

// No time-out here: the supervisor's deadline ends a wait that is too long.
constexpr std::chrono::hours k_timeout{24};

} // namespace

Mesh::Mesh(int mesh_rank, int mesh_size, std::shared_ptr<gloo::transport::Device> device)
    : gloo::Context(mesh_rank, mesh_size) {
  device_ = std::move(device);
  setTimeout(k_timeout);
}

std::string Mesh::open() {
  transportContext_ = device_->createContext(rank, size);
  transportContext_->setTimeout(k_timeout);
  std::vector<std::vector<char>> addresses(size);
  std::size_t longest = 0;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    auto& address = addresses[peer];
    address = transportContext_->createPair(peer)->address().bytes();
    longest = std::max(longest, address.size());
  }
  std::string blob;
  for (auto& address : addresses) {
    address.resize(longest);
    blob.append(address.begin(), address.end());
  }
  return blob;
}

void Mesh::connect(const std::vector<std::string>& blobs) {
  std::size_t length = blobs.front().size() / static_cast<std::size_t>(size);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    const std::string& blob = blobs[peer];
    if (length == 0 || blob.size() != length * static_cast<std::size_t>(size))
      raise(Errc::mismatch,
            "rank {} of a communicator sent {} bytes of Gloo addresses instead of {}: "
            "another version of Gloo?",
            peer, blob.size(), length * static_cast<std::size_t>(size));
    const char* address = blob.data() + static_cast<std::size_t>(rank) * length;
    transportContext_->getPair(peer)->connect(std::vector<char>(address, address + length));
  }
}

void Mesh::abort() noexcept {
  // Gloo has no abort call, but a wait that times out breaks all connections of its context.
  try {
    if (!transportContext_)
      return;
    char nothing = 0;
    transportContext_->createUnboundBuffer(&nothing, sizeof nothing)
        ->waitRecv(nullptr, std::chrono::milliseconds(1));
  } catch (const std::exception&) { // the time-out
  }
}

} // namespace ncclprobe::host
