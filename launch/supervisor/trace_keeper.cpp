// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/trace_keeper.h"

#include "trace/rows.h"
#include "trace/spool_writer.h"

#include "base/log.h"
#include "store/run_file.h"
#include "store/trace_parts.h"

#include <vector>

namespace ncclprobe::launch {
namespace {

std::vector<trace::ClockRow> rows_of(std::span<const ClockReading> clock) {
  std::vector<trace::ClockRow> rows;
  for (const ClockReading& reading : clock) {
    trace::ClockRow row;
    row.at_ns = static_cast<std::uint64_t>(reading.at_ns);
    row.offset_ns = reading.offset_ns;
    row.error_ns = static_cast<std::uint64_t>(reading.error_ns);
    row.round_trip_ns = static_cast<std::uint64_t>(reading.round_trip_ns);
    row.kind = trace::ClockKind::host;
    rows.push_back(row);
  }
  return rows;
}

} // namespace

void keep_trace_with(const std::filesystem::path& run_file, const std::string& run_id,
                     model::TrialSpec& spec) {
  if (spec.trace == model::TraceLevel::off)
    return;
  spec.trace_folder = std::filesystem::absolute(store::parts_folder(run_file));
  spec.trace_run_id = run_id;
  // What is here is not fetched from the other hosts: of an attempt before, nothing may be.
  std::error_code none;
  for (int rank = 0; rank < spec.ranks; ++rank)
    std::filesystem::remove(store::trace_part_path(run_file, spec.id, rank), none);
}

std::vector<std::string> store_traces(const Layout& layout, int supervisor, int devices_per_worker,
                                      const model::TrialSpec& spec,
                                      std::span<const ClockReading> clock,
                                      const std::function<void()>& send_heartbeat) {
  auto run_file = std::filesystem::path(spec.trace_folder).replace_extension();
  const auto rows = rows_of(clock);
  std::vector<std::string> parts;
  for (const auto& placements : layout.workers_of(supervisor, spec.ranks, devices_per_worker)) {
    int first_rank = placements.front().rank;
    send_heartbeat();
    trace::SpoolWriter readings;
    std::filesystem::path path = store::trace_clock_path(run_file, spec.id, first_rank);
    std::error_code none; // of a trial before this one
    std::filesystem::remove(path, none);
    if (readings.open(path.string()))
      for (const RankPlacement& placement : placements)
        readings.append<trace::ClockRow>(placement.rank, rows);
    auto stored = store::store_trace_part(
        run_file, {spec.id, spec.trace_run_id, std::string(to_string(spec.trace))}, first_rank,
        send_heartbeat);
    if (!stored) {
      spdlog::error("trial {}: the trace of rank {} could not be stored: {}", spec.id, first_rank,
                    stored.error().text());
      continue;
    }
    for (const std::string& remark : stored->remarks)
      spdlog::warn("trial {}: {}", spec.id, remark);
    parts.push_back(store::trace_part_path(run_file, spec.id, first_rank).string());
  }
  return parts;
}

} // namespace ncclprobe::launch
