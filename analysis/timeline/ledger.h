// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"

#include "base/fields.h"

#include <cstdint>
#include <optional>
#include <vector>

// Compares launches with delivered rows: every kernel is delivered, or its loss has a name.
namespace ncclprobe::analysis::timeline {

struct Ledger {
  std::optional<std::uint64_t> launches_seen;     // nothing: not counted
  std::optional<std::uint64_t> kernels_delivered; // nothing: not counted
  std::uint64_t dropped_by_library = 0;
  std::uint64_t no_times = 0;
  std::uint64_t own_queue = 0;
  std::uint64_t file = 0;
  std::uint64_t plugin = 0; // events of NCCL, no kernels
  std::uint64_t unknown_record = 0;
  // Calls whose operation CUPTI itself reported, and those whose time indicates another one.
  std::uint64_t calls_told = 0;
  std::uint64_t calls_unlike = 0;
  std::uint64_t ranges = 0; // NVTX ranges, no kernels

  void add(const trace::LossRow& row);

  // Losses that may have been kernels; the library does not report the kinds of dropped records.
  std::uint64_t named_losses() const;
  // Launches that neither arrived nor are among the losses. Nothing if launches were not counted.
  std::optional<std::uint64_t> unexplained() const;
  // Kernels beyond the launches: the count of launches is wrong. Nothing if launches were not
  // counted.
  std::optional<std::uint64_t> surplus() const;
};
NCCLPROBE_FIELDS(Ledger, launches_seen, kernels_delivered, dropped_by_library, no_times, own_queue,
                 file, plugin, unknown_record, calls_told, calls_unlike, ranges)

Ledger ledger_of(const std::vector<trace::LossRow>& rows);

} // namespace ncclprobe::analysis::timeline
