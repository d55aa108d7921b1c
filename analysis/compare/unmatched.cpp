// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/compare/unmatched.h"

#include <array>

namespace ncclprobe::analysis::compare {
namespace {

constexpr std::array k_reasons{
    Reason::other_ranks,     Reason::other_type,   Reason::other_size,   Reason::other_operation,
    Reason::other_placement, Reason::other_timing, Reason::other_setting};

// The same for all cells that differ in this alone.
CellKey without(CellKey key, Reason thing) {
  switch (thing) {
  case Reason::other_ranks:
    key.ranks = 0;
    break;
  case Reason::other_type:
    key.label.type = {};
    break;
  case Reason::other_size:
    key.label.bytes = 0;
    break;
  case Reason::other_operation:
    key.label.op = {};
    break;
  case Reason::other_placement:
    key.label.placement = {};
    break;
  case Reason::other_timing:
    key.timing = {};
    break;
  case Reason::other_setting:
    key.setting.clear();
    break;
  default:
    break;
  }
  return key;
}

} // namespace

CellKeys::CellKeys(const std::vector<const ComparedRun*>& runs) {
  for (const ComparedRun* run : runs)
    for (const RunCell& cell : run->cells)
      keys_.insert(cell.key);
}

Reason CellKeys::why_not(const CellKey& key) const {
  if (without_.empty())
    for (const CellKey& one : keys_)
      for (Reason reason : k_reasons)
        without_[reason].insert(without(one, reason));
  for (const auto& [reason, keys] : without_)
    if (keys.contains(without(key, reason)))
      return reason;
  return Reason::not_measured;
}

} // namespace ncclprobe::analysis::compare
