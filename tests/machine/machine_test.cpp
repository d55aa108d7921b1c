// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/machine.h"

#include "support/catch.h"
#include "topology/example_machines.h"

using namespace ncclprobe::topology;

TEST_CASE("a PCI address has one form, whoever wrote it") {
  CHECK(normal_bus_id("00000000:1B:00.0") == "0000:1b:00.0");
  CHECK(normal_bus_id("0000:1b:00.0") == "0000:1b:00.0");
  CHECK(normal_bus_id("FFFF:FF:01.0") == "ffff:ff:01.0");
  CHECK(normal_bus_id("00010000:01:00.0") == "10000:01:00.0");
}

TEST_CASE("what is no PCI address is refused") {
  for (const char* text : {"", ":", "1b:00.0", "0000:1b:00", "0000:1b:00.", "0000:1g:00.0",
                           "0000:1b:00.0 ", "000000000:1b:00.0", "0000-1b:00.0"}) {
    INFO(text);
    CHECK_FALSE(normal_bus_id(text));
  }
}

TEST_CASE("an unknown value is taken from another source, a known one is kept") {
  Fact<int> unknown;
  Fact<int> known(1, Source::nvml);

  unknown.fill_from(Fact<int>(2, Source::sysfs));
  known.fill_from(Fact<int>(2, Source::sysfs));

  CHECK(unknown == Fact<int>(2, Source::sysfs));
  CHECK(known == Fact<int>(1, Source::nvml));
}

TEST_CASE("a fact without a value has no source") {
  CHECK(Fact<int>(std::optional<int>(), Source::nvml).source == Source::none);
}

TEST_CASE("devices of a host are found by their number and bus id") {
  Machine machine = ncclprobe::topology_test::full_machine();
  const Host& host = machine.hosts[0];

  CHECK(host.gpu(1)->bus_id.value == "0000:19:00.0");
  CHECK(host.gpu(2) == nullptr);
  CHECK(host.nic(0)->name == "mlx5_0");
  CHECK(host.pci_device("0000:1a:00.0")->kind == PciKind::nic);
  CHECK(host.pci_device("0000:1b:00.0") == nullptr);
  CHECK(host.numa_node(0)->cpus->size() == 4);
}
