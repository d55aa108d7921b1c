// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/bandwidth.h"

namespace ncclprobe::analysis {

std::optional<double> algbw_gb_per_s(std::uint64_t bytes, double time_ns) {
  if (!(time_ns > 0))
    return std::nullopt;
  return static_cast<double>(bytes) / time_ns; // bytes per nanosecond = 1e9 bytes per second
}

std::optional<double> busbw_factor(model::Collective collective, int ranks) {
  if (ranks < 1)
    return std::nullopt;
  double n = ranks;
  switch (collective) {
  case model::Collective::all_reduce:
    return 2 * (n - 1) / n;
  case model::Collective::reduce_scatter:
  case model::Collective::all_gather:
  case model::Collective::all_to_all:
  case model::Collective::gather:
  case model::Collective::scatter:
  case model::Collective::all_to_all_v:
  case model::Collective::hypercube:
    return (n - 1) / n;
  case model::Collective::broadcast:
  case model::Collective::reduce:
  case model::Collective::send_recv:
    return 1.0;
  }
  return std::nullopt;
}

std::optional<double> busbw_factor(const model::CellLabel& label, int ranks) {
  const auto* one = label.collective();
  return one ? busbw_factor(one->collective, ranks) : std::nullopt;
}

} // namespace ncclprobe::analysis
