// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/read/hwloc_source.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

TEST_CASE("a file of hwloc gives every port between CPU and GPU") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];

  CHECK(host.name == Fact<std::string>("example", Source::hwloc));
  CHECK(host.cpu.vendor.value == "AuthenticAMD");
  CHECK(host.cpu.sockets.value == 2);
  CHECK(host.pci_detail.value == PciDetail::ports);
  REQUIRE(host.numa.size() == 2);
  CHECK(host.numa[1].cpus.value == std::vector<int>{4, 5, 6, 7});
  CHECK(host.numa[1].memory_bytes.value == 270000000000ULL);
  REQUIRE(host.gpus.size() == 4);
  CHECK(host.gpus[1].bus_id.value == "0000:07:00.0");
  CHECK(host.gpus[1].name.value == "NVIDIA A100 80GB PCIe");
  CHECK(host.gpus[1].uuid.value == "GPU-00000001");
  CHECK(host.gpus[3].numa_node.value == 1);
  const PciDevice& gpu = *host.pci_device("0000:41:00.0");
  CHECK(gpu.host_bridge.value == "0000:40");
  CHECK(gpu.vendor.value == 0x10de);
  CHECK(gpu.pci_class.value == 0x030200);
}

TEST_CASE("of an adapter the RDMA device counts, else its network interface") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];

  REQUIRE(host.nics.size() == 2);
  CHECK(host.nics[0].name == "mlx5_0");
  CHECK(host.nics[0].kind.value == NicKind::infiniband);
  CHECK(host.nics[1].name == "ens1");
  CHECK(host.nics[1].kind.value == NicKind::ethernet);
}

TEST_CASE("a server board's own graphics is no GPU") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];

  CHECK(host.pci_device("0000:83:00.0") == nullptr);
  CHECK(host.pci_device("0000:80:01.3") == nullptr); // nor is what leads to it of interest
}

TEST_CASE("cores have their hyperthreads") {
  Host host = read_machine("smt-nvlink-hwloc.xml").hosts[0];

  CHECK(host.cpu.cores ==
        Fact<std::vector<std::vector<int>>>({{0, 4}, {1, 5}, {2, 6}, {3, 7}}, Source::hwloc));
}

TEST_CASE("NVLinks are counted by the bandwidth that hwloc adds up") {
  auto links_of = [](std::string text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    auto machine = read_hwloc_xml(text, "lstopo.xml");
    INFO((machine ? "" : machine.error().text()));
    REQUIRE(machine);
    return machine->hosts[0].gpus[0].nvlinks;
  };
  const std::string k_text = machine_text("smt-nvlink-hwloc.xml");

  auto links = links_of(k_text, "hwloc2.dtd", "hwloc2.dtd"); // as it is
  REQUIRE(links.value.value_or(std::vector<NvLink>{}).size() == 2);
  CHECK(links.source == Source::hwloc);
  CHECK(links->front().remote.value == RemoteKind::gpu);
  CHECK(links->front().remote_bus_id.value == "0000:21:00.0");
  CHECK(links->front().gb_per_s.value == 25);
  CHECK(links_of(k_text, " 50000", " 75000")->size() == 3);
  CHECK(links_of(k_text, " 50000", " 40000")->size() == 2); // of 20 GB/s, the first generation
  CHECK(links_of(k_text, "Tesla V100-SXM2-16GB", "NVIDIA B200")->size() == 1); // of 50 GB/s
  CHECK_FALSE(links_of(k_text, "Tesla V100-SXM2-16GB", "NVIDIA X1"));          // unknown
  CHECK_FALSE(links_of(k_text, " 50000", " 12345"));
}

TEST_CASE("a file of a later hwloc is called so, and how to get an earlier one is said") {
  auto read = read_hwloc_xml("<topology version=\"99.0\"/>", "lstopo.xml");

  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().text(), ContainsSubstring("lstopo.xml:1: this file needs hwloc 99.0") &&
                                      ContainsSubstring("lstopo --of v"));
}

TEST_CASE("a file that is no topology of hwloc is refused") {
  auto complaint_on = [](const std::string& text) {
    auto machine = read_hwloc_xml(text, "lstopo.xml");
    return machine ? "" : machine.error().text();
  };

  CHECK_THAT(complaint_on("<topology version=\"2.0\">\n<object>"),
             ContainsSubstring("lstopo.xml:2: not well-formed XML"));
  CHECK_THAT(complaint_on("<system/>"), ContainsSubstring("lstopo.xml:1: a file of hwloc begins"));
  CHECK_THAT(complaint_on("<topology version=\"2.0\"/>"),
             ContainsSubstring("lstopo.xml:1: hwloc does not accept this"));
  CHECK_THAT(complaint_on("<topology version=\"2.0\"><object type=\"Pigeon\"/></topology>"),
             ContainsSubstring("lstopo.xml:1: <object type=\"Pigeon\"> has no cpuset"));
}

TEST_CASE("an object without its set of CPUs is refused before hwloc crashes on it") {
  auto read = read_hwloc_xml("<topology version=\"2.0\">\n"
                             "<object type=\"Machine\" cpuset=\"0x1\" complete_cpuset=\"0x1\" "
                             "nodeset=\"0x1\" complete_nodeset=\"0x1\">\n"
                             "<object type=\"Core\" cpuset=\"0x1\"/></object></topology>",
                             "cut.xml");

  REQUIRE_FALSE(read);
  CHECK_THAT(read.error().message, ContainsSubstring("cut.xml:3"));
  CHECK_THAT(read.error().message, ContainsSubstring("complete_cpuset"));
}

TEST_CASE("what hwloc crashes on or skips is refused before it sees it") {
  const std::string good = machine_text("smt-nvlink-hwloc.xml");
  auto complaint_after = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    auto machine = read_hwloc_xml(text, "lstopo.xml");
    return machine ? "" : machine.error().text();
  };

  CHECK(complaint_after("0x000000ff", "0xf...f,0x000000ff") == "");
  CHECK_THAT(complaint_after("complete_cpuset=\"0x000000ff", "complete_cpuset=\"0x000000=ff"),
             ContainsSubstring("lstopo.xml:5: complete_cpuset=\"0x000000=ff\" is not a set"));
  CHECK_THAT(complaint_after("<object type=\"NUMANode\"", "gpud <object type=\"NUMANode\""),
             ContainsSubstring("<object type=\"Package\"> has text in it"));
}

TEST_CASE("hwloc describes this host") {
  auto host = hwloc_topology();

  REQUIRE(host);
  CHECK(host->name);
  CHECK_FALSE(host->numa.empty());
  CHECK(host->cpu.architecture);
}
