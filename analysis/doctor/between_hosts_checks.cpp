// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D18 with several hosts: checks that their interfaces are on one network and carry data.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/interface_choice.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

// The interface at which other hosts would connect to a host, for each surveyed host.
struct HostAddress {
  const model::Survey* survey;
  const model::NetworkInterface* interface;
  std::string address;

  std::string text() const {
    return fmt::format("{}: {} {}, MTU {}", survey->inventory.hostname, interface->name, address,
                       interface->mtu_bytes);
  }
};

std::vector<HostAddress> bootstrap_addresses(const Case& one) {
  std::vector<HostAddress> addresses;
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host)
      continue;
    BootstrapAddress place = bootstrap_address(survey.host->interfaces, survey, one.backend);
    if (place.interface != nullptr)
      addresses.push_back({&survey, place.interface, place.address});
  }
  return addresses;
}

std::vector<std::string> hosts_in(const std::vector<HostAddress>& addresses) {
  std::vector<std::string> hosts;
  for (const HostAddress& one : addresses)
    hosts.push_back(one.survey->inventory.hostname);
  return hosts;
}

std::vector<std::string> lines_of(const std::vector<HostAddress>& addresses) {
  std::vector<std::string> lines;
  for (const HostAddress& one : addresses)
    lines.push_back(one.text());
  return lines;
}

// If two hosts have the same address, each of them connects to itself. Bridges of containers and
// virtual machines have the same addresses everywhere.
void check_addresses(const std::vector<HostAddress>& addresses, CheckResults& into) {
  std::map<std::string, std::vector<HostAddress>> by_address;
  for (const HostAddress& one : addresses)
    if (!one.address.empty())
      by_address[one.address].push_back(one);
  for (const auto& [address, same] : by_address)
    if (same.size() > 1 && !address.starts_with("127."))
      into.add({"D18",
                CheckStatus::fail,
                What("same_address", "several hosts have the same address, {address}",
                     {{"address", address}}),
                lines_of(same),
                "each host connects to itself: the start hangs or ends with 'connection refused'",
                "export NCCL_SOCKET_IFNAME=NAME (Gloo: GLOO_SOCKET_IFNAME) with the interface that "
                "the hosts share (ip -br addr)",
                {},
                hosts_in(same)});
}

void check_mtu(const std::vector<HostAddress>& addresses, CheckResults& into) {
  std::set<int> sizes;
  for (const HostAddress& one : addresses)
    if (one.interface->mtu_bytes > 0)
      sizes.insert(one.interface->mtu_bytes);
  if (sizes.size() < 2)
    return;
  into.add({"D18",
            CheckStatus::warn,
            {"mtu_differs",
             "hosts send packets of different sizes (MTU)",
             {{"smallest", *sizes.begin()}}},
            lines_of(addresses),
            "if a device between them drops large packets, small messages work and large ones "
            "hang; the smaller size is also slower",
            "ip link set dev NAME mtu {smallest} where it differs"});
}

// Programs that listen under a host's name may get the loopback address, which no other host
// reaches.
void check_names(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host || survey.host->name_addresses.empty())
      continue;
    const std::vector<std::string>& addresses = survey.host->name_addresses;
    bool loopback_alone =
        std::all_of(addresses.begin(), addresses.end(), [](const std::string& each) {
          return each.starts_with("127.") || each == "::1";
        });
    if (loopback_alone)
      into.add_host(
          survey,
          {"D18",
           CheckStatus::warn,
           {"name_is_loopback", "/etc/hosts maps the host's own name to the loopback address"},
           {fmt::format("{} is {} there", survey.inventory.hostname, fmt::join(addresses, ", "))},
           "NCCL and Gloo choose by interface, but programs that use this name "
           "(MASTER_ADDR, tcp://NAME) listen where no other host can connect",
           "set the name's address in /etc/hosts to the host's network address, "
           "or use the address itself as MASTER_ADDR"});
  }
}

