// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/refusals.h"
#include "topology/machine_files.h"
#include "topology/read/nccl_xml.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

Host only_host(const std::string& text) {
  auto machine = read_nccl_xml(text, "topo.xml");
  INFO((machine ? "" : machine.error().text()));
  REQUIRE(machine);
  REQUIRE(machine->hosts.size() == 1);
  return machine->hosts[0];
}

std::string complaint_on(const std::string& text) {
  auto machine = read_nccl_xml(text, "topo.xml");
  return machine ? "" : machine.error().text();
}

// Inside one CPU.
std::string with_cpu(const std::string& inside) {
  return "<system version=\"1\">\n<cpu numaid=\"0\">\n" + inside + "\n</cpu>\n</system>\n";
}

} // namespace

TEST_CASE("a dump of NCCL gives GPUs, links, CPUs and networks") {
  Machine machine = read_machine("dgx-a100.xml");
  const Host& host = machine.hosts[0];

  REQUIRE(host.gpus.size() == 8);
  REQUIRE(host.nics.size() == 8);
  CHECK(host.gpus[3].bus_id == Fact<std::string>("0000:45:00.0", Source::nccl));
  CHECK(host.gpus[3].compute_capability.value == "8.0");
  CHECK(host.gpus[3].rank.value == 3);
  CHECK(host.gpus[3].gpudirect.value == true);
  CHECK(host.gpus[3].numa_node.value == 0);
  CHECK(host.gpus[3].nvlinks->size() == 12);
  CHECK(host.gpus[3].nvlinks->front().remote.value == RemoteKind::nvswitch);
  CHECK(host.gpus[3].nvlinks->front().remote_bus_id.value == "0000:c4:00.0");
  CHECK(host.nics[5].name == "mlx5_5");
  CHECK(host.nics[5].kind == Fact<NicKind>(NicKind::infiniband, Source::derived));
  CHECK(host.nics[5].gbit_per_s.value == 200);
  CHECK(host.nics[5].numa_node.value == 1);
  CHECK(host.cpu.vendor.value == "AuthenticAMD");
  CHECK(host.numa.size() == 2);
  CHECK(host.numa[1].cpus->front() == 64);
  CHECK(host.numa[1].cpus->back() == 127);
  CHECK(host.pci.size() == 20);
  CHECK(host.pci_device("0000:03:00.0")->gt_per_s.value == 16);
  CHECK(host.pci_device("0000:03:00.0")->parent == 0);
}

TEST_CASE("what a virtual machine hides is unknown") {
  Host host = read_machine("two-h200-vm.xml").hosts[0];

  CHECK(host.id.value == "0xd992bb75fb8a6883");
  CHECK(host.numa.empty());
  CHECK_FALSE(host.gpus[0].numa_node);
  CHECK_FALSE(host.pci[0].width);
  CHECK(host.pci[0].gt_per_s.value == 32);
  REQUIRE(host.gpus[1].nvlinks->size() == 18);
  CHECK(host.gpus[1].nvlinks->front().remote.value == RemoteKind::nvswitch);
  CHECK_FALSE(host.gpus[1].nvlinks->front().remote_bus_id);
  CHECK(host.nics[0].name == "eth0");
  CHECK_FALSE(host.nics[0].bus_id);
  CHECK_FALSE(host.nics[0].numa_node);
  CHECK(host.nics[0].gbit_per_s.value == 10);
}

TEST_CASE(
    "the files of cloud providers are read: comments, stand-in switches, GPUs without an element") {
  auto amazon = cloud_text("aws_p4d-24xl-topo.xml");
  auto azure = cloud_text("azure_ndv4-topo.xml");
  if (!amazon || !azure)
    NCCLPROBE_SKIP("the files of cloud providers are not here");

  Host p4d = only_host(*amazon);
  CHECK(p4d.gpus.size() == 8);
  CHECK(p4d.gpus[7].bus_id.value == "0000:a0:1d.0");
  CHECK_FALSE(p4d.gpus[7].nvlinks);
  CHECK(p4d.nics.size() == 4);
  CHECK(p4d.nics[0].kind.value == NicKind::efa);
  CHECK(p4d.pci[0].origin == PciOrigin::stand_in);

  Host ndv4 = only_host(*azure);
  CHECK(ndv4.gpus.size() == 8);
  // In order of bus ids, as CUDA numbers them: 0003:00:00.0 is the first of the file.
  CHECK(ndv4.gpus[2].bus_id.value == "0003:00:00.0");
  CHECK(ndv4.gpus[2].numa_node.value == 0);
  CHECK(ndv4.gpus[0].numa_node.value == 1);
  CHECK(ndv4.nics[0].kind.value == NicKind::infiniband);
}

