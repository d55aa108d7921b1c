// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/rdma.h"

#include "base/text_files.h"

namespace ncclprobe::system {

using namespace base;
namespace {

// "4: ACTIVE" -> "ACTIVE"
std::string after_number(const std::string& text) {
  std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// A table has a place for each possible entry; most are all zeros.
int gids_set(const std::filesystem::path& folder) {
  int set = 0;
  for (const std::string& name : names_in(folder)) {
    std::string gid = text_of(folder / name);
    if (gid.find_first_not_of("0:") != std::string::npos)
      ++set;
  }
  return set;
}

} // namespace

std::vector<model::RdmaPort> rdma_ports(const std::filesystem::path& root) {
  std::vector<model::RdmaPort> found;
  std::filesystem::path devices = root / "sys/class/infiniband";
  for (const std::string& device : names_in(devices)) {
    std::filesystem::path ports = devices / device / "ports";
    for (const std::string& port : names_in(ports)) {
      auto number = number_of<int>(port);
      if (!number)
        continue;
      std::filesystem::path folder = ports / port;
      found.push_back({device, *number, after_number(text_of(folder / "state")),
                       text_of(folder / "rate"), text_of(folder / "link_layer"),
                       gids_set(folder / "gids")});
    }
  }
  return found;
}

} // namespace ncclprobe::system
