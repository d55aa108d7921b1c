// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/doctor/interface_choice.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::analysis::doctor;

namespace {

const std::vector<model::NetworkInterface> k_host{
    {"lo", true, true, true, {}, 65536, {"127.0.0.1", "::1"}},
    {"docker0", true, true, false, {}, 1500, {"172.17.0.1"}},
    {"eth0", true, true, false, 25000, 1500, {"192.0.2.2", "fe80::1"}},
    {"eth1", true, false, false, 25000, 1500, {"192.0.2.3"}},
    {"eth10", true, true, false, 25000, 1500, {"2001:db8::7"}},
    {"ib0", true, true, false, {}, 4096, {}},
};

std::string chosen(const std::string& names, const std::string& family = "") {
  std::string text;
  for (const auto* one : choose_interfaces(k_host, names, family).interfaces)
    text += (text.empty() ? "" : " ") + one->name;
  return text;
}

} // namespace

TEST_CASE("without a setting NCCL leaves out docker, lo and what is down or has no address") {
  CHECK(chosen("") == "eth0 eth10");
}

TEST_CASE("interfaces named ib come first if they have an address") {
  std::vector<model::NetworkInterface> host = k_host;
  host[5].addresses = {"198.51.100.1"};

  auto choice = choose_interfaces(host, "", "");

  REQUIRE(choice.interfaces.size() == 1);
  CHECK(choice.interfaces[0]->name == "ib0");
}

TEST_CASE("names are prefixes, exact behind = and exclusions behind ^") {
  CHECK(chosen("eth") == "eth0 eth10");
  CHECK(chosen("eth1") == "eth10");
  CHECK(chosen("=eth1").empty()); // it is down
  CHECK(chosen("=eth0") == "eth0");
  CHECK(chosen("^docker,lo") == "eth0 eth10");
  CHECK(chosen("^=eth0,=lo,docker0") == "lo eth10"); // = stands once, at the front
  CHECK(chosen("eth0:1") == "eth0");
  CHECK(chosen("nothing").empty());
}

TEST_CASE("the address family is kept to") {
  CHECK(chosen("", "AF_INET") == "eth0");
  CHECK(chosen("", "AF_INET6") == "eth0 eth10");
  CHECK(first_address(k_host[2], "") == "192.0.2.2");
  CHECK(first_address(k_host[2], "AF_INET6") == "fe80::1");
  CHECK(first_address(k_host[5], "").empty());
}

TEST_CASE("loopback is the last resort but one") {
  std::vector<model::NetworkInterface> host{k_host[0]};

  auto choice = choose_interfaces(host, "", "");

  REQUIRE(choice.interfaces.size() == 1);
  CHECK_THAT(choice.rule, ContainsSubstring("no other"));
}
