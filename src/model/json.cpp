// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "model/json.h"

#include "base/json_enum.h"
#include "base/json_optional.h"
#include "topology/machine_json.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::model {

using nlohmann::json;

// The field lists below are the format; nlohmann's macros expand a list to assignments.
#define CODEC(linkage, Type, ...)                                                                  \
  linkage void to_json(json& nlohmann_json_j, const Type& nlohmann_json_t){                        \
      NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, __VA_ARGS__))} linkage void       \
  from_json(const json& nlohmann_json_j, Type& nlohmann_json_t) {                                  \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, __VA_ARGS__))                     \
  }
// For a type that has grown: the second list came after run files of schema 1.0. Such a field is
// left out while it has its default and may be missing, so that old documents are read and resume
// keys of what could be measured before stay what they were.
#define UNWRAP(...) __VA_ARGS__
#define TO_UNLESS_DEFAULT(field)                                                                   \
  if (!(nlohmann_json_t.field == nlohmann_json_default_obj.field))                                 \
    nlohmann_json_j[#field] = nlohmann_json_t.field;
#define GROWN_CODEC(linkage, Type, first, later)                                                   \
  linkage void to_json(json& nlohmann_json_j, const Type& nlohmann_json_t) {                       \
    const Type nlohmann_json_default_obj{};                                                        \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_TO, UNWRAP first))                      \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(TO_UNLESS_DEFAULT, UNWRAP later))                     \
  }                                                                                                \
  linkage void from_json(const json& nlohmann_json_j, Type& nlohmann_json_t) {                     \
    const Type nlohmann_json_default_obj{};                                                        \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM, UNWRAP first))                    \
    NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(NLOHMANN_JSON_FROM_WITH_DEFAULT, UNWRAP later))       \
  }
// linkage of a codec that json.h declares
#define EXPORTED

NCCLPROBE_ENUM_CODEC(Collective, "collective")
NCCLPROBE_ENUM_CODEC(DataType, "data type")
NCCLPROBE_ENUM_CODEC(ReduceOp, "reduction")
NCCLPROBE_ENUM_CODEC(Placement, "placement")
NCCLPROBE_ENUM_CODEC(OutcomeKind, "outcome")
NCCLPROBE_ENUM_CODEC(Memory, "kind of memory")
NCCLPROBE_ENUM_CODEC(CopyMeans, "means of a copy")
NCCLPROBE_ENUM_CODEC(CopyDriver, "driver of a copy")
NCCLPROBE_ENUM_CODEC(GemmLayout, "layout of a product")
NCCLPROBE_ENUM_CODEC(Signs, "choice of signs")
NCCLPROBE_ENUM_CODEC(GemmMath, "kind of arithmetic")
NCCLPROBE_ENUM_CODEC(Activity, "activity")
NCCLPROBE_ENUM_CODEC(MarkerEdge, "edge of a marker")
NCCLPROBE_ENUM_CODEC(TimingMode, "timing mode")
NCCLPROBE_ENUM_CODEC(Purpose, "purpose")
NCCLPROBE_ENUM_CODEC(MemoryUse::What, "use of memory")

template <typename T>
void to_json(json& out, const PerRank<T>& value) {
  if (value.exceptions.empty())
    out = value.common;
  else
    out = {{"common", value.common}, {"exceptions", value.exceptions}};
}

template <typename T>
void from_json(const json& in, PerRank<T>& value) {
  if (!in.is_object()) {
    value = PerRank<T>(in.get<T>());
    return;
  }
  in.at("common").get_to(value.common);
  in.at("exceptions").get_to(value.exceptions);
}

static void to_json(json& out, const Peer& peer) {
  out = {{peer.kind == Peer::Kind::absolute ? "absolute" : "relative", peer.value}};
}

static void from_json(const json& in, Peer& peer) {
  peer.kind = in.contains("absolute") ? Peer::Kind::absolute : Peer::Kind::relative;
  in.at(peer.kind == Peer::Kind::absolute ? "absolute" : "relative").get_to(peer.value);
}

