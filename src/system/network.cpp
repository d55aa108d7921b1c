// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/network.h"

#include "base/text_files.h"

#include <algorithm>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace ncclprobe::system {

using namespace base;
namespace {

std::string address_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address == nullptr)
    return "";
  if (address->sa_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  else if (address->sa_family == AF_INET6)
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text,
              sizeof text);
  return text;
}

} // namespace

std::vector<model::NetworkInterface> network_interfaces(const std::filesystem::path& root) {
  std::vector<model::NetworkInterface> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    return found;
  // Keeps the kernel's order, in which NCCL chooses.
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    auto known =
        std::ranges::find_if(found, [&](const auto& one) { return one.name == entry->ifa_name; });
    if (known == found.end()) {
      model::NetworkInterface one;
      one.name = entry->ifa_name;
      one.up = (entry->ifa_flags & IFF_UP) != 0;
      one.running = (entry->ifa_flags & IFF_RUNNING) != 0;
      one.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
      std::filesystem::path folder = root / "sys/class/net" / one.name;
      if (auto speed = number_of<int>(text_of(folder / "speed")); speed && *speed > 0)
        one.speed_mbit_per_s = speed;
      one.mtu_bytes = number_of<int>(text_of(folder / "mtu")).value_or(0);
      known = found.insert(found.end(), std::move(one));
    }
    if (std::string address = address_text(entry->ifa_addr); !address.empty())
      known->addresses.push_back(std::move(address));
  }
  ::freeifaddrs(first);
  return found;
}

std::vector<std::string> addresses_in_hosts_file(const std::string& name,
                                                 const std::filesystem::path& root) {
  std::vector<std::string> addresses;
  for (const std::string& line : lines_of(root / "etc/hosts")) {
    std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), name) != words.end())
      addresses.push_back(words.front());
  }
  return addresses;
}

} // namespace ncclprobe::system
