// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/golden.h"
#include "topology/machine_files.h"
#include "topology/read/nccl_xml.h"
#include "topology/render/nccl_xml.h"

#include <fstream>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

std::string written(const Machine& machine) {
  auto text = write_nccl_xml(machine);
  INFO((text ? "" : text.error().text()));
  REQUIRE(text);
  return *text;
}

void check_round_trip(const std::string& text, const std::string& name) {
  INFO(name);
  auto machine = read_nccl_xml(text, name);
  REQUIRE(machine);
  auto again = read_nccl_xml(written(*machine), name + " written");
  INFO((again ? "" : again.error().text()));
  REQUIRE(again);
  CHECK(*again == *machine);
}

} // namespace

TEST_CASE("a machine comes back from NCCL's XML as it was") {
  for (const char* name : {"bridged-pair.xml", "dgx-a100.xml", "dgx1-v100.xml", "four-t4.xml",
                           "no-gpu.xml", "one-gpu.xml", "two-h200-vm.xml"})
    check_round_trip(machine_text(name), name);
}

TEST_CASE("files of cloud providers come back as they were") {
  for (const char* name : {"aws_p4d-24xl-topo.xml", "azure_ncv4-topo.xml", "azure_ndv4-topo.xml"}) {
    auto text = cloud_text(name);
    if (!text)
      NCCLPROBE_SKIP("the files of cloud providers are not here");
    check_round_trip(*text, name);
  }
}

TEST_CASE("several hosts come back apart") {
  check_round_trip(R"(<system version="1">
    <cpu host_hash="0x1" numaid="0"><pci busid="0000:01:00.0"><gpu dev="0"/></pci></cpu>
    <cpu host_hash="0x2" numaid="0"><pci busid="0000:01:00.0"><gpu dev="0"/></pci></cpu>
    </system>)",
                   "two hosts");
}

TEST_CASE("hosts that nothing tells apart are not written as one") {
  Host host = read_machine("one-gpu.xml").hosts.at(0);

  auto refused = write_nccl_xml({{host, host}});

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::invalid_argument);
  CHECK_THAT(refused.error().text(), ContainsSubstring("--host N, from 0 to 1"));
  host.id = Fact<std::string>("0x1", Source::nccl);
  CHECK_FALSE(write_nccl_xml({{host, host}}));
}

TEST_CASE("a tree of ports is written as NCCL would have found it") {
  support::check_golden("topology-switches.nccl.xml", written(read_machine("switches-hwloc.xml")));
}

TEST_CASE("a topology for NCCL reads as agreed") {
  support::check_golden("topology-dgx-a100.nccl.xml", written(read_machine("dgx-a100.xml")));
  support::check_golden("topology-two-h200-vm.nccl.xml", written(read_machine("two-h200-vm.xml")));
  support::check_golden("topology-two-h200-vm-live.nccl.xml",
                        written(read_machine("two-h200-vm.json")));
}

TEST_CASE("the file keeps to what NCCL's own parser takes") {
  Machine machine = read_machine("switches-hwloc.xml");
  Nic nic;
  nic.index = 9;
  nic.name = "a\"<&>\tb";
  machine.hosts[0].nics.push_back(nic);

  std::string text = written(machine);

  CHECK_THAT(text, !ContainsSubstring("<?xml"));
  CHECK_THAT(text, !ContainsSubstring("&"));
  CHECK(text.find('\t') == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("name=\"a     b\""));
}

TEST_CASE("a boot id is no host hash of NCCL") {
  Machine machine = read_machine("one-gpu.xml");
  machine.hosts[0].id = Fact<std::string>("9f3a", Source::sysfs);

  CHECK_THAT(written(machine), !ContainsSubstring("host_hash"));
}

TEST_CASE("what NCCL finds out for itself is written only if NCCL said it") {
  Machine machine = read_machine("dgx-a100.xml");
  CHECK_THAT(written(machine), ContainsSubstring("rank=\"0\" gdr=\"1\""));
  for (Gpu& gpu : machine.hosts[0].gpus) {
    gpu.gpudirect.source = Source::sysfs;
    gpu.rank.source = Source::user;
  }
  for (Nic& nic : machine.hosts[0].nics) {
    nic.gpudirect.source = Source::sysfs;
    nic.gbit_per_s.source = Source::sysfs;
  }

  CHECK_THAT(written(machine), !ContainsSubstring("gdr="));
  CHECK_THAT(written(machine), !ContainsSubstring("rank="));
  CHECK_THAT(written(machine), !ContainsSubstring("speed=\"200000\""));
}

TEST_CASE("an unknown link is told to NCCL as unknown, except of GPUs, where NCCL looks") {
  Machine machine = read_machine("two-h200-vm.json");
  std::string text = written(machine);
  CHECK_THAT(text,
             ContainsSubstring("subsystem_device=\"0x1041\" link_speed=\"\" link_width=\"0\">"));

  for (PciDevice& device : machine.hosts[0].pci)
    device.gt_per_s = device.gt_per_s_max = {};
  for (PciDevice& device : machine.hosts[0].pci)
    device.width = device.width_max = {};
  for (Gpu& gpu : machine.hosts[0].gpus)
    gpu.pcie = {};

  CHECK_THAT(written(machine), ContainsSubstring("subsystem_device=\"0x18bf\">"));
  check_round_trip(text, "two-h200-vm.json as XML");
}

TEST_CASE("GPUs without a bus id cannot be told to NCCL") {
  auto text = write_nccl_xml(read_machine("eight-h200-vm.topo-m.txt"));

  REQUIRE_FALSE(text);
  CHECK(text.error().code == base::Errc::unsupported);
  CHECK_THAT(text.error().text(), ContainsSubstring("bus id of GPU 0"));
}
