// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/link_health.h"
#include "topology/machine.h"

#include <string>
#include <vector>

// What a reader of a host's topology should know beside the picture.
namespace ncclprobe::topology {

enum class FindingKind {
  unknown,  // what no source told, and what follows from that
  degraded, // a link or GPU that is less than it could be
  remark,
};

constexpr auto enum_names(FindingKind) {
  using E = std::pair<FindingKind, std::string_view>;
  return std::array{E{FindingKind::unknown, "unknown"}, E{FindingKind::degraded, "degraded"},
                    E{FindingKind::remark, "remark"}};
}

struct Finding {
  FindingKind kind = FindingKind::remark;
  std::string text;
  bool operator==(const Finding&) const = default;
};

std::vector<Finding> findings(const Host& host, Load load);

} // namespace ncclprobe::topology
