// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/made_up_linux.h"
#include "topology/read/sysfs_source.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using ncclprobe::topology_test::MadeUpLinux;

namespace {

MadeUpLinux::Files bridge() {
  return {{"class", "0x060400"},
          {"vendor", "0x1000"},
          {"device", "0xc010"},
          {"numa_node", "1"},
          {"max_link_speed", "32.0 GT/s PCIe"},
          {"max_link_width", "16"},
          {"current_link_speed", "32.0 GT/s PCIe"},
          {"current_link_width", "16"}};
}

MadeUpLinux::Files gpu() {
  return {{"class", "0x030200"},      {"vendor", "0x10de"},
          {"device", "0x2335"},       {"numa_node", "1"},
          {"local_cpulist", "4-7"},   {"max_link_speed", "64.0 GT/s PCIe"},
          {"max_link_width", "16"},   {"current_link_speed", "2.5 GT/s PCIe"},
          {"current_link_width", "8"}};
}

const PciDevice& device(const Host& host, const char* bus_id) {
  const PciDevice* found = host.pci_device(bus_id);
  REQUIRE(found != nullptr);
  return *found;
}

} // namespace

TEST_CASE("the PCI tree above a GPU is read up to the root") {
  MadeUpLinux linux;
  linux.pci("pci0000:16/0000:16:01.0", bridge());
  linux.pci("pci0000:16/0000:16:01.0/0000:17:00.0", bridge());
  linux.pci("pci0000:16/0000:16:01.0/0000:17:00.0/0000:18:00.0", gpu());
  linux.pci("pci0000:00/0000:00:1f.0", {{"class", "0x060100"}, {"vendor", "0x8086"}});

  Host host = sysfs_topology(linux.root());

  REQUIRE(host.pci.size() == 3);
  CHECK(host.pci[0].bus_id == "0000:16:01.0");
  CHECK(host.pci[0].parent == -1);
  CHECK(host.pci[1].parent == 0);
  CHECK(device(host, "0000:18:00.0").parent == 1);
  CHECK(device(host, "0000:18:00.0").kind == PciKind::gpu);
  CHECK(device(host, "0000:18:00.0").host_bridge ==
        Fact<std::string>(std::string("0000:16"), Source::sysfs));
  CHECK(device(host, "0000:17:00.0").vendor == Fact<std::uint32_t>(0x1000, Source::sysfs));
  CHECK(host.pci_detail.value == PciDetail::ports);
}

TEST_CASE("a GPU's link is given now, at its best and at its slot's best") {
  MadeUpLinux linux;
  linux.pci("pci0000:16/0000:16:01.0", bridge());
  linux.pci("pci0000:16/0000:16:01.0/0000:18:00.0", gpu());

  Host host = sysfs_topology(linux.root());

  REQUIRE(host.gpus.size() == 1);
  const Gpu& found = host.gpus.front();
  CHECK(found.bus_id == Fact<std::string>(std::string("0000:18:00.0"), Source::sysfs));
  CHECK(found.numa_node.value == 1);
  CHECK(found.cpu_affinity.value == std::vector<int>{4, 5, 6, 7});
  CHECK(found.pcie.generation_now.value == 1);
  CHECK(found.pcie.generation_gpu_max.value == 6);
  CHECK(found.pcie.generation_slot_max.value == 5);
  CHECK(found.pcie.width_now.value == 8);
  CHECK(found.pcie.width_slot_max.value == 16);
}

TEST_CASE("what a virtual machine hides stays unknown") {
  MadeUpLinux linux;
  MadeUpLinux::Files files = gpu();
  files["numa_node"] = "-1";
  files["max_link_speed"] = files["current_link_speed"] = "Unknown";
  files["max_link_width"] = files["current_link_width"] = "0";
  linux.pci("pci0000:00/0000:00:06.0", files);
  linux.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
                              "model\t\t: 207\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1");

  Host host = sysfs_topology(linux.root());

  REQUIRE(host.gpus.size() == 1);
  CHECK_FALSE(host.gpus[0].numa_node);
  CHECK_FALSE(host.gpus[0].cpu_affinity);
  CHECK(host.gpus[0].pcie == PcieLink{});
  CHECK(host.numa.empty());
  CHECK(host.virtual_machine.value == true);
  CHECK(host.cpu.vendor.value == "GenuineIntel");
  CHECK(host.cpu.model.value == 207);
}

TEST_CASE("a display adapter that is not NVIDIA's is no GPU, and an NVSwitch is one") {
  MadeUpLinux linux;
  linux.pci("pci0000:00/0000:02:00.0", {{"class", "0x030000"}, {"vendor", "0x1a03"}});
  linux.pci("pci0000:05/0000:05:00.0", {{"class", "0x068000"}, {"vendor", "0x10de"}});
  linux.pci("pci0000:06/0000:06:00.0", {{"class", "0x068000"}, {"vendor", "0x8086"}});

  Host host = sysfs_topology(linux.root());

  CHECK(host.gpus.empty());
  REQUIRE(host.pci.size() == 1);
  CHECK(host.pci[0].kind == PciKind::nvswitch);
}

