// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/ledger.h"

namespace ncclprobe::analysis::timeline {

void Ledger::add(const trace::LossRow& row) {
  using Kind = trace::LossKind;
  auto count = [&](std::optional<std::uint64_t>& field) { field = field.value_or(0) + row.count; };
  switch (row.kind) {
  case Kind::dropped_by_library:
    dropped_by_library += row.count;
    break;
  case Kind::no_times:
    no_times += row.count;
    break;
  case Kind::own_queue:
    own_queue += row.count;
    break;
  case Kind::file:
    file += row.count;
    break;
  case Kind::plugin:
    plugin += row.count;
    break;
  case Kind::launches_seen:
    count(launches_seen);
    break;
  case Kind::kernels_delivered:
    count(kernels_delivered);
    break;
  case Kind::unknown_record:
    unknown_record += row.count;
    break;
  case Kind::calls_told:
    calls_told += row.count;
    break;
  case Kind::calls_unlike:
    calls_unlike += row.count;
    break;
  case Kind::ranges:
    ranges += row.count;
    break;
  }
}

std::uint64_t Ledger::named_losses() const {
  return dropped_by_library + no_times + own_queue + file + unknown_record;
}

std::optional<std::uint64_t> Ledger::unexplained() const {
  if (!launches_seen)
    return std::nullopt;
  std::uint64_t told = kernels_delivered.value_or(0) + named_losses();
  return *launches_seen > told ? *launches_seen - told : 0;
}

std::optional<std::uint64_t> Ledger::surplus() const {
  if (!launches_seen)
    return std::nullopt;
  std::uint64_t came = kernels_delivered.value_or(0);
  return came > *launches_seen ? came - *launches_seen : 0;
}

Ledger ledger_of(const std::vector<trace::LossRow>& rows) {
  Ledger ledger;
  for (const trace::LossRow& row : rows)
    ledger.add(row);
  return ledger;
}

} // namespace ncclprobe::analysis::timeline
