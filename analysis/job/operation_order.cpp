// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/operation_order.h"

#include <algorithm>

namespace ncclprobe::analysis::job {

std::vector<std::uint32_t> operation_order(const timeline::RankTrace& trace) {
  std::vector<bool> is_known(UINT16_MAX + 1);
  for (const trace::CommunicatorRow& row : trace.communicators)
    is_known[row.id] = true;
  std::vector<std::uint32_t> order;
  order.reserve(trace.nccl_operations.size());
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i)
    if (is_known[trace.nccl_operations[i].communicator])
      order.push_back(static_cast<std::uint32_t>(i));
  auto id_of = [&](std::uint32_t row) { return trace.nccl_operations[row].id; };
  if (!std::ranges::is_sorted(order, {}, id_of))
    std::ranges::stable_sort(order, {}, id_of);
  return order;
}

} // namespace ncclprobe::analysis::job