TEST_CASE("a link from a GPU to itself, as one provider has it, is no path") {
  auto azure = cloud_text("azure_ncv4-topo.xml");
  if (!azure)
    NCCLPROBE_SKIP("the files of cloud providers are not here");

  Host host = only_host(*azure);

  CHECK(host.gpus[0].nvlinks->size() == 12);
  CHECK(labels({{host}}).substr(0, 9) == "X ? ? ? ?");
}

TEST_CASE("attributes that are missing or empty are unknown") {
  Host host = only_host(with_cpu(R"(<pci busid="0000:01:00.0" link_speed="" link_width="">
                                      <gpu><nvlink target="0000:02:00.0"/></gpu></pci>
                                    <pci busid="0000:02:00.0" class="0x03"/>)"));

  REQUIRE(host.gpus.size() == 2);
  CHECK(host.gpus[0].index == 0);
  CHECK_FALSE(host.gpus[0].compute_capability);
  CHECK_FALSE(host.gpus[0].rank);
  CHECK(host.gpus[0].nvlinks->size() == 1);
  CHECK_FALSE(host.gpus[1].nvlinks);
  CHECK_FALSE(host.pci[0].gt_per_s);
  CHECK_FALSE(host.pci[0].pci_class);
}

TEST_CASE("GPUs without a number get those that are free") {
  Host host = only_host(with_cpu(R"(<pci busid="0000:01:00.0" class="0x030200"/>
                                    <pci busid="0000:02:00.0"><gpu dev="0"/></pci>
                                    <pci busid="0000:03:00.0" class="0x030200"/>)"));

  CHECK(host.gpus[0].bus_id.value == "0000:02:00.0");
  CHECK(host.gpus[1].bus_id.value == "0000:01:00.0");
  CHECK(host.gpus[2].bus_id.value == "0000:03:00.0");
}

TEST_CASE("GPUs of several hosts in one dump stay apart") {
  auto machine = read_nccl_xml(R"(<system version="1">
    <cpu host_hash="0x1" numaid="0"><pci busid="0000:01:00.0"><gpu dev="0"/></pci></cpu>
    <cpu host_hash="0x2" numaid="0"><pci busid="0000:01:00.0"><gpu dev="0"/></pci></cpu>
    <cpu host_hash="0x1" numaid="1"><pci busid="0000:02:00.0"><gpu dev="1"/></pci></cpu>
    </system>)",
                               "topo.xml");

  REQUIRE(machine);
  REQUIRE(machine->hosts.size() == 2);
  CHECK(machine->hosts[0].id.value == "0x1");
  CHECK(machine->hosts[0].gpus.size() == 2);
  CHECK(machine->hosts[1].gpus.size() == 1);
}

TEST_CASE("an adapter that several kinds of transfer use is one NIC") {
  Host host = only_host(with_cpu(R"(<pci busid="0000:01:00.0"><nic>
      <net name="mlx5_0" dev="0" speed="-1" coll="1"/><net name="mlx5_0" dev="0"/>
      <net name="part"/></nic></pci>)"));

  REQUIRE(host.nics.size() == 1);
  CHECK_FALSE(host.nics[0].gbit_per_s);
}

TEST_CASE("bad topologies are refused with file and line") {
  support::check_refusals(
      {{"", {"topo.xml:1:", "empty"}},
       {"<system version=\"1\">\n<cpu>\n", {"not well-formed XML"}},
       {"<graphs/>", {"topo.xml:1:"}},
       {"<system version=\"2\"/>", {"version 2"}},
       {"<system/>", {"<cpu>"}},
       {with_cpu("<pci/>"), {"topo.xml:3: <pci>", "busid"}},
       {with_cpu("<pci busid=\"here\"/>"), {"topo.xml:3: <pci>: busid=\"here\""}},
       {with_cpu("<pci busid=\"0000:01:00.0\" link_width=\"many\"/>"),
        {"topo.xml:3: <pci>: link_width=\"many\""}},
       {"<system version=\"1\">\n<cpu affinity=\"f,x\" numaid=\"0\"/></system>",
        {"topo.xml:2: <cpu>: affinity=\"f,x\""}}},
      complaint_on);
}

TEST_CASE("topologies that contradict themselves are refused with file and line") {
  support::check_refusals(
      {{with_cpu("<pci busid=\"0000:01:00.0\"/>\n<pci busid=\"0000:01:00.0\"/>"),
        {"topo.xml:4:", "<pci> with busid=\"0000:01:00.0\"", "line 3"}},
       {with_cpu("<pci busid=\"0000:01:00.0\"><gpu dev=\"0\"/></pci>\n"
                 "<pci busid=\"0000:02:00.0\"><gpu dev=\"0\"/></pci>"),
        {"topo.xml:4:", "<gpu> with dev=\"0\""}},
       {with_cpu("<nic><net name=\"a\" dev=\"0\"/>\n<net name=\"b\" dev=\"0\"/></nic>"),
        {"topo.xml:4:", "<net> with dev=\"0\""}},
       {"<system version=\"1\"><cpu numaid=\"0\"/>\n<cpu numaid=\"0\"/></system>",
        {"topo.xml:2:", "<cpu> with numaid=\"0\""}},
       {"<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\"/>\n"
        "<cpu numaid=\"1\" arch=\"arm64\"/></system>",
        {"topo.xml:2: <cpu>: arch=\"arm64\""}},
       {with_cpu("<pci busid=\"0000:01:00.0\"><gpu dev=\"0\">"
                 "<nvlink target=\"0000:02:00.0\" count=\"2000000000\"/></gpu></pci>"),
        {"topo.xml:3: <nvlink>: count=\"2000000000\"", "256"}}},
      complaint_on);
}

TEST_CASE("switches without end are refused") {
  std::string text = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 0; i < 100'000; ++i)
    text += "<pci>";

  CHECK_FALSE(complaint_on(text).empty());
  std::string closed = text;
  for (int i = 0; i < 100'000; ++i)
    closed += "</pci>";
  CHECK_THAT(complaint_on(closed + "</cpu></system>"), ContainsSubstring("nested more than"));
}

TEST_CASE("a file cut off anywhere is refused and nothing else happens") {
  std::string text = machine_text("dgx1-v100.xml");
  // Without the last newline it is whole.
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {
    INFO(length);
    CHECK_FALSE(read_nccl_xml(text.substr(0, length), "cut.xml"));
  }
}

TEST_CASE("a GPU without links has none if NCCL looked, otherwise that is unknown") {
  auto file = [](const std::string& cpu, const std::string& links) {
    return "<system version=\"1\"><cpu numaid=\"0\"" + cpu +
           "><pci busid=\"0000:01:00.0\"><gpu dev=\"0\" sm=\"90\" rank=\"0\"/></pci>"
           "<pci busid=\"0000:02:00.0\"><gpu dev=\"1\" sm=\"90\" rank=\"1\">" +
           links + "</gpu></pci></cpu></system>";
  };

  Host by_hand = only_host(file("", ""));
  CHECK_FALSE(by_hand.gpus[0].nvlinks);
  Host dump = only_host(file(" host_hash=\"0x1\"", ""));
  CHECK(dump.gpus[0].nvlinks == Fact<std::vector<NvLink>>({}, Source::nccl));
  Host of_others = only_host(file("", "<nvlink target=\"0000:03:00.0\" count=\"2\"/>"));
  CHECK(of_others.gpus[0].nvlinks == Fact<std::vector<NvLink>>({}, Source::nccl));
  CHECK(of_others.gpus[1].nvlinks->size() == 2);
  CHECK(read_machine("p5-by-hand.xml").hosts[0].gpus[0].nvlinks.source == Source::none);
}

TEST_CASE("a GPU of a model without NVLink has none, whoever wrote the file") {
  Host host = read_machine("four-t4.xml").hosts[0];

  CHECK(host.gpus[0].nvlinks == Fact<std::vector<NvLink>>({}, Source::derived));
}

TEST_CASE("RCCL's files are called what they are") {
  CHECK_THAT(complaint_on("<system version=\"2\"><cpu numaid=\"0\">\n"
                          "<pci busid=\"0000:63:00.0\" class=\"0x038000\">\n"
                          "<gpu dev=\"0\" sm=\"120\" gcn=\"908\" rank=\"0\">"
                          "<xgmi target=\"0000:43:00.0\" count=\"1\"/></gpu></pci></cpu></system>"),
             ContainsSubstring("topo.xml:3: this topology comes from RCCL and has AMD GPUs"));
}

TEST_CASE("ranks that share a GPU are one GPU, parts of a GPU are refused") {
  const std::string k_begin =
      "<pci busid=\"0000:01:00.0\">\n<gpu dev=\"0\" sm=\"90\" rank=\"0\"/>\n";

  Host shared = only_host(with_cpu(k_begin + "<gpu dev=\"0\" sm=\"90\" rank=\"1\"/></pci>"));
  REQUIRE(shared.gpus.size() == 1);
  CHECK(shared.gpus[0].rank.value == 0);
  CHECK_THAT(
      complaint_on(with_cpu(k_begin + "<gpu dev=\"1\" sm=\"90\" rank=\"1\"/></pci>")),
      ContainsSubstring("topo.xml:5: a second <gpu> below one <pci>, the first is on line 4"));
}
