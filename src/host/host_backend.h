// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"
#include "model/inventory.h"

#include <memory>

// Real collectives between processes on the CPU, by Gloo over TCP. Streams are threads with
// in-order queues, events order them. Settings: settings.h. The only folder that includes Gloo.
//
// Communicators may be destroyed once max_over_ranks() has returned on all ranks after their last
// operation: closing a connection takes what the peer has not read yet with it.
namespace ncclprobe::host {

// Throws base::Exception (invalid_argument) for a setting that is not legal.
std::unique_ptr<backend::Backend> make_backend(const backend::Options&);

// Adds the library "gloo" to the inventory.
void describe(model::Host&);

} // namespace ncclprobe::host
