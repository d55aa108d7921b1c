// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// RDMA, and the interfaces that NCCL would choose.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "analysis/doctor/interface_choice.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

std::string value_of(const model::Survey& survey, std::string_view name) {
  const model::Setting* setting = survey.variable(name);
  return setting == nullptr ? "" : setting->value;
}

std::string describe(const model::NetworkInterface& interface) {
  std::string text = interface.name;
  for (const std::string& address : interface.addresses)
    text += " " + address;
  if (interface.speed_mbit_per_s)
    text += fmt::format(" {} Mbit/s", *interface.speed_mbit_per_s);
  return text;
}

void check_interfaces(const Case& one, const model::Survey& survey, CheckResults& into) {
  const model::HostSurvey* host = one.host_of(survey);
  if (host == nullptr)
    return;
  std::string names = value_of(survey, "NCCL_SOCKET_IFNAME");
  InterfaceChoice choice =
      choose_interfaces(host->interfaces, names, value_of(survey, "NCCL_SOCKET_FAMILY"));
  std::vector<std::string> seen;
  for (const model::NetworkInterface* interface : choice.interfaces)
    seen.push_back(describe(*interface));
  if (choice.interfaces.empty()) {
    for (const model::NetworkInterface& interface : host->interfaces)
      seen.push_back(fmt::format("there is {}{}", describe(interface),
                                 interface.running ? "" : " (not running)"));
    into.add(
        survey,
        {"D18", CheckStatus::fail,
         names.empty()
             ? What("no_interface", "no network interface that NCCL could use is running")
             : What("socket_ifname_matches_none",
                    "NCCL_SOCKET_IFNAME={names} matches no running interface", {{"names", names}}),
         seen,
         "ncclCommInitRank fails: 'no socket interface found'; even ranks on one host connect "
         "over a socket",
         names.empty() ? "ip addr; ip link set NAME up" : "unset NCCL_SOCKET_IFNAME"});
    return;
  }
  const model::NetworkInterface& first = *choice.interfaces.front();
  bool several = count_hosts(one) > 1;
  bool local_only =
      first.loopback || first.name.starts_with("docker") || first.name.starts_with("virbr");
  if (several && local_only) {
    into.add(
        survey,
        {"D18", CheckStatus::fail,
         What("interface_local",
              "NCCL would use {interface} to connect to other hosts, but it reaches only "
              "this host",
              {{"interface", first.name}}),
         seen, "the start hangs or ends with 'connection refused'",
         "export NCCL_SOCKET_IFNAME=NAME with an interface that the hosts share (ip -br addr)"});
    return;
  }
  into.add(survey, {"D18", CheckStatus::ok,
                    What("interface_chosen", "NCCL would use {interface} ({rule})",
                         {{"interface", first.name}, {"rule", choice.rule}}),
                    seen});
}

