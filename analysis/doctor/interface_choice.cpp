// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/interface_choice.h"

#include "workload/interface_list.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ncclprobe::analysis::doctor {
namespace {

using model::NetworkInterface;

constexpr std::size_t k_most = 16; // MAX_IFS

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

bool has_address(const NetworkInterface& one, bool ipv6) {
  return std::any_of(one.addresses.begin(), one.addresses.end(), [&](const std::string& address) {
    return is_ipv6(address) == ipv6 && address != "::1";
  });
}

std::vector<const NetworkInterface*> matching(const std::vector<NetworkInterface>& all,
                                              std::string_view list, const std::string& family) {
  std::vector<const NetworkInterface*> found;
  for (bool ipv6 : {false, true}) { // the order in which the C library lists addresses
    if ((ipv6 && family == "AF_INET") || (!ipv6 && family == "AF_INET6"))
      continue;
    for (const NetworkInterface& one : all) {
      bool known = std::find(found.begin(), found.end(), &one) != found.end();
      if (!known && found.size() < k_most && one.running && has_address(one, ipv6) &&
          workload::matches_interface_list(list, one.name))
        found.push_back(&one);
    }
  }
  return found;
}

} // namespace

InterfaceChoice choose_interfaces(const std::vector<NetworkInterface>& all,
                                  const std::string& names, const std::string& family) {
  if (names.size() > 1)
    return {matching(all, names, family), "NCCL_SOCKET_IFNAME=" + names};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> k_turns{
      {{"ib", "named ib..."},
       {"^docker,lo,virbr", "all but docker, lo and virbr"},
       {"docker", "docker, as there is no other"},
       {"lo", "lo, as there is no other"},
       {"virbr", "virbr, as there is no other"}}};
  for (const auto& [list, rule] : k_turns)
    if (auto found = matching(all, list, family); !found.empty())
      return {found, std::string(rule)};
  return {{}, "no running interface has an address"};
}

std::string first_address(const NetworkInterface& one, const std::string& family) {
  for (bool ipv6 : {false, true})
    for (const std::string& address : one.addresses)
      if (is_ipv6(address) == ipv6 && address != "::1" && !(ipv6 && family == "AF_INET") &&
          !(!ipv6 && family == "AF_INET6"))
        return address;
  return "";
}

BootstrapAddress bootstrap_address(const std::vector<NetworkInterface>& all,
                                   const model::Survey& survey, const std::string& backend) {
  auto value = [&](const char* name) {
    const model::Setting* setting = survey.variable(name);
    return setting == nullptr ? std::string() : setting->value;
  };
  bool gloo = backend == "host";
  std::string family = gloo ? "" : value("NCCL_SOCKET_FAMILY");
  std::string named = value("GLOO_SOCKET_IFNAME");
  InterfaceChoice choice = !gloo ? choose_interfaces(all, value("NCCL_SOCKET_IFNAME"), family)
                           : named.empty() ? choose_interfaces(all, "^lo,docker,virbr", "AF_INET")
                                           : choose_interfaces(all, "=" + named, "");
  if (choice.interfaces.empty())
    return {};
  return {choice.interfaces.front(), first_address(*choice.interfaces.front(), family)};
}

} // namespace ncclprobe::analysis::doctor
