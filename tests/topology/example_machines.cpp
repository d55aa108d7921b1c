// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/example_machines.h"

namespace ncclprobe::topology_test {

using namespace topology;

namespace {

template <typename T>
Fact<T> made_up(T value) {
  return Fact<T>(std::move(value), Source::synthetic);
}

template <typename T>
void set(Fact<T>& fact, T value) {
  fact = made_up(std::move(value));
}

Gpu full_gpu(int index, const std::string& bus_id, const std::string& peer) {
  Gpu gpu;
  gpu.index = index;
  set<std::string>(gpu.bus_id, bus_id);
  set<std::string>(gpu.name, "Example GPU");
  set<std::string>(gpu.uuid, "GPU-0000000" + std::to_string(index));
  set<std::string>(gpu.vbios, "96.00.A5.00.1A");
  set<std::string>(gpu.compute_capability, "8.0");
  set(gpu.multiprocessors, 108);
  set<std::uint64_t>(gpu.memory_bytes, 80ULL << 30);
  set(gpu.ecc_now, true);
  set(gpu.ecc_pending, false);
  set(gpu.mig_now, false);
  set(gpu.mig_pending, true);
  set(gpu.persistence, true);
  set(gpu.sm_clock_mhz, 210);
  set(gpu.sm_clock_max_mhz, 1410);
  set(gpu.memory_clock_mhz, 1593);
  set(gpu.memory_clock_max_mhz, 1593);
  set(gpu.power_limit_w, 400.0);
  set(gpu.power_limit_max_w, 400.5);
  gpu.pcie = {made_up(1), made_up(4), made_up(4), made_up(8), made_up(16), made_up(16)};
  set(gpu.numa_node, 0);
  set(gpu.near_numa_nodes, std::vector<int>{0, 1});
  set(gpu.cpu_affinity, std::vector<int>{0, 1, 2, 3});
  NvLink link{made_up(0),    made_up<std::string>("3.0"), made_up(true),
              made_up(25.0), made_up(RemoteKind::gpu),    made_up(peer),
              made_up(5)};
  set(gpu.nvlinks, std::vector<NvLink>{link});
  gpu.fabric = {made_up<std::string>("completed"), made_up<std::string>("success"),
                made_up<std::string>("00000000-0000"), made_up(0), made_up<std::string>("healthy")};
  set(gpu.gpudirect, true);
  set(gpu.rank, index);
  return gpu;
}

PciDevice full_pci(const std::string& bus_id, int parent, std::uint32_t pci_class) {
  PciDevice device;
  device.bus_id = bus_id;
  device.parent = parent;
  device.kind = kind_of_pci_class(pci_class);
  set<std::string>(device.name, "Example device");
  set(device.pci_class, pci_class);
  set<std::uint32_t>(device.vendor, 0x10de);
  set<std::uint32_t>(device.device, 0x1234);
  set<std::uint32_t>(device.subsystem_vendor, 0x10de);
  set<std::uint32_t>(device.subsystem_device, 0x134f);
  set(device.gt_per_s, 16.0);
  set(device.width, 16);
  set(device.gt_per_s_max, 16.0);
  set(device.width_max, 16);
  set(device.numa_node, 0);
  set<std::string>(device.host_bridge, "0000:16");
  return device;
}

} // namespace

Machine full_machine() {
  Host host;
  set<std::string>(host.name, "example");
  set<std::string>(host.id, "0x1234");
  set<std::string>(host.driver_version, "580.1");
  set<std::string>(host.cuda_driver_version, "13.0");
  set(host.virtual_machine, false);
  host.cpu = {made_up<std::string>("x86_64"),
              made_up<std::string>("GenuineIntel"),
              made_up(6),
              made_up(143),
              made_up<std::string>("Example CPU"),
              made_up(1),
              made_up(std::vector<std::vector<int>>{{0, 2}, {1, 3}})};
  host.numa = {{0, made_up(std::vector<int>{0, 1, 2, 3}), made_up<std::uint64_t>(1ULL << 38),
                made_up(std::vector<int>{10})}};
  host.pci = {full_pci("0000:17:00.0", -1, 0x060400), full_pci("0000:18:00.0", 0, 0x030200),
              full_pci("0000:19:00.0", 0, 0x030200), full_pci("0000:1a:00.0", 0, 0x020700)};
  set(host.pci_detail, PciDetail::switches);
  host.gpus = {full_gpu(0, "0000:18:00.0", "0000:19:00.0"),
               full_gpu(1, "0000:19:00.0", "0000:18:00.0")};
  Nic nic;
  nic.name = "mlx5_0";
  set<std::string>(nic.bus_id, "0000:1a:00.0");
  set(nic.port, 1);
  set(nic.kind, NicKind::infiniband);
  set(nic.up, true);
  set(nic.gbit_per_s, 200.0);
  set(nic.numa_node, 0);
  set(nic.gpudirect, true);
  set<std::string>(nic.guid, "0x506b4b0300cdb0c2");
  set(nic.latency_us, 0.5);
  set(nic.most_connections, 65536);
  host.nics = {nic};
  P2pCapability pair{0,
                     1,
                     made_up(P2pStatus::ok),
                     made_up(P2pStatus::ok),
                     made_up(P2pStatus::gpu_not_supported),
                     made_up(P2pStatus::ok),
                     made_up(true)};
  host.p2p = {pair};
  host.stated_paths = {
      {{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, {PathType::nvlink, 1}, Source::synthetic},
      {{DeviceKind::gpu, 0}, {DeviceKind::nic, 0}, {PathType::pix, 0}, Source::synthetic}};
  return {{host}};
}

} // namespace ncclprobe::topology_test
