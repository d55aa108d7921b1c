// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/network_address.h"

#include <algorithm>
#include <functional>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace ncclprobe::host {

namespace {

std::string loopback_address(int rank) {
  constexpr int k_ranks_per_block = 250; // avoids .0 and .255
  return fmt::format("127.1.{}.{}", rank / k_ranks_per_block % 256, rank % k_ranks_per_block + 1);
}

std::string numeric(const sockaddr& address) {
  char text[NI_MAXHOST] = {};
  socklen_t length = address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (getnameinfo(&address, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0)
    return "";
  return text;
}

// The first accepted address of the family on an interface that is up; empty if there is none.
std::string first_address(int family, const std::function<bool(const ifaddrs&)>& accepts) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0)
    return "";
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, freeifaddrs);
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family ||
        (one->ifa_flags & IFF_UP) == 0)
      continue;
    if (accepts(*one))
      return numeric(*one->ifa_addr);
  }
  return "";
}

} // namespace

std::string address_of_rank(const backend::Options& options, int global_rank) {
  if (auto found = options.environment.find("GLOO_SOCKET_IFNAME");
      found != options.environment.end() && !found->second.empty()) {
    auto named = [&](const ifaddrs& one) { return one.ifa_name == found->second; };
    std::string address = first_address(AF_INET, named);
    if (address.empty())
      address = first_address(AF_INET6, named);
    if (address.empty())
      raise(Errc::unavailable, "GLOO_SOCKET_IFNAME={}: no such network interface with an address",
            found->second);
    return address;
  }
  const std::vector<int>& hosts = options.host_of_rank;
  if (std::ranges::adjacent_find(hosts, std::not_equal_to<>()) == hosts.end())
    return loopback_address(global_rank);
  std::string address = first_address(
      AF_INET, [](const ifaddrs& one) { return (one.ifa_flags & IFF_LOOPBACK) == 0; });
  if (address.empty())
    throw Exception({Errc::unavailable, "this host has no IPv4 address that others could reach",
                     "name an interface with GLOO_SOCKET_IFNAME"});
  return address;
}

} // namespace ncclprobe::host
