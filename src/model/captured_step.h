// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/collective.h"
#include "model/data_type.h"

#include <cstdint>
#include <string>
#include <vector>

// A step of a captured job, or some consecutive ones, as the analysis of its traces sees them
// (analysis/replay). It is plain data, from which a schedule is made (workload/replay_step.h) and
// with which the replay is compared. Ranks are those of the job, unless a communicator is named.
namespace ncclprobe::model {

struct CapturedCommunicator {
  std::string name; // NCCL's; empty: it has none
  std::string role; // "data", "tensor", ...; "unknown"
  int size = 0;
  std::vector<int> ranks; // by rank in the communicator; -1: not captured
  bool operator==(const CapturedCommunicator&) const = default;
};
NCCLPROBE_DESCRIBE(
    CapturedCommunicator, NCCLPROBE_COLUMN(name, "NCCL's name for it; empty: none"),
    NCCLPROBE_COLUMN(role, "what the job uses it for: data, tensor, pipeline, ..., or unknown"),
    NCCLPROBE_COLUMN(size, "number of its ranks"),
    NCCLPROBE_COLUMN(ranks, "job rank of each of its ranks, in order; -1: not captured"))

// Stored by number: append only.
enum class CapturedKind { collective, message };

struct CapturedOperation {
  int communicator = 0; // index
  CapturedKind kind = CapturedKind::collective;
  Collective collective = Collective::all_reduce; // of a message: send_recv
  std::uint64_t count = 0;                        // elements, as NCCL's call counts them
  DataType type = DataType::f32;
  int root = 0;           // rank in the communicator
  int from = -1, to = -1; // of a message: ranks in the communicator
  double transfer_ns = 0; // without waiting, median over steps; 0: unknown
  std::uint64_t bytes() const { return count * size_bytes(type); }
  bool operator==(const CapturedOperation&) const = default;
};
NCCLPROBE_DESCRIBE(
    CapturedOperation, NCCLPROBE_COLUMN(communicator, "row in /captured_communicators"),
    NCCLPROBE_COLUMN(kind, "collective, or message: a send and its receive"),
    NCCLPROBE_COLUMN(collective, "which collective; send_recv for a message"),
    NCCLPROBE_COLUMN(count, "number of elements, as NCCL's call counts them"),
    NCCLPROBE_COLUMN(type, "element type"),
    NCCLPROBE_COLUMN(root, "rank of the root in the communicator, if the collective has one"),
    NCCLPROBE_COLUMN(from, "for a message: the sender's rank in the communicator; -1: none"),
    NCCLPROBE_COLUMN(to, "for a message: the receiver's rank in the communicator; -1: none"),
    NCCLPROBE_COLUMN(transfer_ns,
                     "duration without waiting for other ranks, median over steps, ns; 0: unknown"))

// A rank's part in an operation. The calls of a rank are in the order in which it called NCCL.
struct CapturedCall {
  int rank = 0;
  int operation = 0;          // index
  int group = -1;             // calls of a rank with equal numbers are one NCCL group; -1: alone
  double compute_ns = 0;      // the GPU's computing before it, since the call before
  bool is_waited_for = false; // computing goes on after it has ended; else after it has begun
  int step = 0;               // of the replayed ones, from 0
  // The host's own time before it, in which it launches that computing and then makes this call.
  // Counts from the call before; from the GPU's end of that if host_waits. 0: it is never too late.
  double host_ns = 0;
  bool host_waits = false; // until the GPU has done everything before
  bool operator==(const CapturedCall&) const = default;
};
NCCLPROBE_DESCRIBE(
    CapturedCall, NCCLPROBE_COLUMN(rank, "job rank that makes the call"),
    NCCLPROBE_COLUMN(operation, "row in /captured_operations"),
    NCCLPROBE_COLUMN(
        group, "calls of one rank with equal numbers form one NCCL group; -1: not in a group"),
    NCCLPROBE_COLUMN(compute_ns,
                     "GPU compute time between the rank's previous call and this one, ns"),
    NCCLPROBE_COLUMN(is_waited_for, "1: compute continues only after the operation has ended; 0: "
                                    "after it has begun"),
    NCCLPROBE_COLUMN(step, "replayed step that the call belongs to, from 0", base::grown),
    NCCLPROBE_COLUMN(host_ns,
                     "time that the host needs before the call, ns; the GPU waits if it is late; "
                     "0: the host is never late",
                     base::grown),
    NCCLPROBE_COLUMN(host_waits,
                     "1: host_ns counts from when the GPU has finished all earlier work; 0: from "
                     "the previous call",
                     base::grown))

// What keeps the GPU busy in a replay while the job computed. Stored by number: append only.
enum class ReplayCompute {
  gemm, // matrix products on the whole GPU
  spin  // one small kernel
};

struct CapturedStep {
  std::string path;        // of the capture
  int kind = 0;            // of step, as `report` counts them
  std::uint64_t steps = 0; // that were compared
  // Consecutive steps that are replayed, each with its own times. 1: one step, its times are
  // medians over the compared ones.
  int replayed_steps = 1;
  std::uint64_t first_step = 0; // number in the capture, if there are several
  std::vector<int> ranks;       // that were captured
  std::vector<int> replayed;    // of these: by rank of the replay
  ReplayCompute compute = ReplayCompute::gemm;
  bool has_device_times = false; // else those of calls on the host
  double step_ns = 0;            // of the replayed steps
  double exposed_ns = 0;    // communication without computing, in a replayed step: mean over ranks
  double usual_step_ns = 0; // median over the compared steps
  double host_late_ns = 0;  // part of a compared step in which the GPU waits for its host: mean
  std::vector<CapturedCommunicator> communicators;
  std::vector<CapturedOperation> operations;
  std::vector<CapturedCall> calls;
  std::vector<std::string> remarks; // what was assumed or left out, a sentence each
  bool operator==(const CapturedStep&) const = default;
};
NCCLPROBE_DESCRIBE(
    CapturedStep, NCCLPROBE_COLUMN(path, "folder or file of the capture"),
    NCCLPROBE_COLUMN(kind, "kind of step, as numbered in the job's report"),
    NCCLPROBE_COLUMN(steps,
                     "number of steps of this kind that were compared (medians are over these)"),
    NCCLPROBE_COLUMN(replayed_steps,
                     "number of consecutive steps that are replayed with their own times; usually "
                     "1: one step with median times",
                     base::grown),
    NCCLPROBE_COLUMN(first_step,
                     "number of the first replayed step in the capture; 0 with median times",
                     base::grown),
    NCCLPROBE_COLUMN(ranks, "job ranks that were captured"),
    NCCLPROBE_COLUMN(replayed,
                     "for each rank of the replay, in order: the job rank whose calls it replays"),
    NCCLPROBE_COLUMN(compute,
                     "what keeps the GPU busy while the job computed: gemm: matrix products on "
                     "the whole GPU, spin: one small kernel",
                     base::grown),
    NCCLPROBE_COLUMN(has_device_times,
                     "1: captured times are those of GPUs; 0: those of calls on the host"),
    NCCLPROBE_COLUMN(step_ns,
                     "length of a replayed step in the capture (of several: their mean), ns"),
    NCCLPROBE_COLUMN(exposed_ns,
                     "communication beside which the GPU does not compute, mean over ranks, ns"),
    NCCLPROBE_COLUMN(usual_step_ns, "median length of the compared steps, ns", base::grown),
    NCCLPROBE_COLUMN(
        host_late_ns,
        "part of a compared step that a GPU waits for its host, mean over steps and ranks, ns",
        base::grown),
    NCCLPROBE_COLUMN(communicators, "communicators of the captured step",
                     base::Rows{"captured_communicators"}, base::grown),
    NCCLPROBE_COLUMN(operations, "operations of the captured step",
                     base::Rows{"captured_operations"}, base::grown),
    NCCLPROBE_COLUMN(calls, "NCCL calls of each rank, in order", base::Rows{"captured_calls"},
                     base::grown),
    NCCLPROBE_COLUMN(remarks, "what was assumed or left out"))

} // namespace ncclprobe::model