CODEC(static, StreamDecl, name, priority)
GROWN_CODEC(static, CommunicatorDecl, (name, ranks), (parent))
GROWN_CODEC(static, BufferDecl, (name, bytes), (memory))
CODEC(static, Slice, buffer, offset_bytes, rank_stride_bytes)
CODEC(static, CollectiveOp, collective, communicator, stream, send, receive, count, type, op, root)
CODEC(static, SendOp, communicator, stream, from, count, type, to)
CODEC(static, RecvOp, communicator, stream, into, count, type, from)
GROWN_CODEC(static, CopyOp, (stream, from_rank, from, to_rank, to, bytes), (means, driver))
CODEC(static, ChaseOp, stream, rank, through_rank, through, bytes, stride_bytes, hops, result)
CODEC(static, SpinOp, stream, duration_ns)
CODEC(static, BarrierOp, communicator)
CODEC(static, RecordEventOp, stream, event)
CODEC(static, WaitEventOp, stream, event)
GROWN_CODEC(static, MarkerOp, (stream, label), (activity, edge))
CODEC(static, GemmOp, stream, a, b, c, m, n, k, batch, type, layout, math)
CODEC(static, ConvertOp, stream, from, into, count, from_type, into_type)
CODEC(static, OptimizerOp, stream, gradients, weights, state, count, type)
CODEC(static, Region, first, last)
GROWN_CODEC(static, Fill, (communicator, slice, count, type, op, collective, root), (ranks, signs))
GROWN_CODEC(static, DataCheck, (collective, communicator, slice, count, type, op, root),
            (distance, first_index, ranks))

static void to_json(json& out, const GroupBeginOp&) {
  out = json::object();
}
static void from_json(const json&, GroupBeginOp&) {}
static void to_json(json& out, const GroupEndOp&) {
  out = json::object();
}
static void from_json(const json&, GroupEndOp&) {}

namespace {

// Name of each alternative of Operation::what, in the variant's order.
constexpr std::array k_operation_kinds{
    "collective",   "send",       "recv",   "copy",  "spin", "barrier", "group_begin", "group_end",
    "record_event", "wait_event", "marker", "chase", "gemm", "convert", "optimizer"};

template <std::size_t I = 0>
void read_operation(const json& in, const std::string& kind, Operation& operation) {
  using Variant = decltype(Operation::what);
  static_assert(k_operation_kinds.size() == std::variant_size_v<Variant>);
  if constexpr (I == std::variant_size_v<Variant>) {
    base::raise(base::Errc::invalid_argument, "'{}' is not a kind of operation", kind);
  } else if (kind == k_operation_kinds[I]) {
    operation.what = in.get<std::variant_alternative_t<I, Variant>>();
  } else {
    read_operation<I + 1>(in, kind, operation);
  }
}

} // namespace

static void to_json(json& out, const Operation& operation) {
  std::visit([&](const auto& what) { out = what; }, operation.what);
  out["kind"] = k_operation_kinds[operation.what.index()];
  if (!operation.ranks.empty())
    out["ranks"] = operation.ranks;
}

static void from_json(const json& in, Operation& operation) {
  read_operation(in, in.at("kind").get<std::string>(), operation);
  if (in.contains("ranks"))
    in.at("ranks").get_to(operation.ranks);
}

CODEC(EXPORTED, Schedule, streams, communicators, buffers, operations, timed, capture, fills,
      checks)
CODEC(EXPORTED, Setting, name, value)
CODEC(EXPORTED, ProcessSettings, common, per_rank)
GROWN_CODEC(EXPORTED, Timing, (warmups, iterations, batches, budget_ns),
            (mode, target_interval, max_batches))
GROWN_CODEC(EXPORTED, CellLabel, (workload, bytes, type, op, placement, root), (variant))
CODEC(EXPORTED, Cell, label, settings, schedule, timing, deadline_ns)
GROWN_CODEC(EXPORTED, TrialSpec,
            (id, name, replicate, backend, ranks, seed, process, libraries, cells,
             startup_deadline_ns, teardown_deadline_ns),
            (purpose, instruments, trace, trace_folder, trace_run_id, tested_libraries,
             cpu_affinity))
CODEC(EXPORTED, Outcome, kind, reason, ranks)
CODEC(EXPORTED, Choice, cell, function, type, count, algorithm, protocol, channels, peer)
CODEC(EXPORTED, Evidence, rank, log, profiler, choices)
CODEC(EXPORTED, Library, name, version, path, problem)
CODEC(EXPORTED, MemoryUse, rank, what, bytes)
GROWN_CODEC(EXPORTED, WorkerRecord,
            (ranks, host, pid, last_phase, last_cell, position, stack, cpus, exit, output_tail),
            (libraries, cpus_asked, memory))
GROWN_CODEC(EXPORTED, Gpu,
            (index, name, uuid, pci_bus_id, compute_capability, memory_bytes, free_bytes,
             multiprocessors, nvlinks, compute_mode),
            (mps))
GROWN_CODEC(EXPORTED, Host,
            (hostname, boot_id, cpu_model, cpus_allowed, memory_bytes, kernel, gpus, libraries,
             worker_version, nvidia_problem),
            (topology, contradictions))
