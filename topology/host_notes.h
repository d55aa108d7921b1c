// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "topology/link_health.h"

#include <string>
#include <vector>

// What a reader of a host's topology should know in addition to the picture.
namespace ncclprobe::topology {

enum class NoteKind {
  unknown,  // missing facts, and their consequences
  degraded, // a link or GPU below its capability
  remark,
};

struct HostNote {
  NoteKind kind = NoteKind::remark;
  std::string text;
  bool operator==(const HostNote&) const = default;
};

std::vector<HostNote> host_notes(const Host& host, Load load);

} // namespace ncclprobe::topology
