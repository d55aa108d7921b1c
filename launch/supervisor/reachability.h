// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <chrono>
#include <string>

// Whether hosts reach each other over TCP on given addresses.
namespace ncclprobe::launch {

// A port of this host that takes connections while this object lives.
class Listener {
public:
  // On a free port. Errors: invalid_argument (no numeric address), unavailable (it cannot be
  // bound).
  static Result<Listener> open(const std::string& address);
  int port() const { return port_; }

private:
  Listener(base::Fd socket, int port) : socket_(std::move(socket)), port_(port) {}
  base::Fd socket_;
  int port_;
};

// Connects, sends some packets, waits until they have arrived, and hangs up. Errors:
// invalid_argument, timed_out, unavailable with the system's words.
Result<void> try_to_connect(const std::string& address, int port,
                            std::chrono::milliseconds patience);

} // namespace ncclprobe::launch