TEST_CASE("RDMA ports are told with kind, rate and state, and GPUDirect only on evidence") {
  MadeUpLinux linux;
  linux.pci("pci0000:16/0000:19:00.0", {{"class", "0x020700"}, {"numa_node", "0"}});
  std::string mlx = "sys/class/infiniband/mlx5_0";
  linux.link(mlx + "/device", "sys/devices/pci0000:16/0000:19:00.0");
  linux.write(mlx + "/node_guid", "506b:4b03:00cd:b0c2");
  linux.write(mlx + "/ports/1/link_layer", "InfiniBand");
  linux.write(mlx + "/ports/1/state", "4: ACTIVE");
  linux.write(mlx + "/ports/1/rate", "400 Gb/sec (4X NDR)");

  Host before = sysfs_topology(linux.root());
  linux.write("sys/module/nvidia_peermem/version", "580");
  Host after = sysfs_topology(linux.root());

  REQUIRE(before.nics.size() == 1);
  const Nic& nic = before.nics.front();
  CHECK(nic.name == "mlx5_0");
  CHECK(nic.bus_id.value == "0000:19:00.0");
  CHECK(nic.kind.value == NicKind::infiniband);
  CHECK(nic.up.value == true);
  CHECK(nic.gbit_per_s.value == 400);
  CHECK(nic.guid.value == "0x506b4b0300cdb0c2");
  CHECK(nic.numa_node.value == 0);
  CHECK_FALSE(nic.gpudirect);
  CHECK(after.nics.at(0).gpudirect == Fact<bool>(true, Source::sysfs));
}

TEST_CASE("network interfaces are those that are adapters, each once") {
  MadeUpLinux linux;
  linux.pci("pci0000:16/0000:19:00.0", {{"class", "0x020000"}});
  linux.pci("pci0000:00/0000:00:03.0", {{"class", "0x020000"}});
  linux.write("sys/devices/pci0000:00/0000:00:03.0/virtio0/vendor", "0x1af4");
  auto interface = [&](const std::string& name, const std::string& type, const std::string& state) {
    linux.write("sys/class/net/" + name + "/type", type);
    linux.write("sys/class/net/" + name + "/operstate", state);
  };
  interface("lo", "772", "unknown");
  interface("docker0", "1", "up");
  linux.write("sys/class/net/docker0/bridge/bridge_id", "x");
  interface("ib0", "32", "up");
  interface("dummy0", "1", "down"); // no device above it
  interface("eth1", "1", "up");
  linux.write("sys/class/net/eth1/speed", "100000");
  linux.link("sys/class/net/eth1/device", "sys/devices/pci0000:16/0000:19:00.0");
  interface("eth0", "1", "down");
  linux.write("sys/class/net/eth0/speed", "-1");
  linux.link("sys/class/net/eth0/device", "sys/devices/pci0000:00/0000:00:03.0/virtio0");

  Host host = sysfs_topology(linux.root());

  REQUIRE(host.nics.size() == 2);
  CHECK(host.nics[0].name == "eth0");
  CHECK(host.nics[0].bus_id.value == "0000:00:03.0");
  CHECK(host.nics[0].up.value == false);
  CHECK_FALSE(host.nics[0].gbit_per_s);
  CHECK(host.nics[1].name == "eth1");
  CHECK(host.nics[1].index == 1);
  CHECK(host.nics[1].gbit_per_s.value == 100);
  CHECK(host.nics[1].gpudirect == Fact<bool>(false, Source::derived));

  linux.link("sys/class/infiniband/mlx5_0/device", "sys/devices/pci0000:16/0000:19:00.0");
  linux.write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "Ethernet");
  host = sysfs_topology(linux.root());
  REQUIRE(host.nics.size() == 2);
  CHECK(host.nics[0].name == "mlx5_0");
  CHECK(host.nics[0].kind.value == NicKind::roce);
  CHECK(host.nics[1].name == "eth0");
}

TEST_CASE("NUMA nodes have their CPUs, memory and distances") {
  MadeUpLinux linux;
  std::string nodes = "sys/devices/system/node/";
  linux.write(nodes + "node1/cpulist", "4-7");
  linux.write(nodes + "node1/meminfo", "Node 1 MemTotal:       1024 kB\nNode 1 MemFree: 1 kB");
  linux.write(nodes + "node1/distance", "21 10");
  linux.write(nodes + "node0/cpulist", "0-3");
  linux.write(nodes + "possible", "0-1");
  for (int cpu = 0; cpu < 8; ++cpu)
    linux.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                    "/topology/physical_package_id",
                std::to_string(cpu / 4));

  Host host = sysfs_topology(linux.root());

  REQUIRE(host.numa.size() == 2);
  CHECK(host.numa[0].cpus.value == std::vector<int>{0, 1, 2, 3});
  CHECK_FALSE(host.numa[0].memory_bytes);
  CHECK(host.numa[1].index == 1);
  CHECK(host.numa[1].memory_bytes.value == std::uint64_t{1 << 20});
  CHECK(host.numa[1].distances.value == std::vector<int>{21, 10});
  CHECK(host.cpu.sockets.value == 2);
}

TEST_CASE("cores have their hyperthreads; of one that does not tell, all are unknown") {
  MadeUpLinux linux;
  std::string cpus = "sys/devices/system/cpu/cpu";
  for (int cpu : {0, 1, 2, 10, 11, 12})
    linux.write(cpus + std::to_string(cpu) + "/topology/thread_siblings_list",
                fmt::format("{},{}", cpu % 10, cpu % 10 + 10));
  linux.write(cpus + "20/online", "0");
  linux.write("sys/devices/system/cpu/cpufreq/boost", "1");

  CHECK(sysfs_topology(linux.root()).cpu.cores ==
        Fact<std::vector<std::vector<int>>>({{0, 10}, {1, 11}, {2, 12}}, Source::sysfs));
  linux.write(cpus + "3/online", "1");
  CHECK_FALSE(sysfs_topology(linux.root()).cpu.cores);
}

TEST_CASE("a system without /sys has nothing to tell") {
  MadeUpLinux linux;

  CHECK(sysfs_topology(linux.root()) == Host{});
}

TEST_CASE("this very system can be read") {
  Host host = sysfs_topology();

  CHECK(host.id);
  CHECK(host.cpu.architecture);
}
