// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/fact.h"
#include "machine/path.h"

#include "base/fields.h"

#include <cstdint>
#include <string>
#include <vector>

// The machine as plain data, filled from live sources or from other programs' files. Every value
// that can come from several sources is a Fact, which names its source; absent is unknown. PCI
// addresses have the form of normal_bus_id() ("0000:1b:00.0"). Bandwidths are decimal and for one
// direction.
namespace ncclprobe::topology {

// Attributes of facts (base/fields.h). Passing: it changes over time, so different values of two
// sources are no contradiction. Unlisted: each source has its own kind of it.
struct Passing {};
struct Unlisted {};
#define NCCLPROBE_PASSING(name)                                                                    \
  visit(#name, &Described::name, ::ncclprobe::base::lenient, ::ncclprobe::topology::Passing());
#define NCCLPROBE_UNLISTED(name)                                                                   \
  visit(#name, &Described::name, ::ncclprobe::base::lenient, ::ncclprobe::topology::Unlisted());

enum class RemoteKind { gpu, nvswitch, cpu };

// One NVLink from its GPU's point of view.
struct NvLink {
  Fact<int> number;          // NCCL's dumps only count links
  Fact<std::string> version; // "4.0"
  Fact<bool> active;
  Fact<double> gb_per_s; // signalling rate as reported: 26.562 on a link that carries 25
  Fact<RemoteKind> remote;
  Fact<std::string> remote_bus_id; // unknown for the NVSwitches of a virtual machine
  Fact<int> remote_number;         // the link's number at the other end
  bool operator==(const NvLink&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(NvLink, number, version, active, gb_per_s, remote, remote_bus_id,
                         remote_number)

// GPUs with NVSwitches are usable only after the fabric manager has registered them.
struct Fabric {
  Fact<std::string> state;  // "completed", "in_progress", "not_started", "not_supported"
  Fact<std::string> status; // "success", or the error
  Fact<std::string> cluster_uuid;
  Fact<int> clique;
  Fact<std::string> health; // the driver's report, as text
  bool operator==(const Fabric&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Fabric, state, status, cluster_uuid, clique, health)

struct PcieLink {
  Fact<int> generation_now; // drops to 1 while a GPU is idle, which is not a fault
  Fact<int> generation_gpu_max;
  Fact<int> generation_slot_max; // what GPU and slot support together
  Fact<int> width_now;
  Fact<int> width_gpu_max;
  Fact<int> width_slot_max;
  bool operator==(const PcieLink&) const = default;
};
NCCLPROBE_DESCRIBE(PcieLink, NCCLPROBE_EACH(PASSING, generation_now),
                   NCCLPROBE_EACH(LENIENT, generation_gpu_max, generation_slot_max),
                   NCCLPROBE_EACH(PASSING, width_now),
                   NCCLPROBE_EACH(LENIENT, width_gpu_max, width_slot_max))

struct Gpu {
  int index = 0; // the source's number, else in order of bus ids; unique within its host
  Fact<std::string> bus_id;
  Fact<std::string> name;
  Fact<std::string> uuid;
  Fact<std::string> vbios;              // version of its firmware: "96.00.A5.00.1A"
  Fact<std::string> compute_capability; // "9.0"
  Fact<int> multiprocessors;
  Fact<std::uint64_t> memory_bytes;
  Fact<bool> ecc_now;
  Fact<bool> ecc_pending; // after the next reset
  Fact<bool> mig_now;
  Fact<bool> mig_pending;
  Fact<bool> persistence;
  Fact<int> sm_clock_mhz;
  Fact<int> sm_clock_max_mhz;
  Fact<int> memory_clock_mhz;
  Fact<int> memory_clock_max_mhz;
  Fact<double> power_limit_w;
  Fact<double> power_limit_max_w;
  PcieLink pcie;
  Fact<int> numa_node; // of the CPUs near it, as Linux numbers it
  // Set if a source lists several nodes: some nodes hold GPUs' memory and no CPUs, or the firmware
  // does not say which node is near. numa_node is then unknown.
  Fact<std::vector<int>> near_numa_nodes;
  Fact<std::vector<int>> cpu_affinity;
  Fact<std::vector<NvLink>> nvlinks; // an empty list: somebody looked, and there are none
  Fabric fabric;
  Fact<bool> gpudirect; // NICs can reach its memory
  Fact<int> rank;       // of the program that the source examined
  bool operator==(const Gpu&) const = default;
};
NCCLPROBE_DESCRIBE(Gpu,
                   NCCLPROBE_EACH(LENIENT, index, bus_id, name, uuid, vbios, compute_capability,
                                  multiprocessors, memory_bytes, ecc_now, ecc_pending, mig_now,
                                  mig_pending, persistence),
                   NCCLPROBE_EACH(PASSING, sm_clock_mhz), NCCLPROBE_EACH(LENIENT, sm_clock_max_mhz),
                   NCCLPROBE_EACH(PASSING, memory_clock_mhz),
                   NCCLPROBE_EACH(LENIENT, memory_clock_max_mhz, power_limit_w, power_limit_max_w,
                                  pcie, numa_node, near_numa_nodes, cpu_affinity),
                   NCCLPROBE_EACH(UNLISTED, nvlinks),
                   NCCLPROBE_EACH(LENIENT, fabric, gpudirect, rank))

enum class NicKind { infiniband, roce, ethernet, efa, other };

// One port of a network adapter.
struct Nic {
  int index = 0;    // the source's number; unique within its host
  std::string name; // "mlx5_0", "eth0"
  Fact<std::string> bus_id;
  Fact<int> port;
  Fact<NicKind> kind;
  Fact<bool> up;
  Fact<double> gbit_per_s;
  Fact<int> numa_node;
  Fact<bool> gpudirect;
  Fact<std::string> guid; // "0x506b4b0300cdb0c2"
  Fact<double> latency_us;
  Fact<int> most_connections;
  bool operator==(const Nic&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Nic, index, name, bus_id, port, kind, up, gbit_per_s, numa_node, gpudirect,
                         guid, latency_us, most_connections)

enum class PciKind { bridge, gpu, nic, nvswitch, other };

// The kind of bridges in a PCI tree: each port of a switch (Linux, hwloc), or each switch as one
// (NCCL).
enum class PciDetail { ports, switches };

// Placeholders group devices in a virtual machine's file (bus ids ffff:ff:xx): these devices share
// a switch, about which nothing else is known.
enum class PciOrigin { real, stand_in };

struct PciDevice {
  std::string bus_id;
  int parent = -1; // position in Host::pci; -1: nothing is known between it and the CPU
  PciKind kind = PciKind::other;
  PciOrigin origin = PciOrigin::real;
  Fact<std::string> name;
  Fact<std::uint32_t> pci_class; // 0x060400
  Fact<std::uint32_t> vendor;
  Fact<std::uint32_t> device;
  Fact<std::uint32_t> subsystem_vendor;
  Fact<std::uint32_t> subsystem_device;
  Fact<double> gt_per_s; // of the link upwards, per lane
  Fact<int> width;
  Fact<double> gt_per_s_max;
  Fact<int> width_max;
  Fact<int> numa_node;
  Fact<std::string> host_bridge; // its root, "0000:16"; NCCL's dumps lack it
  bool operator==(const PciDevice&) const = default;
};
NCCLPROBE_DESCRIBE(PciDevice,
                   NCCLPROBE_EACH(LENIENT, bus_id, parent, kind, origin, name, pci_class, vendor,
                                  device, subsystem_vendor, subsystem_device),
                   NCCLPROBE_EACH(PASSING, gt_per_s, width),
                   NCCLPROBE_EACH(LENIENT, gt_per_s_max, width_max, numa_node, host_bridge))

struct NumaNode {
  int index = 0; // as Linux numbers it
  Fact<std::vector<int>> cpus;
  Fact<std::uint64_t> memory_bytes;
  Fact<std::vector<int>> distances; // to each NUMA node of the host, in their order; 10 is itself
  bool operator==(const NumaNode&) const = default;
};
NCCLPROBE_DESCRIBE(NumaNode, NCCLPROBE_EACH(LENIENT, index, cpus),
                   NCCLPROBE_EACH(PASSING, memory_bytes), NCCLPROBE_EACH(LENIENT, distances))

struct Cpu {
  Fact<std::string> architecture; // "x86_64"
  Fact<std::string> vendor;       // "GenuineIntel"
  Fact<int> family;
  Fact<int> model;
  Fact<std::string> name;
  Fact<int> sockets;
  // The CPUs of each core: one, or its hyperthreads. Ordered by each core's first CPU.
  Fact<std::vector<std::vector<int>>> cores;
  bool operator==(const Cpu&) const = default;
};
NCCLPROBE_DESCRIBE(Cpu, NCCLPROBE_EACH(LENIENT, architecture, vendor, family, model, name, sockets),
                   NCCLPROBE_EACH(PASSING, cores))

enum class P2pStatus {
  ok,
  chipset_not_supported,
  topology_not_supported, // e.g. across two I/O hubs
  gpu_not_supported,
  disabled_by_regkey,
  not_supported,
};

// The access of a GPU to another one's memory.
struct P2pCapability {
  int from = 0; // Gpu::index
  int to = 0;
  Fact<P2pStatus> read;
  Fact<P2pStatus> write;
  Fact<P2pStatus> atomics;
  Fact<P2pStatus> nvlink;
  Fact<bool> can_access; // cudaDeviceCanAccessPeer
  bool operator==(const P2pCapability&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(P2pCapability, from, to, read, write, atomics, nvlink, can_access)

enum class DeviceKind { gpu, nic };

struct DeviceRef {
  DeviceKind kind = DeviceKind::gpu;
  int index = 0; // Gpu::index or Nic::index
  bool operator==(const DeviceRef&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(DeviceRef, kind, index)

// A path that a source states, for one unordered pair (`a` is the GPU, or the lower index).
struct StatedPath {
  DeviceRef a;
  DeviceRef b;
  Path path;
  Source source = Source::none;
  bool operator==(const StatedPath&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(StatedPath, a, b, path, source)

struct Host {
  Fact<std::string> name;
  Fact<std::string> id; // same id = same host: boot id, or NCCL's host hash ("0xd992bb75fb8a6883")
  Fact<std::string> driver_version;
  Fact<std::string> cuda_driver_version; // the newest CUDA that the driver supports: "13.0"
  Fact<bool> virtual_machine;
  Cpu cpu;
  std::vector<NumaNode> numa; // empty: unknown, as in many virtual machines
  std::vector<PciDevice> pci; // parents before children; only ancestors of a GPU, NIC or NVSwitch
  Fact<PciDetail> pci_detail;
  std::vector<Gpu> gpus; // by index
  std::vector<Nic> nics; // by index
  std::vector<P2pCapability> p2p;
  std::vector<StatedPath> stated_paths;
  bool operator==(const Host&) const = default;

  const Gpu* gpu(int index) const;
  // With this PCI address in any form.
  const Gpu* gpu_at(std::string_view bus_id) const;
  const Nic* nic(int index) const;
  const PciDevice* pci_device(std::string_view bus_id) const;
  const NumaNode* numa_node(int index) const;
};
NCCLPROBE_DESCRIBE(Host, NCCLPROBE_EACH(UNLISTED, name, id),
                   NCCLPROBE_EACH(LENIENT, driver_version, cuda_driver_version, virtual_machine,
                                  cpu, numa, pci),
                   NCCLPROBE_EACH(UNLISTED, pci_detail),
                   NCCLPROBE_EACH(LENIENT, gpus, nics, p2p, stated_paths))

struct Machine {
  std::vector<Host> hosts;
  bool operator==(const Machine&) const = default;
};
NCCLPROBE_LENIENT_FIELDS(Machine, hosts)

// "00000000:1B:00.0" -> "0000:1b:00.0"; the domain keeps at least four digits. Nothing if it is not
// a PCI address of that form.
std::optional<std::string> normal_bus_id(std::string_view text);

// Our category for a device of this PCI class (0x030200).
PciKind kind_of_pci_class(std::uint32_t pci_class);

} // namespace ncclprobe::topology
