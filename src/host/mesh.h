// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/context.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::host {

// A Gloo context in which every rank has a connection to every other, made without one of Gloo's
// stores: open() gives the addresses of this rank, somebody carries them to all ranks, connect()
// takes them. As gloo/mpi/context.cc does.
//
// Destroying a mesh resets its connections, and with them what a peer has not read yet: only when
// all ranks are through with it.
class Mesh : public gloo::Context {
public:
  Mesh(int rank, int size, std::shared_ptr<gloo::transport::Device> device);

  // Starts to listen. The blob has the same size on all ranks.
  std::string open();
  // `blobs` of all ranks, by rank. Blocks until every peer has called it too.
  void connect(const std::vector<std::string>& blobs);
  // Breaks all connections: who waits in this mesh gets an exception, here and at the peers.
  void abort() noexcept;
};

} // namespace ncclprobe::host
