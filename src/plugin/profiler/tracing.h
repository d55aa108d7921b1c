// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/abi.h"
#include "trace/spool_writer.h"

#include <cstdint>
#include <span>

// The trace of NCCL's own events. NCCL calls on its own threads, in the middle of its work: there
// an event is put in a queue, without asking for memory, taking a lock or waiting. A thread of ours
// makes rows of them. The state is one for the process, because NCCL finds the plugin by name.
namespace ncclprobe::plugin {

// operations: collectives, sends and receives. channels: the times of each channel of their kernels
// as well, for which NCCL's proxy threads have something to do for each. steps: what those and the
// network do.
enum class Detail { operations, channels, steps };

// How GPUs' clocks stand to the host's: somebody else reads them, or it is estimated from when the
// host asked for work, and when it heard of it.
enum class GpuClock { read_elsewhere, estimated };

// From now on communicators that are made are traced into the spool, which outlives stop_tracing().
void start_tracing(trace::SpoolWriter& spool, Detail detail,
                   GpuClock clock = GpuClock::read_elsewhere);
// What has come is written, what has begun and not ended as well, then the losses.
void stop_tracing();
// What has come is written.
void flush_tracing();
bool is_tracing();

// What NCCL is asked for from now on belongs to this trace::OperationRow::id; 0: to none.
void set_operation(std::uint32_t id);
// Global ranks of the members of the communicator that is made next, in their order there. Without
// it, a process's first communicator gives it its rank.
void set_members(std::span<const int> global_ranks);

// NCCL opens a communicator and nobody records: whoever links the interfaces may call
// start_tracing() now (capture/) or leave it (not_by_itself.cpp).
void start_by_itself(int rank);

// --- for the interfaces ---

struct Communicator; // an NCCL context

// Null if there are too many or nobody traces. `name` may be null.
// `interface`: version of it that NCCL took.
Communicator* open_communicator(int interface, std::uint64_t hash, const char* name, int nodes,
                                int size, int rank);
bool is_traced_communicator(const void* context);
std::uint64_t wanted_events(); // bits of the activation mask

// Handles; null: nothing is to be told of its end.
void* begin_event(Communicator& communicator, const abi::CollectiveV4& what);
void* begin_event(Communicator& communicator, const abi::PointToPointV4& what);
void* begin_event(void* parent, const abi::Channel& what);
void* begin_event(void* parent, const abi::ProxyOperation& what);
void* begin_event(void* parent, const abi::ProxyStep& what);
void* begin_event(void* parent, const abi::Network& what);
void enter_state(void* handle, int state, const abi::StateArguments* arguments);
void end_event(void* handle);

} // namespace ncclprobe::plugin
