// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/library.h"
#include "model/outcome.h"
#include "model/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What came out of a trial.
namespace ncclprobe::model {

// One batch on one rank: `iterations` back-to-back launches took `elapsed_ns` on that rank's clock.
struct Sample {
  std::int32_t rank = 0; // global
  std::int32_t batch = 0;
  std::int32_t iterations = 0;
  std::int64_t elapsed_ns = 0;
  // Of these, the host's thread was busy asking for the launches: from before the first until the
  // last call had returned, for all ranks that its process drives. Negative: not measured.
  std::int64_t launch_ns = -1;
  bool operator==(const Sample&) const = default;
};
NCCLPROBE_FIELDS(Sample, rank, batch, iterations, elapsed_ns, launch_ns)

// When the device came to a marker (TimingMode::steps).
struct Mark {
  std::int32_t rank = 0; // global
  std::int32_t batch = 0;
  std::int32_t iteration = 0; // step in the batch
  std::int32_t operation = 0; // index in the schedule, of a MarkerOp
  std::int64_t at_ns = 0;     // since the rank's first mark of the batch, on its device's clock
  bool operator==(const Mark&) const = default;
};
NCCLPROBE_FIELDS(Mark, rank, batch, iteration, operation, at_ns)

// Was the data looked at, and what was found, over all ranks.
struct CheckResult {
  bool checked = false;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  std::string first_wrong; // "rank 3 element 17: 5 instead of 6"; empty if none
  std::string why_unchecked;
  std::uint64_t launches = 0; // whose results were looked at
  std::string method;         // which ones: "last launch of every batch", "every launch", ...
                              // and what else the reader of the samples has to know
  bool operator==(const CheckResult&) const = default;
};
NCCLPROBE_FIELDS(CheckResult, checked, elements, wrong, first_wrong, why_unchecked, launches,
                 method)

// State of a rank's GPU, as NVML tells it. What could not be read is absent.
struct Condition {
  enum class When { before, during, after }; // the timed part of the cell
  std::int32_t rank = 0;
  When when = When::before;
  std::int64_t at_ns = 0; // since the cell began
  std::optional<std::int32_t> sm_clock_mhz;
  std::optional<std::int32_t> memory_clock_mhz;
  std::optional<std::int32_t> temperature_c;
  std::optional<std::int32_t> power_mw;
  std::optional<std::uint64_t> throttle_reasons;  // NVML's bits, idle and user settings included
  std::optional<std::uint64_t> memory_used_bytes; // of the device, by all processes
  // Data on all NVLinks of the GPU, counted since the driver's start: differences mean something.
  std::optional<std::uint64_t> nvlink_sent_bytes;
  std::optional<std::uint64_t> nvlink_received_bytes;
  // Over PCIe, in the 20 ms or so before the reading.
  std::optional<std::int32_t> pcie_sent_mb_per_s;
  std::optional<std::int32_t> pcie_received_mb_per_s;
  // Before and after a cell. Processes that compute on the GPU, ours among them.
  std::optional<std::int32_t> processes;
  // Memory errors (ECC) since the driver's start: differences are what came in between.
  std::optional<std::uint64_t> corrected_errors;
  std::optional<std::uint64_t> uncorrected_errors;
  bool operator==(const Condition&) const = default;
};
NCCLPROBE_GROWN_FIELDS(Condition,
                       (rank, when, at_ns, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw,
                        throttle_reasons),
                       (memory_used_bytes, nvlink_sent_bytes, nvlink_received_bytes,
                        pcie_sent_mb_per_s, pcie_received_mb_per_s, processes, corrected_errors,
                        uncorrected_errors))
constexpr auto enum_names(Condition::When) {
  using enum Condition::When;
  return std::to_array<std::pair<Condition::When, std::string_view>>(
      {{before, "before"}, {during, "during"}, {after, "after"}});
}

// Bits of throttle_reasons that mean slower than asked for: software power cap (0x4), hardware
// slowdown (0x8), software thermal (0x20), hardware thermal (0x40), hardware power brake (0x80).
// Not idle (0x1), application clocks (0x2), sync boost (0x10), display clocks (0x100). Source:
// nvml.h, nvmlClocksEventReason*.
inline constexpr std::uint64_t k_throttled_bits = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

// What came out of a cell: of one rank while the trial runs, over all ranks in its record.
struct CellRecord {
  Outcome outcome;
  CheckResult check;
  std::vector<Sample> samples;       // ordered by batch, then rank
  std::vector<Condition> conditions; // ordered by rank, then time; none on a CPU
  std::vector<Mark> marks;           // ordered by rank, batch, iteration, operation
  bool operator==(const CellRecord&) const = default;
};
NCCLPROBE_FIELDS(CellRecord, outcome, check, samples, conditions, marks)

// Memory of a rank's device. before: nothing of ours was on it yet. opened: the process had its
// context there. connected: the communicator of all ranks was made, nothing launched. finished: all
// cells were over. These four are what all processes used together: of a trial that was prepared
// (TrialRecord), before and opened hold the end of the one before it. buffers: what the runner had
// asked for when all cells were over.
struct MemoryUse {
  enum class What { before, opened, connected, finished, buffers };
  std::int32_t rank = 0; // global
  What what = What::before;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryUse&) const = default;
};
NCCLPROBE_FIELDS(MemoryUse, rank, what, bytes)
constexpr auto enum_names(MemoryUse::What) {
  using enum MemoryUse::What;
  return std::to_array<std::pair<MemoryUse::What, std::string_view>>({{before, "before"},
                                                                      {opened, "opened"},
                                                                      {connected, "connected"},
                                                                      {finished, "finished"},
                                                                      {buffers, "buffers"}});
}

