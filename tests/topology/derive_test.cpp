// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/derive.h"

using namespace ncclprobe::topology;

namespace {

PciDevice device(const std::string& bus_id, std::uint32_t pci_class,
                 std::uint32_t vendor = 0x15b3) {
  PciDevice one;
  one.bus_id = bus_id;
  one.kind = kind_of_pci_class(pci_class);
  one.pci_class = Fact<std::uint32_t>(pci_class, Source::synthetic);
  one.vendor = Fact<std::uint32_t>(vendor, Source::synthetic);
  return one;
}

} // namespace

TEST_CASE("adapters in the PCI tree that nobody named become NICs behind the named ones") {
  Host host;
  host.pci = {device("0000:03:00.0", 0x020700), device("0000:02:00.0", 0x020700),
              device("0000:01:00.0", 0x020000)};
  Nic named;
  named.index = 4;
  named.name = "mlx5_0";
  named.bus_id = Fact<std::string>("0000:01:00.0", Source::synthetic);
  host.nics = {named};

  add_unnamed_nics(host);

  REQUIRE(host.nics.size() == 3);
  CHECK(host.nics[1].index == 5);
  CHECK(nic_label(host.nics[1]) == "0000:02:00.0");
  CHECK(nic_label(host.nics[0]) == "mlx5_0");
}

TEST_CASE("the kind of a network follows from PCI ids and names, or is unknown") {
  Host host;
  host.pci = {device("0000:01:00.0", 0x020700), device("0000:02:00.0", 0x020000)};
  auto kind_of = [&](const std::string& name, const std::string& bus_id) {
    Nic nic;
    nic.name = name;
    if (!bus_id.empty())
      nic.bus_id = Fact<std::string>(bus_id, Source::synthetic);
    return nic_kind(host, nic).value;
  };

  CHECK(kind_of("mlx5_0", "0000:01:00.0") == NicKind::infiniband);
  CHECK(kind_of("mlx5_1", "0000:02:00.0") == NicKind::roce);
  CHECK(kind_of("enp2s0", "0000:02:00.0") == NicKind::ethernet);
  CHECK(kind_of("eth0", "") == NicKind::ethernet);
  CHECK(kind_of("strange", "") == std::nullopt);
}

TEST_CASE("a host is called by its name, its id or its place") {
  Host host;
  CHECK(host_label(host, 3) == "3");
  host.id = Fact<std::string>("0x1", Source::nccl);
  CHECK(host_label(host, 3) == "0x1");
  host.name = Fact<std::string>("node7", Source::sysfs);
  CHECK(host_label(host, 3) == "node7");
}
