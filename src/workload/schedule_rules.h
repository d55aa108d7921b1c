// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/schedule.h"

namespace ncclprobe::workload {

// Finds errors that would hang or corrupt data at run time: invalid indexes, ranks outside the
// world or the communicator, slices past the end of their buffer, unbalanced groups, regions that
// are out of range or cut a group, a send without its receive (count and type, pairwise in order),
// a rank missing from a collective of its communicator, a communicator split off one that lacks its
// ranks or comes later. Errors: invalid_argument, naming the operation.
Result<void> check_schedule(const model::Schedule& schedule, int world_size);

// Global ranks of a communicator, in its order.
std::vector<int> members_of(const model::CommunicatorDecl& communicator, int world_size);

} // namespace ncclprobe::workload