void check_rdma(const Case& one, const model::Survey& survey, CheckResults& into) {
  const model::HostSurvey& host = *survey.host;
  if (host.rdma.empty()) {
    bool several = count_hosts(one) > 1;
    into.add_host(
        survey,
        {"D19",
         CheckStatus::info,
         {"rdma_none", "no RDMA adapter is visible: between hosts NCCL would use TCP sockets"},
         {"/sys/class/infiniband is empty"},
         several ? "bandwidth between hosts is limited to TCP on one interface" : ""});
    return;
  }
  std::vector<std::string> down;
  std::vector<std::string> up;
  std::set<std::string> rates;
  std::vector<std::string> nameless;
  for (const model::RdmaPort& port : host.rdma) {
    std::string text = fmt::format("{}:{} {} {} {}", port.device, port.port, port.state,
                                   port.link_layer, port.rate);
    (port.state == "ACTIVE" ? up : down).push_back(text);
    if (port.state == "ACTIVE")
      rates.insert(port.rate);
    if (port.state == "ACTIVE" && port.link_layer == "Ethernet" && port.gids == 0)
      nameless.push_back(text + ", 0 GIDs");
  }
  if (up.empty())
    into.add_host(survey, {"D19",
                           CheckStatus::warn,
                           {"rdma_no_port", "no RDMA adapter has an active port"},
                           down,
                           "NCCL falls back to TCP sockets",
                           "ibstat; check cables and subnet manager"});
  else if (!down.empty())
    into.add_host(survey, {"D19",
                           CheckStatus::info,
                           {"rdma_some_ports", "some RDMA ports are not active"},
                           down,
                           "if they belong to a rail, its GPUs use another rail",
                           "ibstat"});
  if (!nameless.empty())
    into.add_host(survey,
                  {"D19",
                   CheckStatus::warn,
                   {"roce_without_gid", "active RoCE ports have no GID"},
                   nameless,
                   "NCCL cannot connect over them: RDMA needs a GID as its address",
                   "give the port's network interface an address; in a container use the host's "
                   "network (docker run --network host), because GIDs belong to it"});
  if (rates.size() > 1)
    into.add_host(survey, {"D19",
                           CheckStatus::warn,
                           {"rdma_rates_differ", "active RDMA ports run at different rates"},
                           up,
                           "rings run at the speed of the slowest",
                           "ibstat; or NCCL_IB_HCA=NAME,... with adapters of the same rate"});
  bool files =
      std::any_of(host.driver.device_files.begin(), host.driver.device_files.end(),
                  [](const std::string& file) { return file.starts_with("/dev/infiniband"); });
  if (!up.empty() && !files)
    into.add_host(survey, {"D19",
                           CheckStatus::fail,
                           {"rdma_no_device_files", "the RDMA adapters' device files do not exist"},
                           {"/sys/class/infiniband shows adapters, /dev/infiniband has no uverbs"},
                           "verbs cannot be used: NCCL falls back to TCP sockets",
                           "docker run --device=/dev/infiniband ..."});
  bool peermem =
      std::any_of(host.driver.modules.begin(), host.driver.modules.end(),
                  [](const model::KernelModule& module) {
                    return module.name == "nvidia_peermem" || module.name == "nv_peer_mem";
                  });
  bool has_gpus = !survey.inventory.gpus.empty();
  if (has_gpus && !up.empty() && !peermem) {
    bool dmabuf = host.driver.flavour == "open";
    into.add_host(
        survey,
        {"D19",
         dmabuf ? CheckStatus::info : CheckStatus::warn,
         dmabuf ? What("peermem_missing_dmabuf",
                       "nvidia_peermem is not loaded; the open driver can use DMA-BUF instead")
                : What("peermem_missing", "nvidia_peermem is not loaded"),
         {"/proc/modules"},
         dmabuf ? "" : "no GPUDirect RDMA: data between hosts goes through host memory",
         dmabuf ? "" : "modprobe nvidia_peermem"});
  } else if (down.empty() && files && rates.size() <= 1 && nameless.empty()) {
    into.add_host(survey,
                  {"D19", CheckStatus::ok, {"rdma_ports_active", "all RDMA ports are active"}, up});
  }
}

bool has_active_rdma(const Case& one) {
  return std::any_of(one.surveys.begin(), one.surveys.end(), [](const model::Survey& survey) {
    return survey.host && std::any_of(survey.host->rdma.begin(), survey.host->rdma.end(),
                                      [](const auto& port) { return port.state == "ACTIVE"; });
  });
}

// The network that NCCL chose in the trial, according to its log.
void check_chosen(const Case& one, const SmokeTest& smoke_test, CheckResults& into) {
  std::set<std::string> names;
  std::vector<std::string> groups;
  std::string only; // of one group
  for (const ChosenNetwork& network : smoke_test.networks) {
    names.insert(network.name);
    std::string over;
    for (const std::string& interface : network.interfaces)
      over += (over.empty() ? " over " : ", ") + interface;
    only = network.name + over;
    groups.push_back(fmt::format("ranks {}: {}", model::format_ranks(network.ranks), only));
  }
  if (names.empty())
    return;
  std::vector<std::string> seen = smoke_test.networks.front().lines;
  if (names.size() > 1) {
    into.add({"D19",
              CheckStatus::fail,
              {"networks_differ", "ranks chose different networks"},
              groups,
              "ranks of different hosts cannot connect to each other",
              "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET shows the reason; give all ranks the "
              "same plugin and libraries"});
    return;
  }
  std::string text = groups.size() == 1 ? only : smoke_test.networks.front().name;
  if (groups.size() > 1)
    seen.insert(seen.begin(), groups.begin(), groups.end());
  if (*names.begin() == "Socket" && has_active_rdma(one)) {
    CheckResult finding{
        "D19",
        count_hosts(one) > 1 ? CheckStatus::warn : CheckStatus::info,
        {"sockets_despite_rdma", "NCCL chose TCP sockets, although RDMA ports are active"},
        seen,
        "bandwidth between hosts is limited to TCP",
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET gives the reason; ldconfig -p | "
        "grep libibverbs: without that library NCCL cannot use IB"};
    finding.symptom = Symptom::detour;
    into.add(std::move(finding));
  } else
    into.add({"D19", CheckStatus::info,
              What("network_used", "NCCL's network here: {networks}", {{"networks", text}}), seen});
}

} // namespace

void check_network(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    check_interfaces(one, survey, into);
    if (survey.host)
      check_rdma(one, survey, into);
  }
  for (const SmokeTest& smoke_test : one.smoke_tests)
    check_chosen(one, smoke_test, into);
}

} // namespace ncclprobe::analysis::doctor