// Different interface names are allowed, but often a mistake.
void check_same_interfaces(const std::vector<HostAddress>& addresses, CheckResults& into) {
  std::set<std::string> names;
  for (const HostAddress& one : addresses)
    names.insert(one.interface->name);
  if (names.size() > 1)
    into.add({"D18",
              CheckStatus::warn,
              {"interface_names_differ", "ranks would use network interfaces with different names"},
              lines_of(addresses),
              "if they are not on one network, the start hangs",
              "export NCCL_SOCKET_IFNAME=NAME on all ranks, with an interface that they share"});
}

// Gloo's configured interface must exist. NCCL's choice is checked on every host.
void check_gloo(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    const model::HostSurvey* host = one.host_of(survey);
    if (one.backend != "host" || host == nullptr ||
        bootstrap_address(host->interfaces, survey, one.backend).interface != nullptr)
      continue;
    const model::Setting* named = survey.variable("GLOO_SOCKET_IFNAME");
    std::vector<std::string> seen;
    for (const model::NetworkInterface& each : host->interfaces)
      seen.push_back(fmt::format("there is {} {}{}", each.name, fmt::join(each.addresses, " "),
                                 each.running ? "" : " (not running)"));
    into.add(survey,
             {"D18", CheckStatus::fail,
              named != nullptr ? What("gloo_interface_not_running",
                                      "GLOO_SOCKET_IFNAME={name} is not a running interface",
                                      {{"name", named->value}})
                               : What("no_interface_for_gloo",
                                      "no running network interface is reachable from other hosts"),
              seen, "Gloo does not start",
              named != nullptr ? "unset GLOO_SOCKET_IFNAME, or name one of these"
                               : "ip addr; ip link set NAME up"});
  }
}

std::string host_of_rank(const Case& one, int rank) {
  for (const model::Survey& survey : one.surveys)
    if (std::find(survey.ranks.begin(), survey.ranks.end(), rank) != survey.ranks.end())
      return survey.inventory.hostname;
  return "?";
}

void check_connections(const Case& one, CheckResults& into) {
  std::vector<std::string> broken;
  std::vector<int> ranks;
  std::vector<std::string> hosts;
  for (const Connection& connection : one.connections)
    if (!connection.problem.empty()) {
      std::string from = host_of_rank(one, connection.from_rank);
      broken.push_back(fmt::format("rank {} on {} to rank {} on {} at {}: {}", connection.from_rank,
                                   from, connection.to_rank, host_of_rank(one, connection.to_rank),
                                   connection.address, connection.problem));
      ranks.push_back(connection.from_rank);
      if (std::find(hosts.begin(), hosts.end(), from) == hosts.end())
        hosts.push_back(from);
    }
  bool gloo = one.backend == "host" && count_hosts(one) > 1;
  const char* library = gloo ? "Gloo" : "NCCL";
  const char* variable = gloo ? "GLOO_SOCKET_IFNAME" : "NCCL_SOCKET_IFNAME";
  if (!broken.empty())
    into.add({"D18", CheckStatus::fail,
              What("ranks_cannot_connect",
                   "ranks cannot connect over the interfaces that {library} would choose",
                   {{"library", library}, {"variable", variable}}),
              broken, "the start hangs until its retries are exhausted",
              "check links, firewalls and routes between these addresses (ip -br link; "
              "ip route get ADDRESS; nft list ruleset); or export {variable}=NAME",
              ranks, hosts});
  else if (!one.connections.empty())
    into.add({"D18", CheckStatus::ok,
              What("ranks_connected",
                   "{connections} connections between ranks over these interfaces carried data",
                   {{"connections", one.connections.size()}})});
}

} // namespace

void check_between_hosts(const Case& one, CheckResults& into) {
  check_connections(one, into);
  if (count_hosts(one) < 2)
    return;
  std::vector<HostAddress> addresses = bootstrap_addresses(one);
  check_addresses(addresses, into);
  check_mtu(addresses, into);
  check_names(one, into);
  check_same_interfaces(addresses, into);
  check_gloo(one, into);
}

} // namespace ncclprobe::analysis::doctor
