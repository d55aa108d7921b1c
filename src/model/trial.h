// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"
#include "model/cell_label.h"
#include "model/schedule.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// A trial is a value: TrialSpec in, TrialRecord (record.h) out. One trial is one set of worker
// processes: they start, run their cells in order, and end.
namespace ncclprobe::model {

struct Setting {
  std::string name; // environment variable, or the name of an in-process setting
  std::string value;
  bool operator==(const Setting&) const = default;
};
NCCLPROBE_DESCRIBE(
    Setting,
    NCCLPROBE_COLUMN(name, "name of the variable, setting or library; in /files: path of the file"),
    NCCLPROBE_COLUMN(value, "value of the variable or setting, path of the library; in /files: "
                            "size and hash of the file"))

// Name of TrialSpec::cpu_affinity among settings.
inline constexpr const char* k_cpu_affinity = "cpu_affinity";
// Name of the worker program among requested and reported libraries.
inline constexpr const char* k_worker_program = "worker";

// "NCCL_PROTO=LL NCCL_ALGO=Ring", or "default" if there are none.
std::string label_of(const std::vector<Setting>& settings);

// Environment of the workers, in addition to the inherited one.
struct ProcessSettings {
  std::vector<Setting> common; // the setting under test: the same on all ranks
  // Further ones by global rank (NCCL_HOSTID, a deliberate mismatch).
  std::map<int, std::vector<Setting>> per_rank;

  std::vector<Setting> at(int rank) const; // common, then the rank's own
  bool operator==(const ProcessSettings&) const = default;
};
NCCLPROBE_DESCRIBE(
    ProcessSettings,
    NCCLPROBE_COLUMN(common, "environment variables that all ranks get: the setting under test",
                     base::Rows{"settings"}),
    NCCLPROBE_COLUMN(per_rank, "environment variables that only some ranks get, by global rank"))

// batch: the timed region is launched `iterations` times back to back between two readings of the
// host's clock, as in nccl-tests; one batch gives one sample. latency: one launch at a time, each
// timed by two events on the device; each gives one sample of one iteration, in batches x
// iterations launches. events: as batch, but two events on the device time the batch, which
// excludes the host's enqueueing; only ranks with work in the timed region have samples. steps: as
// batch, with one training step per launch, and the device times every marker of the timed region
// in every launch (CellRecord::marks); ranks that do not train have no samples.
enum class TimingMode { batch, latency, events, steps };

// How often and how long.
struct Timing {
  int warmups = 5;            // untimed runs of the timed region
  int iterations = 20;        // per batch
  int batches = 5;            // at least, if there is a target_interval
  std::int64_t budget_ns = 0; // > 0: iterations, then batches, are reduced until the estimate fits;
                              // the timed part ends at the first check of the clock after it
  // > 0: continue after `batches` until the 95% confidence interval of the median over batches is
  // within this share of it on every rank (0.01 = +-1%), or until max_batches or budget_ns.
  double target_interval = 0;
  int max_batches = 100;
  TimingMode mode = TimingMode::batch;
  bool operator==(const Timing&) const = default;
};
NCCLPROBE_DESCRIBE(
    Timing, NCCLPROBE_COLUMN(warmups, "untimed runs before timing"),
    NCCLPROBE_COLUMN(iterations, "launches in a batch"),
    NCCLPROBE_COLUMN(batches, "number of timed batches; the minimum if there is a target_interval"),
    NCCLPROBE_COLUMN(
        budget_ns,
        "time limit of the timed part, ns; iterations and batches are reduced to fit; 0: none"),
    NCCLPROBE_COLUMN(
        mode, "latency: a sample times one launch; batch, events, steps: a batch of launches",
        base::grown),
    NCCLPROBE_COLUMN(target_interval,
                     "stop once the median's 95% confidence interval is within this share of it "
                     "(0.01: +-1%); 0: no target",
                     base::grown),
    NCCLPROBE_COLUMN(max_batches, "maximum number of batches, if there is a target_interval",
                     base::grown))

struct Cell {
  CellLabel label;
  // Within a process: algorithm, protocol, channels per call (tuner plugin).
  std::vector<Setting> settings;
  Schedule schedule;
  Timing timing;
  std::int64_t deadline_ns = 30'000'000'000; // from the cell's start to its result, on each rank
  bool operator==(const Cell&) const = default;
};
NCCLPROBE_DESCRIBE(
    Cell, NCCLPROBE_COLUMN(label, "what it measures", base::flat),
    NCCLPROBE_COLUMN(settings,
                     "settings of a cell that take effect within the process, for each call",
                     base::Rows{"cell_settings"}),
    NCCLPROBE_COLUMN(schedule, "the complete schedule that a worker ran", base::whole),
    NCCLPROBE_COLUMN(timing, "how often and how long"),
    NCCLPROBE_COLUMN(deadline_ns,
                     "time limit from the cell's start to its result, on each rank, ns",
                     base::grown))

// measure: timed. companion: every cell is launched once, untimed, with NCCL's log and our profiler
// plugin on, to show the effect of the settings (record.h, Evidence); ignore its times. traced:
// timed as `measure`, with TrialSpec::trace on; its times only show the cost of tracing.
enum class Purpose { measure, companion, traced };

// How much of a trial is recorded; each level includes the one before. kernels: what the devices
// execute, and the communication library's operations. api: calls of the CUDA runtime and driver,
// synchronizations, events. full: times of the library's channels, steps of its proxy threads and
// of the network.
enum class TraceLevel { off, kernels, api, full };

// NCCL_DEBUG_FILE of companions: an anonymous file that the worker opens under this number, so
// nothing is left behind in any case.
inline constexpr int k_companion_log_fd = 100;
inline constexpr const char* k_companion_log_path = "/proc/self/fd/100";

struct TrialSpec {
  int id = 0; // position in the plan's order, from 0
  Purpose purpose = Purpose::measure;
  std::string name; // label of the settings, for people
  // Number of this repetition of the same settings in fresh processes. In a sweep the default runs
  // twice in block b, as replicates 2b and 2b+1: even and odd are the arms of the A/A comparison.
  int replicate = 0;
  std::string backend; // "nvidia", "host", "synthetic"
  int ranks = 0;
  std::uint64_t seed = 0; // data patterns and the synthetic backend
  ProcessSettings process;
  TraceLevel trace = TraceLevel::off;
  // Where its workers store their spools, and the run they belong to; it does not change what is
  // measured.
  std::string trace_folder, trace_run_id;
  std::vector<Setting> instruments; // also environment, but for observation: not under test
  // "nccl" -> path: the shared library to load; "worker" -> path: the program to start
  std::vector<Setting> libraries;
  std::vector<Setting> tested_libraries; // those of them that are under test
  // Under test: the CPUs of its workers (launch/supervisor/cpu_policy.h); empty: those of all
  // trials.
  std::string cpu_affinity;
  std::vector<Cell> cells;
  // From the start of its processes until they are ready for the first cell.
  std::int64_t startup_deadline_ns = 180'000'000'000;
  std::int64_t teardown_deadline_ns = 30'000'000'000;
  // The ranks of the launch that run it, in the order of the trial's own numbers; empty: the first
  // `ranks`. Schedule and settings by rank use the trial's numbers, its record those of the launch.
  std::vector<int> launch_ranks;

