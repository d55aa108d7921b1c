// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/validate.h"

#include "support/catch.h"
#include "topology/example_machines.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using topology_test::full_machine;

namespace {

std::string complaint_on(const Machine& machine) {
  auto valid = validate(machine, "file");
  return valid ? "" : valid.error().text();
}

} // namespace

TEST_CASE("a sound machine is valid, and so is an empty one") {
  CHECK(complaint_on(full_machine()) == "");
  CHECK(complaint_on({}) == "");
  CHECK(complaint_on({{Host{}}}) == "");
}

TEST_CASE("a number or bus id that two devices have is a contradiction") {
  Machine same_number = full_machine();
  same_number.hosts[0].gpus[1].index = 0;
  Machine same_bus_id = full_machine();
  same_bus_id.hosts[0].gpus[1].bus_id = same_bus_id.hosts[0].gpus[0].bus_id;
  Machine same_pci = full_machine();
  same_pci.hosts[0].pci[2].bus_id = same_pci.hosts[0].pci[1].bus_id;

  CHECK(complaint_on(same_number) == "file:1: two GPUs have the number 0");
  CHECK(complaint_on(same_bus_id) == "file:1: two GPUs have the bus id 0000:18:00.0");
  CHECK(complaint_on(same_pci) == "file:1: two PCI devices have the bus id 0000:18:00.0");
}

TEST_CASE("a PCI tree with a cycle is refused") {
  Machine machine = full_machine();
  machine.hosts[0].pci[0].parent = 1;

  CHECK(complaint_on(machine) ==
        "file:1: PCI device 0000:17:00.0 has parent 1, which is not before it");
}

TEST_CASE("a pair of devices that are not there is refused") {
  Machine machine = full_machine();
  machine.hosts[0].p2p[0].to = 7;
  CHECK(complaint_on(machine) == "file:1: P2P between GPUs 0 and 7, which do not exist");

  machine = full_machine();
  machine.hosts[0].stated_paths[1].b.index = 4;
  CHECK(complaint_on(machine) == "file:1: a path between gpu 0 and nic 4, which do not exist");
}

TEST_CASE("absurd counts are refused") {
  Machine machine = full_machine();
  machine.hosts[0].gpus[0].nvlinks->resize(257);
  CHECK(complaint_on(machine) == "file:1: GPU 0 has 257 NVLinks; the limit is 256");

  machine = full_machine();
  machine.hosts.resize(5000);
  CHECK(complaint_on(machine) == "file:1: 5000 hosts; the limit is 4096");

  machine = full_machine();
  machine.hosts[0].gpus[1].cpu_affinity->push_back(1 << 30);
  CHECK(complaint_on(machine) == "file:1: there is no CPU 1073741824");

  machine = full_machine();
  machine.hosts[0].cpu.cores->front().push_back(-3);
  CHECK(complaint_on(machine) == "file:1: there is no CPU -3");
}

TEST_CASE("a contradiction names the element that is to blame") {
  Machine machine = full_machine();
  machine.hosts.push_back(machine.hosts[0]);
  machine.hosts[1].gpus[1].index = 0;

  auto found = contradiction_in(machine);

  REQUIRE(found);
  CHECK(found->element == "/hosts/1/gpus/1");
}
