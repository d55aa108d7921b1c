// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/channel_times.h"

#include "analysis/timeline/rows_by_id.h"

#include <algorithm>
#include <map>
#include <vector>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::size_t k_ring = 64;
constexpr std::size_t k_half_a_ring = k_ring / 2; // so a few lost rows do no harm

} // namespace

std::uint64_t forget_overwritten(std::span<const trace::NcclOperationRow> operations,
                                 std::span<trace::NcclChannelRow> channels) {
  if (channels.empty())
    return 0;
  const RowsById by_id(operations);
  std::map<std::pair<std::uint16_t, std::uint8_t>, std::vector<trace::NcclChannelRow*>> rings;
  for (trace::NcclChannelRow& row : channels) {
    const std::uint32_t at = by_id.find(row.nccl_operation);
    if (at != RowsById::k_none && operations[at].kind == trace::NcclKind::collective &&
        row.start_gt != 0 && row.stop_gt != 0)
      rings[{operations[at].communicator, row.channel}].push_back(&row);
  }

  std::uint64_t forgotten = 0;
  for (auto& [ring, rows] : rings) {
    auto number = [](const trace::NcclChannelRow* row) { return row->nccl_operation; };
    if (!std::ranges::is_sorted(rows, {}, number))
      std::ranges::sort(rows, {}, number);
    std::uint64_t later_start = UINT64_MAX;
    std::uint64_t later_stop = UINT64_MAX;
    std::vector<bool> out_of_order(rows.size());
    for (std::size_t i = rows.size(); i-- > 0;) {
      if (i + k_half_a_ring < rows.size())
        if (const trace::NcclChannelRow& later = *rows[i + k_half_a_ring]; later.start_gt != 0) {
          later_start = std::min(later_start, later.start_gt);
          later_stop = std::min(later_stop, later.stop_gt);
        }
      out_of_order[i] = rows[i]->start_gt >= later_start || rows[i]->stop_gt >= later_stop;
      bool in_doubt = i + k_ring < rows.size() && out_of_order[i + k_ring];
      if (!out_of_order[i] && !in_doubt)
        continue;
      rows[i]->start_gt = rows[i]->stop_gt = 0;
      ++forgotten;
    }
  }
  return forgotten;
}

} // namespace ncclprobe::analysis::timeline
