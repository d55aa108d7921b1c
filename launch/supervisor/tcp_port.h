// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "launch/supervisor/frame_socket.h"
#include "launch/supervisor/launcher.h"

#include <memory>
#include <netdb.h>
#include <string>

// The addresses and ports of supervisors without MPI.
namespace ncclprobe::launch {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

// Of rank 0. Errors: unavailable, with the resolver's words.
Result<Addresses> addresses_of(const EnvJob& job);

base::Fd make_stream(int family);
void send_small_frames_at_once(const base::Fd& socket);

// Rank 0's port, where the launcher's variables say. Errors: unavailable.
Result<base::Fd> open_listener(const EnvJob& job);

// A port for those below a supervisor in the tree, at the address that rank 0 knows it by.
struct TreePort {
  base::Fd listener;
  std::string address;
  int port = 0; // 0: nobody is below, or it cannot listen
};
TreePort open_tree_port(const FrameSocket& to_rank_0);

} // namespace ncclprobe::launch
