// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/interface_list.h"

#include "base/split.h"

namespace ncclprobe::workload {

bool matches_interface_list(std::string_view list, std::string_view name) {
  bool unwanted = list.starts_with('^');
  list.remove_prefix(unwanted ? 1 : 0);
  bool exact = list.starts_with('=');
  list.remove_prefix(exact ? 1 : 0);
  for (std::string_view one : base::split(list, ',')) {
    // A port may follow a name: "eth0:1"; for sockets NCCL ignores it.
    std::string_view wanted = one.substr(0, one.find(':'));
    if (!wanted.empty() && (exact ? name == wanted : name.starts_with(wanted)))
      return !unwanted;
  }
  return unwanted;
}

} // namespace ncclprobe::workload
