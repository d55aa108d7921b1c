// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/nvlink_domain.h"

#include <cctype>

namespace ncclprobe::topology {
namespace {

// A recorded machine may have a word instead ("left-out"), the same one on all hosts.
bool is_uuid(const std::string& text) {
  std::size_t digits = 0;
  for (char c : text)
    if (c != '-') {
      if (!std::isxdigit(static_cast<unsigned char>(c)))
        return false;
      ++digits;
    }
  return digits == 32;
}

} // namespace

std::optional<NvlinkDomain> nvlink_domain(const Gpu& gpu) {
  const Fabric& fabric = gpu.fabric;
  if (fabric.state.value != "completed" || !fabric.cluster_uuid || !fabric.clique ||
      !is_uuid(*fabric.cluster_uuid) ||
      fabric.cluster_uuid->find_first_not_of("0-") == std::string::npos)
    return std::nullopt;
  return NvlinkDomain{*fabric.cluster_uuid, *fabric.clique};
}

} // namespace ncclprobe::topology
