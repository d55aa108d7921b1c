// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/column.h"
#include "model/collective.h"
#include "model/data_type.h"
#include "model/record.h"
#include "model/reduce_op.h"

#include <cstdint>
#include <string_view>
#include <tuple>

// The schema of a run file, version 1.5 (k_schema_major.k_schema_minor in run_file.h). Writer and
// reader are both driven by the lists below, so this is the format and not a description of it.
// What came with 1.1 says "since 1.1": files of 1.0 have not got it, and read as if it were there
// with default values. A reader of 1.0 does not look at it. Likewise for 1.2 to 1.5.
//
//   /            attributes schema = "ncclprobe.run", schema_version = [major, minor],
//                kind = "run" (folded file), "header" or "trial" (parts of it)
//   /run         attributes run_id, started_utc, ncclprobe_version, mpi_version, command, seed,
//                backend, backend_reason, synthetic (1: the numbers are no measurements),
//                planned_trials; dataset header: the bytes of a JSON document with all of it
//   /<table>     one group for each row type below (its path stands above it), one 1-D dataset for
//                each column, all columns of a table equally long; what it means is the dataset's
//                attribute "about"
//   /strings     blob: the bytes of all texts, each once; offset: text i is
//                blob[offset[i]:offset[i+1]].
//                Texts are what was captured: usually UTF-8, never guaranteed. Text 0 is empty.
//
// Columns: integers are little-endian; yes/no is u8 with 0 or 1; enumerations are u8 with the
// attribute "labels" (label of value v is labels[v]); texts are u32, the row in /strings. "row in
// /t" means position in table t. Lists of ranks are texts such as "0,1,5". Filters: shuffle,
// deflate (columns of 512 bytes and more) and fletcher32, which every HDF5 has. Documents are JSON,
// or CBOR (first byte is not '{') if a text in them is no UTF-8; they hold what read_run() needs
// and tables do not show, such as a cell's schedule.
//
// With h5py:
//   f = h5py.File("run.h5"); blob = f["strings/blob"][:].tobytes(); at = f["strings/offset"][:]
//   text = lambda i: blob[at[i]:at[i + 1]].decode(errors="replace")
//   names = [text(i) for i in f["trials/name"][:]]; times_ns = f["samples/elapsed_ns"][:]
namespace ncclprobe::store {

inline constexpr const char* k_schema_name = "ncclprobe.run";

// Which of the three kinds of file: everything, what is known before the first trial, one trial.
enum class FileKind { run, header, trial };
constexpr auto enum_names(FileKind) {
  using enum FileKind;
  return std::to_array<std::pair<FileKind, std::string_view>>(
      {{run, "run"}, {header, "header"}, {trial, "trial"}});
}

// Row in /strings.
struct Text {
  std::uint32_t id = 0;
};

// What a setting applies to.
enum class Scope { process, in_process, library };
constexpr auto enum_names(Scope) {
  using enum Scope;
  return std::to_array<std::pair<Scope, std::string_view>>(
      {{process, "process"}, {in_process, "in_process"}, {library, "library"}});
}

using base::column;

// The version that brought a whole table; tables that came later say so by an overload.
template <typename Row>
constexpr int table_since_minor(Row) {
  return 0;
}

// --- kinds "run" and "header" ---

// /argv
struct ArgumentRow {
  Text argument;
};
constexpr auto columns(ArgumentRow) {
  using R = ArgumentRow;
  return std::tuple(column("argument", &R::argument, "argv, in order"));
}

// /hosts
struct HostRow {
  Text hostname, boot_id, cpu_model;
  std::int32_t cpus_allowed = 0;
  std::uint64_t memory_bytes = 0;
  Text kernel, worker_version, nvidia_problem;
};
constexpr auto columns(HostRow) {
  using R = HostRow;
  return std::tuple(
      column("hostname", &R::hostname, "name of the host"),
      column("boot_id", &R::boot_id, "equal boot ids are one host"),
      column("cpu_model", &R::cpu_model, "as the kernel names it"),
      column("cpus_allowed", &R::cpus_allowed, "logical CPUs the process may use"),
      column("memory_bytes", &R::memory_bytes, "main memory, bytes"),
      column("kernel", &R::kernel, "kernel release"),
      column("worker_version", &R::worker_version, "ncclprobe-worker's version and build options"),
      column("nvidia_problem", &R::nvidia_problem,
             "why there is no NVIDIA backend; empty if there is"));
}

// /gpus
struct GpuRow {
  std::uint32_t host = 0;
  std::int32_t index = 0;
  Text name, uuid, pci_bus_id, compute_capability;
  std::uint64_t memory_bytes = 0, free_bytes = 0;
  std::int32_t multiprocessors = 0, nvlinks = 0;
  Text compute_mode;
};
constexpr auto columns(GpuRow) {
  using R = GpuRow;
  return std::tuple(
      column("host", &R::host, "row in /hosts"),
      column("index", &R::index, "CUDA ordinal on its host"),
      column("name", &R::name, "product name"), column("uuid", &R::uuid, "GPU-..."),
      column("pci_bus_id", &R::pci_bus_id, "PCI address"),
      column("compute_capability", &R::compute_capability, "such as 9.0"),
      column("memory_bytes", &R::memory_bytes, "memory, bytes"),
      column("free_bytes", &R::free_bytes, "free memory before the run, bytes"),
      column("multiprocessors", &R::multiprocessors, "number of streaming multiprocessors"),
      column("nvlinks", &R::nvlinks, "active NVLinks; -1 if unknown"),
      column("compute_mode", &R::compute_mode, "default, exclusive_process or prohibited"));
}

// /libraries: what was looked for on each host
struct LibraryRow {
  std::uint32_t host = 0;
  Text name, version, path, problem;
};
constexpr auto columns(LibraryRow) {
  using R = LibraryRow;
  return std::tuple(column("host", &R::host, "row in /hosts"),
                    column("name", &R::name, "nccl, cuda_driver, gloo, ..."),
                    column("version", &R::version, "empty if it is not there"),
                    column("path", &R::path, "file that was loaded"),
                    column("problem", &R::problem, "why it cannot be used; empty if it can"));
}

// /ranks: where each rank lives
struct RankRow {
  std::int32_t rank = 0;
  std::uint32_t host = 0;
  std::int32_t device = 0;
};
constexpr auto columns(RankRow) {
  using R = RankRow;
  return std::tuple(column("rank", &R::rank, "global rank"),
                    column("host", &R::host, "row in /hosts"),
                    column("device", &R::device, "GPU index, or slot number on the CPU"));
}

// /environment
struct EnvironmentRow {
  Text name, value;
  bool pinned = false;
};
constexpr auto columns(EnvironmentRow) {
  using R = EnvironmentRow;
  return std::tuple(
      column("name", &R::name,
             "variable of rank 0's launching environment that bears on the result"),
      column("value", &R::value, "its value"),
      column("pinned", &R::pinned, "1: a sweep had asked for it, and it was left alone"));
}

// /environment_of_ranks: what other ranks have otherwise than /environment says (since 1.3)
struct RankEnvironmentRow {
  std::int32_t rank = 0;
  Text name, value;
  bool set = false;
};
constexpr auto columns(RankEnvironmentRow) {
  using R = RankEnvironmentRow;
  return std::tuple(column("rank", &R::rank, "global rank"),
                    column("name", &R::name, "variable of its launching environment"),
                    column("value", &R::value, "its value there"),
                    column("set", &R::set, "0: it is not set there"));
}
constexpr int table_since_minor(RankEnvironmentRow) {
  return 3;
}

// --- kinds "run" and "trial" ---

// /trials
struct TrialRow {
  std::int32_t id = 0;
  Text name;
  std::int32_t replicate = 0;
  Text backend;
  std::int32_t ranks = 0;
  std::uint64_t seed = 0;
  model::OutcomeKind outcome = model::OutcomeKind::ok;
  Text reason, outcome_ranks, started_utc;
  std::int64_t startup_ns = 0, total_ns = 0;
  Text document;
  model::Purpose purpose = model::Purpose::measure;
  std::uint8_t prepared = 0;
};
constexpr auto columns(TrialRow) {
  using R = TrialRow;
  return std::tuple(
      column("id", &R::id, "position in the plan's order, from 0"),
      column("name", &R::name, "label of the settings"),
      column("replicate", &R::replicate, "which fresh-process repetition of the same settings"),
      column("backend", &R::backend, "nvidia, host or synthetic"),
      column("ranks", &R::ranks, "number of ranks"),
      column("seed", &R::seed, "of data patterns and the synthetic backend"),
      column("outcome", &R::outcome, "gravest of all cells and workers"),
      column("reason", &R::reason, "why it is not ok; empty when ok"),
      column("outcome_ranks", &R::outcome_ranks, "global ranks it happened on"),
      column("started_utc", &R::started_utc, "start, ISO 8601"),
      column("startup_ns", &R::startup_ns, "spawn until all ranks were ready, ns"),
      column("total_ns", &R::total_ns, "spawn until all workers were gone, ns"),
      column("document", &R::document, "the trial's spec without its cells"),
      column("purpose", &R::purpose,
             "measure, or companion: untimed, its samples mean nothing (since 1.1)", 1),
      column("prepared", &R::prepared,
             "1: its workers were started before its turn, from which its times count (since 1.1)",
             1));
}

// /settings: what was set, for a trial, a rank or a cell
struct SettingRow {
  std::uint32_t trial = 0;
  std::int64_t cell = -1;
  std::int32_t rank = -1;
  Scope scope = Scope::process;
  Text name, value;
};
constexpr auto columns(SettingRow) {
  using R = SettingRow;
  return std::tuple(
      column("trial", &R::trial, "row in /trials"),
      column("cell", &R::cell, "row in /cells; -1: the whole trial"),
      column("rank", &R::rank, "global rank; -1: all ranks"),
      column("scope", &R::scope, "environment variable, in-process setting or library to load"),
      column("name", &R::name, "name of the setting"), column("value", &R::value, "its value"));
}

// /workers: the processes of each trial
struct WorkerRow {
  std::uint32_t trial = 0;
  Text ranks, host;
  std::int32_t pid = 0;
  Text last_phase;
  std::int32_t last_cell = -1;
  Text exit, output_tail;
  Text position, stack, cpus, cpus_asked;
};
constexpr auto columns(WorkerRow) {
  using R = WorkerRow;
  return std::tuple(
      column("trial", &R::trial, "row in /trials"),
      column("ranks", &R::ranks, "global ranks it drove"),
      column("host", &R::host, "name of its host"), column("pid", &R::pid, "process id"),
      column("last_phase", &R::last_phase, "how far it came"),
      column("last_cell", &R::last_cell, "index of the last cell it began; -1: none"),
      column("exit", &R::exit, "how it ended"),
      column("output_tail", &R::output_tail, "its last lines of output, for trials not ok"),
      column("position", &R::position, "where in last_phase, for trials not ok (since 1.1)", 1),
      column("stack", &R::stack,
             "of its main thread, innermost first, a frame a line, for trials not ok (since 1.1)",
             1),
      column("cpus", &R::cpus, "CPUs it was allowed to run on, such as 0-15,32-47 (since 1.1)", 1),
      column("cpus_asked", &R::cpus_asked,
             "CPUs it was to have, of trials that ask for some (since 1.5)", 5));
}

// /worker_libraries: what each worker had loaded, in the order of /workers (since 1.2)
struct WorkerLibraryRow {
  std::uint32_t worker = 0;
  Text name, version, path, problem;
};
constexpr auto columns(WorkerLibraryRow) {
  using R = WorkerLibraryRow;
  return std::tuple(
      column("worker", &R::worker, "row in /workers"),
      column("name", &R::name, "nccl, cublaslt, gloo, ..."),
      column("version", &R::version, "as the library tells it"),
      column("path", &R::path, "file that was loaded, links resolved"),
      column("problem", &R::problem, "what is not as the trial asked for; empty if nothing"));
}
constexpr int table_since_minor(WorkerLibraryRow) {
  return 2;
}

// /worker_memory: of each worker's devices, in the order of /workers (since 1.4)
struct WorkerMemoryRow {
  std::uint32_t worker = 0;
  std::int32_t rank = 0;
  model::MemoryUse::What what = model::MemoryUse::What::before;
  std::uint64_t bytes = 0;
};
constexpr auto columns(WorkerMemoryRow) {
  using R = WorkerMemoryRow;
  return std::tuple(column("worker", &R::worker, "row in /workers"),
                    column("rank", &R::rank, "global rank, whose device it is"),
                    column("what", &R::what,
                           "buffers: what was asked for; else what all processes used, at a time"),
                    column("bytes", &R::bytes, "bytes"));
}
constexpr int table_since_minor(WorkerMemoryRow) {
  return 4;
}

// /cells: in the order of their trials
struct CellRow {
  std::uint32_t trial = 0;
  std::int32_t index = 0;
  Text workload;
  std::uint64_t bytes = 0;
  model::DataType type = model::DataType::f32;
  model::ReduceOp op = model::ReduceOp::sum;
  model::Placement placement = model::Placement::out_of_place;
  std::int32_t root = 0;
  std::int32_t ranks = 0;
  model::OutcomeKind outcome = model::OutcomeKind::ok;
  Text reason, outcome_ranks;
  bool checked = false;
  std::uint64_t checked_elements = 0, wrong_elements = 0;
  Text first_wrong, why_unchecked;
  std::uint64_t samples = 0;
  Text resume_key, document;
  Text variant;
  model::TimingMode timing_mode = model::TimingMode::batch;
  std::uint64_t checked_launches = 0;
  Text check_method;
};
constexpr auto columns(CellRow) {
  using R = CellRow;
  return std::tuple(
      column("trial", &R::trial, "row in /trials"),
      column("index", &R::index, "position in the trial, from 0"),
      column("workload", &R::workload, "name of a collective, or p2p_copy, ddp_step, ..."),
      column("bytes", &R::bytes, "message size as nccl-tests counts it, bytes"),
      column("type", &R::type, "element type"), column("op", &R::op, "reduction"),
      column("placement", &R::placement, "in place or out of place"),
      column("root", &R::root, "root rank"), column("ranks", &R::ranks, "ranks of the trial"),
      column("outcome", &R::outcome, "how the cell ended"),
      column("reason", &R::reason, "why it is not ok; empty when ok"),
      column("outcome_ranks", &R::outcome_ranks, "global ranks it happened on"),
      column("checked", &R::checked, "1: the data was looked at"),
      column("checked_elements", &R::checked_elements, "elements looked at"),
      column("wrong_elements", &R::wrong_elements, "elements that were wrong"),
      column("first_wrong", &R::first_wrong, "the first wrong one; empty if none"),
      column("why_unchecked", &R::why_unchecked, "why the data was not looked at"),
      column("samples", &R::samples, "number of rows in /samples"),
      column("resume_key", &R::resume_key, "identifies what was measured"),
      column("document", &R::document, "the cell's spec: label, settings, schedule, timing"),
      column("variant", &R::variant, "what else sets it apart, such as graph (since 1.1)", 1),
      column("timing_mode", &R::timing_mode,
             "batch and steps: a sample is a batch of launches; latency: one launch (since 1.1)",
             1),
      column("checked_launches", &R::checked_launches,
             "launches whose results were looked at (since 1.1)", 1),
      column("check_method", &R::check_method, "which launches those are (since 1.1)", 1));
}

// /samples: in the order of their cells, then by batch and rank
struct SampleRow {
  std::uint32_t cell = 0;
  std::int32_t rank = 0, batch = 0, iterations = 0;
  std::int64_t elapsed_ns = 0, launch_ns = -1;
};
constexpr auto columns(SampleRow) {
  using R = SampleRow;
  return std::tuple(
      column("cell", &R::cell, "row in /cells"), column("rank", &R::rank, "global rank"),
      column("batch", &R::batch, "batch of back-to-back launches, from 0"),
      column("iterations", &R::iterations, "launches in the batch"),
      column("elapsed_ns", &R::elapsed_ns, "time of the whole batch, ns"),
      column("launch_ns", &R::launch_ns,
             "of these, the host took to ask for it, ns; -1: not read (since 1.4)", 4));
}

// /conditions: of the GPUs, in the order of their cells (since 1.1)
struct ConditionRow {
  std::uint32_t cell = 0;
  std::int32_t rank = 0;
  model::Condition::When when = model::Condition::When::before;
  std::int64_t at_ns = 0;
  std::int32_t sm_clock_mhz = -1, memory_clock_mhz = -1, temperature_c = 0, power_mw = -1;
  std::uint64_t throttle_reasons = 0;
  std::uint64_t memory_used_bytes = UINT64_MAX;
  std::uint64_t nvlink_sent_bytes = UINT64_MAX, nvlink_received_bytes = UINT64_MAX;
  std::int32_t pcie_sent_mb_per_s = -1, pcie_received_mb_per_s = -1;
  std::int32_t processes = -1;
  std::uint64_t corrected_errors = UINT64_MAX, uncorrected_errors = UINT64_MAX;
};
inline constexpr std::int32_t k_no_reading = -1;
inline constexpr std::int32_t k_no_temperature_c = -300; // below absolute zero
inline constexpr std::uint64_t k_no_throttle_reasons = UINT64_MAX;
inline constexpr std::uint64_t k_no_bytes = UINT64_MAX;
inline constexpr std::uint64_t k_no_errors_read = UINT64_MAX;
constexpr auto columns(ConditionRow) {
  using R = ConditionRow;
  return std::tuple(
      column("cell", &R::cell, "row in /cells"), column("rank", &R::rank, "global rank"),
      column("when", &R::when, "before, during or after the timed part of the cell"),
      column("at_ns", &R::at_ns, "since the cell began, ns"),
      column("sm_clock_mhz", &R::sm_clock_mhz, "clock of the multiprocessors, MHz; -1: not read"),
      column("memory_clock_mhz", &R::memory_clock_mhz, "clock of the memory, MHz; -1: not read"),
      column("temperature_c", &R::temperature_c, "degrees Celsius; -300: not read"),
      column("power_mw", &R::power_mw, "milliwatts; -1: not read"),
      column("throttle_reasons", &R::throttle_reasons,
             "NVML's bits of clock event reasons; all bits set: not read"),
      column("memory_used_bytes", &R::memory_used_bytes,
             "memory of the GPU used by all processes; all bits set: not read (since 1.2)", 2),
      column("nvlink_sent_bytes", &R::nvlink_sent_bytes,
             "counted on all its NVLinks; all bits set: not read (since 1.4)", 4),
      column("nvlink_received_bytes", &R::nvlink_received_bytes, "as above (since 1.4)", 4),
      column("pcie_sent_mb_per_s", &R::pcie_sent_mb_per_s, "MB/s; -1: not read (since 1.4)", 4),
      column("pcie_received_mb_per_s", &R::pcie_received_mb_per_s, "as above (since 1.4)", 4),
      column("processes", &R::processes,
             "that compute on the GPU, ours among them; -1: not read (since 1.5)", 5),
      column("corrected_errors", &R::corrected_errors,
             "of its memory, since the driver's start; all bits set: not read (since 1.5)", 5),
      column("uncorrected_errors", &R::uncorrected_errors, "as above (since 1.5)", 5));
}
constexpr int table_since_minor(ConditionRow) {
  return 1;
}

// /marks: when the device came to the markers of a step, in the order of their cells, then by rank,
// batch, iteration and operation (since 1.2)
struct MarkRow {
  std::uint32_t cell = 0;
  std::int32_t rank = 0, batch = 0, iteration = 0, operation = 0;
  std::int64_t at_ns = 0;
};
constexpr auto columns(MarkRow) {
  using R = MarkRow;
  return std::tuple(
      column("cell", &R::cell, "row in /cells"), column("rank", &R::rank, "global rank"),
      column("batch", &R::batch, "batch of back-to-back steps, from 0"),
      column("iteration", &R::iteration, "step in the batch, from 0"),
      column("operation", &R::operation,
             "index of the marker among the operations of the cell's schedule"),
      column("at_ns", &R::at_ns,
             "when the device came to it, since the rank's first mark of the batch, ns"));
}
constexpr int table_since_minor(MarkRow) {
  return 2;
}

// /evidence: what each rank of a companion trial saw of its settings (since 1.1)
struct EvidenceRow {
  std::uint32_t trial = 0;
  std::int32_t rank = 0;
  Text log, profiler;
};
constexpr auto columns(EvidenceRow) {
  using R = EvidenceRow;
  return std::tuple(
      column("trial", &R::trial, "row in /trials"), column("rank", &R::rank, "global rank"),
      column("log", &R::log, "NCCL's log, whole"),
      column("profiler", &R::profiler, "profiler interface that was used, or why there was none"));
}
constexpr int table_since_minor(EvidenceRow) {
  return 1;
}

// /choices: calls of the library as they were carried out, in the order of /evidence (since 1.1)
struct ChoiceRow {
  std::uint32_t evidence = 0;
  std::int32_t cell = -1;
  Text function, type;
  std::uint64_t count = 0;
  Text algorithm, protocol;
  std::int32_t channels = 0, peer = -1;
};
constexpr auto columns(ChoiceRow) {
  using R = ChoiceRow;
  return std::tuple(column("evidence", &R::evidence, "row in /evidence"),
                    column("cell", &R::cell, "index of the cell in its trial; -1: outside cells"),
                    column("function", &R::function, "AllReduce, Send, ..."),
                    column("type", &R::type, "the library's name of the element type"),
                    column("count", &R::count, "elements"),
                    column("algorithm", &R::algorithm, "RING, ...; empty for sends and receives"),
                    column("protocol", &R::protocol, "LL, LL128, SIMPLE"),
                    column("channels", &R::channels, "number of channels"),
                    column("peer", &R::peer, "of a send or receive; -1: none"));
}
constexpr int table_since_minor(ChoiceRow) {
  return 1;
}

} // namespace ncclprobe::store
