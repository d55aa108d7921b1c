// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/rank_gpu.h"

#include <algorithm>

namespace ncclprobe::analysis {

const model::Gpu* gpu_of(const model::RunHeader& header, const model::RankPlace& place) {
  if (place.host < 0 || place.host >= static_cast<int>(header.hosts.size()))
    return nullptr;
  const auto& gpus = header.hosts[static_cast<std::size_t>(place.host)].gpus;
  auto found = std::find_if(gpus.begin(), gpus.end(),
                            [&](const model::Gpu& gpu) { return gpu.index == place.device; });
  return found == gpus.end() ? nullptr : &*found;
}

} // namespace ncclprobe::analysis