CODEC(EXPORTED, RankPlace, rank, host, device)
CODEC(static, RankVariable, ranks, name, value)
GROWN_CODEC(EXPORTED, RunHeader,
            (run_id, started_utc, ncclprobe_version, mpi_version, argv, seed, backend,
             backend_reason, synthetic, hosts, ranks, environment, pinned, planned_trials),
            (plan, forced, environment_of_ranks, files))

void to_json(json& out, const CheckResult& value) {
  out = {{"checked", value.kind == CheckResult::Kind::checked},
         {"elements", value.elements},
         {"wrong", value.wrong},
         {"first_wrong", value.first_wrong},
         {"why_unchecked", value.why_unchecked},
         {"launches", value.launches},
         {"method", value.method}};
}

void from_json(const json& in, CheckResult& value) {
  value.kind =
      in.at("checked").get<bool>() ? CheckResult::Kind::checked : CheckResult::Kind::unchecked;
  in.at("elements").get_to(value.elements);
  in.at("wrong").get_to(value.wrong);
  in.at("first_wrong").get_to(value.first_wrong);
  in.at("why_unchecked").get_to(value.why_unchecked);
  in.at("launches").get_to(value.launches);
  in.at("method").get_to(value.method);
}

void to_json(json& out, const Condition& value) {
  out = {{"rank", value.rank},
         {"when", std::string(to_string(value.when))},
         {"at_ns", value.at_ns},
         {"sm_clock_mhz", value.sm_clock_mhz},
         {"memory_clock_mhz", value.memory_clock_mhz},
         {"temperature_c", value.temperature_c},
         {"power_mw", value.power_mw},
         {"throttle_reasons", value.throttle_reasons}};
  auto grown = [&out](const char* name, const auto& reading) {
    if (reading)
      out[name] = *reading;
  };
  grown("memory_used_bytes", value.memory_used_bytes);
  grown("nvlink_sent_bytes", value.nvlink_sent_bytes);
  grown("nvlink_received_bytes", value.nvlink_received_bytes);
  grown("pcie_sent_mb_per_s", value.pcie_sent_mb_per_s);
  grown("pcie_received_mb_per_s", value.pcie_received_mb_per_s);
  grown("processes", value.processes);
  grown("corrected_errors", value.corrected_errors);
  grown("uncorrected_errors", value.uncorrected_errors);
}

void from_json(const json& in, Condition& value) {
  in.at("rank").get_to(value.rank);
  value.when = base::value_or_throw(parse_enum<Condition::When>(
      in.at("when").get_ref<const std::string&>(), "time of a condition"));
  in.at("at_ns").get_to(value.at_ns);
  in.at("sm_clock_mhz").get_to(value.sm_clock_mhz);
  in.at("memory_clock_mhz").get_to(value.memory_clock_mhz);
  in.at("temperature_c").get_to(value.temperature_c);
  in.at("power_mw").get_to(value.power_mw);
  in.at("throttle_reasons").get_to(value.throttle_reasons);
  auto grown = [&in](const char* name, auto& reading) {
    if (in.contains(name))
      in.at(name).get_to(reading);
  };
  grown("memory_used_bytes", value.memory_used_bytes);
  grown("nvlink_sent_bytes", value.nvlink_sent_bytes);
  grown("nvlink_received_bytes", value.nvlink_received_bytes);
  grown("pcie_sent_mb_per_s", value.pcie_sent_mb_per_s);
  grown("pcie_received_mb_per_s", value.pcie_received_mb_per_s);
  grown("processes", value.processes);
  grown("corrected_errors", value.corrected_errors);
  grown("uncorrected_errors", value.uncorrected_errors);
}

template <typename T>
base::Result<T> parse_json(std::string_view text) {
  try {
    return json::parse(text).get<T>();
  } catch (const json::exception& error) {
    return base::fail(base::Errc::protocol, "{}", error.what());
  } catch (const base::Exception& error) {
    return base::fail(base::Errc::protocol, "{}", error.error().text());
  }
}

template <typename T>
std::string write_json(const T& value) {
  // Captured output and foreign names may hold bytes that are no UTF-8.
  return json(value).dump(-1, ' ', false, json::error_handler_t::replace);
}

#define INSTANTIATE(Type)                                                                          \
  template base::Result<Type> parse_json<Type>(std::string_view);                                  \
  template std::string write_json<Type>(const Type&);
INSTANTIATE(Schedule)
INSTANTIATE(ProcessSettings)
INSTANTIATE(Cell)
INSTANTIATE(TrialSpec)
INSTANTIATE(Outcome)
INSTANTIATE(CheckResult)
INSTANTIATE(Evidence)
INSTANTIATE(WorkerRecord)
INSTANTIATE(Host)
INSTANTIATE(Survey)
INSTANTIATE(RunHeader)

} // namespace ncclprobe::model
