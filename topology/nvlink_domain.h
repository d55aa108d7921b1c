// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <compare>
#include <optional>
#include <string>

namespace ncclprobe::topology {

// GPUs of several hosts that reach each other over NVLink (MNNVL): those that have joined the same
// cluster and clique, by NCCL's rule (mnnvl.cc).
struct NvlinkDomain {
  std::string cluster_uuid;
  int clique = 0;
  auto operator<=>(const NvlinkDomain&) const = default;
};

// Nothing if the GPU has not joined a fabric, or if its fabric ends at its host: then the UUID is
// zero.
std::optional<NvlinkDomain> nvlink_domain(const Gpu& gpu);

} // namespace ncclprobe::topology