  // Libraries, the choice of CPUs, then the environment that all ranks share.
  std::vector<Setting> under_test() const;
  // The name, or one made from what is under test.
  std::string label() const;
  bool is_default() const; // nothing is under test
  bool operator==(const TrialSpec&) const = default;
};
NCCLPROBE_DESCRIBE(
    TrialSpec, NCCLPROBE_COLUMN(id, "number of the trial: its position in the plan, from 0"),
    NCCLPROBE_COLUMN(name, "label of the settings under test"),
    NCCLPROBE_COLUMN(replicate, "which repetition of the same settings this is, from 0"),
    NCCLPROBE_COLUMN(backend, "nvidia, host or synthetic"),
    NCCLPROBE_COLUMN(ranks, "number of ranks"),
    NCCLPROBE_COLUMN(seed, "seed of data patterns and the synthetic backend"),
    NCCLPROBE_COLUMN(process, "environment of its workers"),
    NCCLPROBE_COLUMN(libraries, "libraries to load, and the worker program to start",
                     base::Rows{"trial_libraries"}),
    NCCLPROBE_COLUMN(cells, "the cells of each trial, in order"),
    NCCLPROBE_COLUMN(
        startup_deadline_ns,
        "time limit from the start of the workers until they are ready for the first cell, ns"),
    NCCLPROBE_COLUMN(teardown_deadline_ns,
                     "time limit from the last result until all workers have exited, ns"),
    NCCLPROBE_COLUMN(purpose,
                     "measure: timed; companion: untimed, to see what settings do (ignore its "
                     "samples); traced: timed with a trace",
                     base::grown),
    NCCLPROBE_COLUMN(instruments,
                     "environment variables that only serve to observe; they are not under test",
                     base::grown),
    NCCLPROBE_COLUMN(trace, "level of detail of the trace; off: no trace", base::grown),
    NCCLPROBE_COLUMN(trace_folder,
                     "folder of its workers' trace spools (raw trace files); empty: no trace",
                     base::grown),
    NCCLPROBE_COLUMN(trace_run_id, "run id that these spools carry; empty: no trace", base::grown),
    NCCLPROBE_COLUMN(tested_libraries, "libraries of /trial_libraries that are under test",
                     base::grown),
    NCCLPROBE_COLUMN(cpu_affinity, "CPUs requested for its workers; empty: the default",
                     base::grown),
    NCCLPROBE_COLUMN(launch_ranks,
                     "for each rank of the trial, in order: the launch's rank that ran it; empty: "
                     "the first ranks",
                     base::grown))

// Identifies what was measured, for --resume and for comparing runs: equal keys mean the same
// purpose, settings, backend, ranks, workload, schedule and timing. 16 hexadecimal digits (FNV-1a
// of the canonical JSON).
std::string resume_key(const TrialSpec& trial, const Cell& cell);

} // namespace ncclprobe::model
