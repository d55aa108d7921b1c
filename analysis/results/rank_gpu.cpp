// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/results/rank_gpu.h"

#include <algorithm>

namespace ncclprobe::analysis {

const model::CudaDevice* gpu_of(const model::RunHeader& header, const model::RankPlace& place) {
  if (place.host < 0 || place.host >= std::ssize(header.hosts))
    return nullptr;
  const auto& gpus = header.hosts[place.host].gpus;
  auto found = std::ranges::find_if(
      gpus, [&](const model::CudaDevice& gpu) { return gpu.index == place.device; });
  return found == gpus.end() ? nullptr : &*found;
}

} // namespace ncclprobe::analysis
