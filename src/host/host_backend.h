// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/inventory.h"

#include <memory>

// Real collectives between processes on the CPU, with Gloo over TCP. Streams are threads with
// in-order queues, and events order them. Settings: settings.h. No other folder includes Gloo.
//
// Before a communicator is destroyed, max_over_ranks() must return on all ranks after their last
// operation. Closing a connection discards data that the peer has not read.
namespace ncclprobe::host {

// Throws Exception (invalid_argument) for an invalid setting.
std::unique_ptr<backend::Backend> make_backend(const backend::Options&);

// Adds the library "gloo" to the inventory.
void describe(model::HostInventory&);

} // namespace ncclprobe::host
