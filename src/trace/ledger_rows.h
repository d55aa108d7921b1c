// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/table.h"

#include <concepts>
#include <cstdint>
#include <tuple>

// What the trace records about itself.
namespace ncclprobe::trace {

enum class LossKind : std::uint8_t {
  dropped_by_library, // CUPTI had no buffer
  no_times,           // kernels delivered without or with reversed times
  own_queue,          // our own buffers were full
  file,               // could not be written
  plugin,             // events of NCCL: no space, or impossible times
  launches_seen,      // no loss: the host's launches, to compare with the delivered kernels
  kernels_delivered,  // no loss: delivered kernels with times
  unknown_record,     // of an unknown kind or size
  calls_told,         // no loss: calls whose operation CUPTI itself reported (level full)
  calls_unlike,       // no loss: those whose time indicates another operation
  ranges,             // NVTX ranges: no space
};
// /loss: the ledger; one row for each kind that is not zero, and always the two counts
struct LossRow {
  static constexpr Table k_table = Table::loss;
  std::uint64_t count = 0;
  std::uint64_t at_ns = 0; // when it was counted
  LossKind kind = LossKind::dropped_by_library;
};
template <std::same_as<LossRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("kind", &R::kind,
                   "kind of loss; launches_seen, kernels_delivered, calls_told and "
                   "calls_unlike are counts without loss"),
      base::column("count", &R::count, "number of losses, or the value of a count without loss"),
      base::column("at_ns", &R::at_ns, "when they were counted, ns; 0: unknown"));
}

// /long_duration: lengths that exceed 32 bits
struct LongRow {
  static constexpr Table k_table = Table::long_duration;
  std::uint64_t start_ns = 0; // of the row it belongs to
  std::uint64_t duration_ns = 0;
  Table table = Table::kernel;
};
template <std::same_as<LongRow> R>
constexpr auto columns(R) {
  return std::tuple(base::column("table", &R::table, "table of the row that it belongs to"),
                    base::column("start_ns", &R::start_ns, "start_ns of the row it belongs to"),
                    base::column("duration_ns", &R::duration_ns, "real duration of that row, ns"));
}

// The largest assumed difference between two hosts' clock rates.
inline constexpr double k_most_drift = 1e-4;

enum class ClockKind : std::uint8_t {
  host,        // another host's clock against the leader's
  globaltimer, // a GPU's %globaltimer against its host's clock
};
// /clock: readings of two clocks: reference = own + offset, within the error
struct ClockRow {
  static constexpr Table k_table = Table::clock;
  std::uint64_t at_ns = 0; // on the own clock, middle of the reading
  std::int64_t offset_ns = 0;
  std::uint64_t error_ns = 0; // half the envelope: the largest possible error of the offset
  std::uint64_t round_trip_ns = 0;
  ClockKind kind = ClockKind::host;
};
template <std::same_as<ClockRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("kind", &R::kind,
                   "clock and its reference: host: this host's and the leader's; globaltimer: a "
                   "GPU's and its host's"),
      base::column("at_ns", &R::at_ns, "time of the reading on that clock, ns"),
      base::column("offset_ns", &R::offset_ns,
                   "offset to add to that clock's times to get the reference's, ns"),
      base::column("error_ns", &R::error_ns, "largest possible error of the offset, ns"),
      base::column("round_trip_ns", &R::round_trip_ns, "duration of the reading, ns"));
}

// Values of FactRow::name that readers look for.
inline constexpr std::string_view k_missing = "missing"; // requested data that is missing
inline constexpr std::string_view k_level = "level";     // of a captured job
inline constexpr std::string_view k_kept = "kept";       // only this part of a captured job
inline constexpr std::string_view k_kernels =
    "kernels"; // how kernels of a captured job are recorded
inline constexpr std::string_view k_left_out = "left_out"; // operations, after a limit
// /provenance: the programs and devices that produced a rank's rows; a name may occur more than
// once
struct FactRow {
  static constexpr Table k_table = Table::provenance;
  TextId name;
  TextId value;
};
template <std::same_as<FactRow> R>
constexpr auto columns(R) {
  return std::tuple(
      base::column("name", &R::name,
                   "nccl, driver, gpu, gpu_uuid, ..., or a variable NCCL_*; row in /strings"),
      base::column("value", &R::value, "its value, row in /strings"));
}

} // namespace ncclprobe::trace
