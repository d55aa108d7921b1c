// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"

#include <cstdint>
#include <optional>
#include <vector>

// Reconciles what was launched with what came: every kernel is delivered, or its loss has a name.
namespace ncclprobe::analysis::timeline {

struct Ledger {
  std::optional<std::uint64_t> launches_seen;     // nothing: nobody counted
  std::optional<std::uint64_t> kernels_delivered; // likewise
  std::uint64_t dropped_by_library = 0;
  std::uint64_t no_times = 0;
  std::uint64_t own_queue = 0;
  std::uint64_t file = 0;
  std::uint64_t plugin = 0; // events of NCCL, no kernels
  std::uint64_t unknown_record = 0;
  // Calls of which CUPTI itself told the operation, and those whose time means another one.
  std::uint64_t calls_told = 0;
  std::uint64_t calls_unlike = 0;

  void add(const trace::LossRow& row);

  // Of what may have been kernels; the library does not tell the kinds of what it dropped.
  std::uint64_t named_losses() const;
  // Launches that neither came nor are among the losses. Nothing if nobody counted launches.
  std::optional<std::uint64_t> unexplained() const;
  // Kernels beyond the launches: the count of launches is wrong. Nothing likewise.
  std::optional<std::uint64_t> surplus() const;
};

Ledger ledger_of(const std::vector<trace::LossRow>& rows);

} // namespace ncclprobe::analysis::timeline