// One worker process of the trial.
struct WorkerRecord {
  std::vector<int> ranks; // global ranks it drove
  std::string host;
  std::int32_t pid = 0;
  std::string
      last_phase; // how far it came: spawned, ready, communicator_init, cell, teardown, done
  std::int32_t last_cell = -1;
  std::string exit;        // "exit 0", "signal 9 (Killed)"
  std::string output_tail; // last lines of its stdout and stderr; kept for trials that are not ok
  std::string position;    // within that phase: "launch 12 of 20 of batch 3"; trials not ok
  std::string stack;       // of its main thread, innermost first, a frame a line; trials not ok
  // It was allowed to run on, "0-15,32-47": as it told itself once connected, else as it was begun.
  std::string cpus;
  std::string cpus_asked; // what TrialSpec::cpu_affinity meant for it; empty: nothing, or refused
  // What it communicated and computed with, as it had them loaded: paths with links resolved, and
  // as problem what is not as TrialSpec::libraries asked for. Empty if it did not come to tell.
  std::vector<Library> libraries;
  std::vector<MemoryUse> memory; // in the order of time; none where devices do not tell
  bool operator==(const WorkerRecord&) const = default;
};
NCCLPROBE_GROWN_FIELDS(WorkerRecord,
                       (ranks, host, pid, last_phase, last_cell, position, stack, cpus, exit,
                        output_tail),
                       (libraries, cpus_asked, memory))

// One call of the library as it was carried out, seen by the profiler plugin.
struct Choice {
  std::int32_t cell = -1; // -1: outside cells
  std::string function;   // "AllReduce", "Send"
  std::string type;       // NCCL's name of it, "ncclFloat32"
  std::uint64_t count = 0;
  std::string algorithm; // "RING"; empty for sends and receives, which have none
  std::string protocol;  // "LL128"
  std::int32_t channels = 0;
  std::int32_t peer = -1; // sends and receives
  bool operator==(const Choice&) const = default;
};
NCCLPROBE_FIELDS(Choice, cell, function, type, count, algorithm, protocol, channels, peer)

// What one rank of a companion trial saw of its settings.
struct Evidence {
  std::int32_t rank = 0;
  std::string log;      // NCCL's, whole (NCCL_DEBUG_FILE)
  std::string profiler; // "v5": the plugin interface that was used; or why there was none
  std::vector<Choice> choices;
  bool operator==(const Evidence&) const = default;
};
NCCLPROBE_FIELDS(Evidence, rank, log, profiler, choices)

struct TrialRecord {
  TrialSpec spec;
  Outcome outcome;               // gravest of all cells and workers
  std::vector<CellRecord> cells; // as many as spec.cells
  std::vector<WorkerRecord> workers;
  std::vector<Evidence> evidence; // by rank; companions only
  std::string started_utc;
  // Its workers were started during the trial before and waited with their devices open. Then its
  // times count from its turn, and its teardown runs beside the next trial's start-up.
  bool prepared = false;
  std::int64_t startup_ns = 0; // spawn until all ranks were ready
  std::int64_t total_ns = 0;   // spawn until all workers were gone
  bool operator==(const TrialRecord&) const = default;
};
NCCLPROBE_FIELDS(TrialRecord, spec, outcome, cells, workers, evidence, started_utc, prepared,
                 startup_ns, total_ns)

} // namespace ncclprobe::model
