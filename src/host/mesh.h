// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/context.h>

#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::host {

// A Gloo context in which every rank is connected to every other, without one of Gloo's stores.
// open() returns this rank's addresses, the caller carries them to all ranks, and connect() takes
// them all. gloo/mpi/context.cc works the same way.
//
// Destroying a mesh resets its connections and discards data that a peer has not read: destroy it
// only when all ranks have finished with it.
class Mesh : public gloo::Context {
public:
  Mesh(int rank, int size, std::shared_ptr<gloo::transport::Device> device);

  // Starts to listen. The blob has the same size on all ranks.
  std::string open();
  // `blobs` of all ranks, by rank. Blocks until every peer has called it too.
  void connect(const std::vector<std::string>& blobs);
  // Breaks all connections: a thread that waits in this mesh gets an exception, here and at the
  // peers.
  void abort() noexcept;
};

} // namespace ncclprobe::host
