// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/abi.h"
#include "plugin/profiler/kernel_recording.h"
#include "plugin/profiler/limits.h"
#include "trace/spool_writer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

// The trace of NCCL's own events. NCCL calls on its own threads, in the middle of its work. Such a
// call puts an event into a queue without allocating memory, taking a lock or waiting. A thread of
// ours converts events into rows. The state is global in the process, because NCCL finds the plugin
// by name.
namespace ncclprobe::plugin {

// operations: collectives, sends and receives. channels: also the times of each channel of their
// kernels, which gives NCCL's proxy threads some work per channel. steps: also the actions of proxy
// threads and network.
enum class Detail { operations, channels, steps };

// How the offsets of the GPUs' clocks are found: somebody else reads the clocks, or they are
// estimated from the times of requests and reports.
enum class GpuClock { read_elsewhere, estimated };

// New communicators are traced into the spool, which must outlive stop_tracing(). `stem`: of the
// names of further spools (EventSpools), which a limit of time may need.
//
// Throws what std::thread and new throw if there is no thread or no memory.
//
// At a limit, operations that NCCL begins later are left out. The spool says so: k_missing with the
// reason at once, and k_left_out with their number in stop_tracing(). `kernels` follows the job's
// steps and ends before the rest; it may be null.
void start_tracing(trace::SpoolWriter& spool, Detail detail,
                   GpuClock clock = GpuClock::read_elsewhere, const Limits& limits = {},
                   std::string stem = {}, std::unique_ptr<KernelRecording> kernels = nullptr);
// Writes everything that has arrived, then events that have begun but not ended, then the losses.
void stop_tracing();
// Writes everything that has arrived.
void flush_tracing();
bool is_tracing();
// The global rank whose communicator uses this device of CUDA; that of the first communicator if
// none does.
int traced_rank_of_device(int device);

// Later requests to NCCL belong to this trace::OperationRow::id; 0: to none.
void set_operation(std::uint32_t id);
// Global ranks of the members of the next communicator, in their order there. Without it, a
// process's first communicator gives it its rank.
void set_members(std::span<const int> global_ranks);

// Called when NCCL opens a communicator and nobody records. The implementation may call
// start_tracing() (capture/) or do nothing (not_by_itself.cpp).
void start_by_itself(int rank);

// --- for the interfaces ---

struct Communicator; // an NCCL context

// Null if there are too many or nobody traces. `name` may be null. `interface`: the version that
// NCCL chose.
Communicator* open_communicator(int interface, std::uint64_t hash, const char* name, int nodes,
                                int size, int rank);
bool is_traced_communicator(const void* context);
std::uint64_t wanted_events(); // bits of the activation mask
// Where NCCL reads the mask before each call: at a limit it is lowered, so that channels cost
// nothing any more.
void remember_mask(int* mask);

// Handles; null: NCCL shall not report the end.
void* begin_event(Communicator& communicator, const abi::CollectiveV4& what);
void* begin_event(Communicator& communicator, const abi::PointToPointV4& what);
void* begin_event(void* parent, const abi::Channel& what);
void* begin_event(void* parent, const abi::ProxyOperation& what);
void* begin_event(void* parent, const abi::ProxyStep& what);
void* begin_event(void* parent, const abi::Network& what);
void enter_state(void* handle, int state, const abi::StateArguments* arguments);
void end_event(void* handle);

} // namespace ncclprobe::plugin
