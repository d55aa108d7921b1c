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

// The result of a trial.
namespace ncclprobe::model {

// One batch on one rank: `iterations` back-to-back launches took `elapsed_ns` on that rank's clock.
struct Sample {
  std::int32_t rank = 0; // global
  std::int32_t batch = 0;
  std::int32_t iterations = 0;
  std::int64_t elapsed_ns = 0;
  // How long the host's thread was busy requesting these launches, for all ranks that its process
  // drives: from before the first call until the last one returned. Negative: not measured.
  std::int64_t launch_ns = -1;
  bool operator==(const Sample&) const = default;
};
NCCLPROBE_DESCRIBE(
    Sample, NCCLPROBE_COLUMN(rank, "global rank"),
    NCCLPROBE_COLUMN(batch, "number of the batch of back-to-back launches, from 0"),
    NCCLPROBE_COLUMN(iterations, "launches in the batch"),
    NCCLPROBE_COLUMN(elapsed_ns, "time of the whole batch on this rank, ns"),
    NCCLPROBE_COLUMN(launch_ns,
                     "part of elapsed_ns that the host spent on launches, ns; -1: not measured"))

// When the device reached a marker (TimingMode::steps).
struct Mark {
  std::int32_t rank = 0; // global
  std::int32_t batch = 0;
  std::int32_t iteration = 0; // step in the batch
  std::int32_t operation = 0; // index in the schedule, of a MarkerOp
  std::int64_t at_ns = 0;     // since the rank's first mark of the batch, on its device's clock
  bool operator==(const Mark&) const = default;
};
NCCLPROBE_DESCRIBE(
    Mark, NCCLPROBE_COLUMN(rank, "global rank"),
    NCCLPROBE_COLUMN(batch, "number of the batch of back-to-back steps, from 0"),
    NCCLPROBE_COLUMN(iteration, "step in the batch, from 0"),
    NCCLPROBE_COLUMN(operation, "index of the marker among the operations of the cell's schedule"),
    NCCLPROBE_COLUMN(
        at_ns,
        "when the device reached the marker: time since the rank's first mark of the batch, ns"))

// Whether the data was checked, and the findings, over all ranks.
struct CheckResult {
  bool checked = false;
  std::uint64_t elements = 0;
  std::uint64_t wrong = 0;
  std::string first_wrong; // "rank 3 element 17: 5 instead of 6"; empty if none
  std::string why_unchecked;
  std::uint64_t launches = 0; // whose results were checked
  std::string method;         // which ones: "last launch of every batch", "every launch", ...
                              // and notes for readers of the samples
  bool operator==(const CheckResult&) const = default;
};
NCCLPROBE_DESCRIBE(
    CheckResult,
    NCCLPROBE_COLUMN(checked, "1: all ranks checked the data; 0: see check_why_unchecked"),
    NCCLPROBE_COLUMN(elements,
                     "number of elements that were checked, summed over launches and ranks"),
    NCCLPROBE_COLUMN(wrong, "how many of these elements were wrong"),
    NCCLPROBE_COLUMN(first_wrong, "place and value of the first wrong element; empty: none"),
    NCCLPROBE_COLUMN(why_unchecked, "why the data was not checked; empty: it was"),
    NCCLPROBE_COLUMN(launches, "number of launches whose results were checked, summed over ranks"),
    NCCLPROBE_COLUMN(method, "which launches were checked, and notes on the samples"))

// State of a rank's GPU according to NVML. Values that could not be read are absent.
struct Condition {
  enum class When { before, during, after }; // the timed part of the cell
  std::int32_t rank = 0;
  When when = When::before;
  std::int64_t at_ns = 0; // since the cell began
  std::optional<std::int32_t> sm_clock_mhz;
  std::optional<std::int32_t> memory_clock_mhz;
  std::optional<std::int32_t> temperature_c;
  std::optional<std::int32_t> power_mw;
  std::optional<std::uint64_t> energy_mj; // used since the driver's start: differences matter
  // NVML's bits, including idle and the user's settings.
  std::optional<std::uint64_t> throttle_reasons;
  std::optional<std::uint64_t> memory_used_bytes; // of the device, by all processes
  // Data on all NVLinks of the GPU, counted since the driver's start: only differences matter.
  std::optional<std::uint64_t> nvlink_sent_bytes;
  std::optional<std::uint64_t> nvlink_received_bytes;
  // Over PCIe, in about 20 ms before the reading.
  std::optional<std::int32_t> pcie_sent_mb_per_s;
  std::optional<std::int32_t> pcie_received_mb_per_s;
  // Before and after a cell. Processes that compute on the GPU, including ours.
  std::optional<std::int32_t> processes;
  // Memory errors (ECC) since the driver's start: a difference counts those in between.
  std::optional<std::uint64_t> corrected_errors;
  std::optional<std::uint64_t> uncorrected_errors;
  bool operator==(const Condition&) const = default;
};
NCCLPROBE_DESCRIBE(
    Condition, NCCLPROBE_COLUMN(rank, "global rank"),
    NCCLPROBE_COLUMN(when, "before, during or after the timed part of the cell"),
    NCCLPROBE_COLUMN(at_ns, "time since the cell began, ns"),
    NCCLPROBE_COLUMN(sm_clock_mhz, "SM clock, MHz"),
    NCCLPROBE_COLUMN(memory_clock_mhz, "memory clock, MHz"),
    NCCLPROBE_COLUMN(temperature_c, "temperature of the GPU, degrees Celsius"),
    NCCLPROBE_COLUMN(power_mw, "power that the GPU draws, milliwatts"),
    NCCLPROBE_COLUMN(energy_mj, "energy that the GPU used since the driver was loaded, millijoules",
                     base::grown),
    NCCLPROBE_COLUMN(throttle_reasons,
                     "why the clocks are not higher: NVML's clock event reasons, a bit mask"),
    NCCLPROBE_COLUMN(memory_used_bytes, "GPU memory used by all processes, bytes", base::grown),
    NCCLPROBE_COLUMN(nvlink_sent_bytes,
                     "bytes sent over all NVLinks of the GPU since the driver was loaded",
                     base::grown),
    NCCLPROBE_COLUMN(nvlink_received_bytes,
                     "bytes received over all NVLinks of the GPU since the driver was loaded",
                     base::grown),
    NCCLPROBE_COLUMN(pcie_sent_mb_per_s,
                     "data sent over PCIe, MB/s, mean over about 20 ms before the reading",
                     base::grown),
    NCCLPROBE_COLUMN(pcie_received_mb_per_s,
                     "data received over PCIe, MB/s, mean over about 20 ms before the reading",
                     base::grown),
    NCCLPROBE_COLUMN(processes,
                     "number of processes that compute on the GPU, including ncclprobe's",
                     base::grown),
    NCCLPROBE_COLUMN(corrected_errors,
                     "number of corrected memory (ECC) errors since the driver was loaded",
                     base::grown),
    NCCLPROBE_COLUMN(uncorrected_errors,
                     "number of uncorrected memory (ECC) errors since the driver was loaded",
                     base::grown))

// Bits of throttle_reasons that mean slower than requested: software power cap (0x4), hardware
// slowdown (0x8), software thermal (0x20), hardware thermal (0x40), hardware power brake (0x80).
// Not idle (0x1), application clocks (0x2), sync boost (0x10), display clocks (0x100). Source:
// nvml.h, nvmlClocksEventReason*.
inline constexpr std::uint64_t k_throttled_bits = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

// The result of a cell: of one rank while the trial runs, of all ranks in its record.
struct CellRecord {
  Outcome outcome;
  CheckResult check;
  std::vector<Sample> samples;       // ordered by batch, then rank
  std::vector<Condition> conditions; // ordered by rank, then time; none on a CPU
  std::vector<Mark> marks;           // ordered by rank, batch, iteration, operation
  bool operator==(const CellRecord&) const = default;
};
NCCLPROBE_DESCRIBE(
    CellRecord, NCCLPROBE_COLUMN(outcome, "how it ended"),
    NCCLPROBE_COLUMN(check, "whether its data was right"),
    NCCLPROBE_COLUMN(samples, "the batches of each cell, ordered by batch, then rank"),
    NCCLPROBE_COLUMN(conditions,
                     "readings of the GPUs' state (NVML) in each cell, ordered by rank, then time"),
    NCCLPROBE_COLUMN(marks, "when the device reached the markers of a step, ordered "
                            "by rank, batch, iteration, operation"))

// Memory of a rank's device. The first four are what all processes together used. before: nothing
// of ours was on it. opened: the process had its context. connected: the communicator of all ranks
// existed, nothing was launched. finished: all cells were over. In a prepared trial (TrialRecord),
// before and opened include the end of the previous trial. buffers: what the runner had requested
// when all cells were over.
struct MemoryUse {
  enum class What { before, opened, connected, finished, buffers };
  std::int32_t rank = 0; // global
  What what = What::before;
  std::uint64_t bytes = 0;
  bool operator==(const MemoryUse&) const = default;
};
NCCLPROBE_DESCRIBE(
    MemoryUse, NCCLPROBE_COLUMN(rank, "global rank that the device belongs to"),
    NCCLPROBE_COLUMN(what, "when the memory in use was read; buffers: memory that ncclprobe "
                           "requested for its buffers"),
    NCCLPROBE_COLUMN(bytes,
                     "bytes in use on the device, by all processes; for buffers: bytes requested"))

// One worker process of the trial.
struct WorkerRecord {
  std::vector<int> ranks; // its global ranks
  std::string host;
  std::int32_t pid = 0;
  std::string last_phase; // its last phase: spawned, ready, communicator_init, cell, teardown, done
  std::int32_t last_cell = -1;
  std::string exit;        // "exit 0", "signal 9 (Killed)"
  std::string output_tail; // last lines of its stdout and stderr; kept for trials that are not ok
  std::string position;    // place within that phase: "launch 12 of 20 of batch 3"; only for trials
                           // that are not ok
  std::string stack; // of its main thread, innermost first, one frame per line; only for trials
                     // that are not ok
  // CPUs that it could use, "0-15,32-47": as it reported after connecting, else as it was started.
  std::string cpus;
  std::string cpus_asked; // the CPUs that TrialSpec::cpu_affinity gave it; empty: none, or refused
  // Its communication and compute libraries as loaded: paths with links resolved. `problem`: how
  // one differs from TrialSpec::libraries. Empty if it did not report.
  std::vector<Library> libraries;
  std::vector<MemoryUse> memory;       // ordered by time; none if devices report none
  std::uint64_t peak_memory_bytes = 0; // its highest use of host memory; 0: unknown
  bool operator==(const WorkerRecord&) const = default;
};
NCCLPROBE_DESCRIBE(
    WorkerRecord, NCCLPROBE_COLUMN(ranks, "its global ranks"),
    NCCLPROBE_COLUMN(host, "name of its host"), NCCLPROBE_COLUMN(pid, "process id"),
    NCCLPROBE_COLUMN(
        last_phase,
        "last phase that it reached: spawned, ready, communicator_init, cell, teardown, done, ..."),
    NCCLPROBE_COLUMN(last_cell, "index in the trial of the last cell that it began; -1: none"),
    NCCLPROBE_COLUMN(position, "where in last_phase it was; only if the trial is not ok"),
    NCCLPROBE_COLUMN(
        stack, "call stack of its main thread, innermost frame first; only if the trial is not ok"),
    NCCLPROBE_COLUMN(cpus, "CPUs it was allowed to run on, such as 0-15,32-47"),
    NCCLPROBE_COLUMN(exit, "how it ended: exit code or signal"),
    NCCLPROBE_COLUMN(output_tail,
                     "last lines of its stdout and stderr; only if the trial is not ok"),
    NCCLPROBE_COLUMN(libraries, "the libraries that each worker had loaded", base::grown,
                     base::Rows{"worker_libraries"}),
    NCCLPROBE_COLUMN(cpus_asked, "CPUs that the trial requested for it; empty: none", base::grown),
    NCCLPROBE_COLUMN(memory, "memory of each worker's devices, in order of time", base::grown,
                     base::Rows{"worker_memory"}),
    NCCLPROBE_COLUMN(peak_memory_bytes, "peak host memory of the process, bytes; 0: unknown",
                     base::grown))

// One call of the library as it ran, seen by the profiler plugin.
struct Choice {
  std::int32_t cell = -1; // -1: outside cells
  std::string function;   // "AllReduce", "Send"
  std::string type;       // NCCL's name, "ncclFloat32"
  std::uint64_t count = 0;
  std::string algorithm; // "RING"; sends and receives have none
  std::string protocol;  // "LL128"
  std::int32_t channels = 0;
  std::int32_t peer = -1; // sends and receives
  bool operator==(const Choice&) const = default;
};
NCCLPROBE_DESCRIBE(
    Choice, NCCLPROBE_COLUMN(cell, "index of the cell in its trial; -1: outside cells"),
    NCCLPROBE_COLUMN(function, "called function: AllReduce, Send, ..."),
    NCCLPROBE_COLUMN(type, "element type as NCCL names it, such as ncclFloat32"),
    NCCLPROBE_COLUMN(count, "number of elements"),
    NCCLPROBE_COLUMN(algorithm, "chosen algorithm: RING, TREE, ...; empty for sends and receives"),
    NCCLPROBE_COLUMN(protocol, "chosen protocol: LL, LL128 or SIMPLE"),
    NCCLPROBE_COLUMN(channels, "number of channels"),
    NCCLPROBE_COLUMN(peer, "peer rank of a send or receive; -1: none"))

// One rank's observations of its settings in a companion trial.
struct Evidence {
  std::int32_t rank = 0;
  std::string log;      // NCCL's complete log (NCCL_DEBUG_FILE)
  std::string profiler; // "v5": the plugin interface in use; or why there was none
  std::vector<Choice> choices;
  bool operator==(const Evidence&) const = default;
};
NCCLPROBE_DESCRIBE(
    Evidence, NCCLPROBE_COLUMN(rank, "global rank"), NCCLPROBE_COLUMN(log, "NCCL's complete log"),
    NCCLPROBE_COLUMN(profiler,
                     "version of NCCL's profiler interface that was used, or why none was"),
    NCCLPROBE_COLUMN(choices, "how the library executed each call"))

struct TrialRecord {
  TrialSpec spec;
  Outcome outcome;               // worst of all cells and workers
  std::vector<CellRecord> cells; // as many as spec.cells
  std::vector<WorkerRecord> workers;
  std::vector<Evidence> evidence; // by rank; companions only
  std::string started_utc;
  // Its workers started during the previous trial and waited with open devices. Its times then
  // count from its turn, and its teardown runs beside the next trial's start.
  bool prepared = false;
  std::int64_t startup_ns = 0; // spawn until all ranks were ready
  std::int64_t total_ns = 0;   // spawn until all workers were gone
  bool operator==(const TrialRecord&) const = default;
};
NCCLPROBE_DESCRIBE(
    TrialRecord, NCCLPROBE_COLUMN(spec, "what was to be done", base::flat),
    NCCLPROBE_COLUMN(outcome, "how it ended"), NCCLPROBE_COLUMN(cells, "what came of the cells"),
    NCCLPROBE_COLUMN(workers, "the worker processes of each trial"),
    NCCLPROBE_COLUMN(evidence, "what each rank of a companion trial recorded about its settings"),
    NCCLPROBE_COLUMN(started_utc, "when the trial started: UTC, ISO 8601"),
    NCCLPROBE_COLUMN(
        prepared,
        "1: its workers started during the previous trial; its times count from its own turn"),
    NCCLPROBE_COLUMN(startup_ns, "time from the trial's start until all ranks were ready, ns"),
    NCCLPROBE_COLUMN(total_ns, "time from the trial's start until all workers had exited, ns"))

} // namespace ncclprobe::model
