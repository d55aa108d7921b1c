// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>
#include <vector>

// Made-up hosts in a few words: every fact has Source::synthetic.
namespace ncclprobe::topology_test {

template <typename T>
topology::Fact<T> said(T value) {
  return topology::Fact<T>(std::move(value), topology::Source::synthetic);
}

class HostBuilder {
public:
  explicit HostBuilder(const std::string& name) {
    host_.name = fact(name);
    host_.pci_detail = fact(topology::PciDetail::switches);
  }

  // `cpus` from `first` on.
  HostBuilder& numa(int node, int first, int cpus) {
    std::vector<int> list;
    for (int i = 0; i < cpus; ++i)
      list.push_back(first + i);
    topology::NumaNode made;
    made.index = node;
    made.cpus = fact(list);
    host_.numa.push_back(made);
    return *this;
  }

  // A PCIe switch of generation 4 on the CPU of this node; its position.
  int pci_switch(const std::string& bus_id, int node) {
    return device(bus_id, -1, node, topology::PciKind::bridge);
  }

  // `parent` as pci_switch() gave it, or -1.
  HostBuilder& gpu(const std::string& bus_id, int parent, int node,
                   const std::string& capability = "9.0") {
    device(bus_id, parent, node, topology::PciKind::gpu);
    topology::Gpu made;
    made.index = static_cast<int>(host_.gpus.size());
    made.bus_id = fact(bus_id);
    made.compute_capability = fact(capability);
    made.numa_node = fact(node);
    made.nvlinks = fact(std::vector<topology::NvLink>{});
    host_.gpus.push_back(made);
    return *this;
  }

  HostBuilder& nic(const std::string& name, const std::string& bus_id, int parent, int node,
                   double gbit_per_s) {
    device(bus_id, parent, node, topology::PciKind::nic);
    topology::Nic made;
    made.index = static_cast<int>(host_.nics.size());
    made.name = name;
    made.bus_id = fact(bus_id);
    made.kind = fact(topology::NicKind::infiniband);
    made.up = fact(true);
    made.gbit_per_s = fact(gbit_per_s);
    host_.nics.push_back(made);
    return *this;
  }

  // Links of 25 GB/s from each GPU to NVSwitches.
  HostBuilder& to_switches(int links) {
    for (topology::Gpu& one : host_.gpus)
      for (int i = 0; i < links; ++i)
        add_link(one, topology::RemoteKind::nvswitch, "");
    return *this;
  }

  HostBuilder& between(int a, int b, int links) {
    for (int i = 0; i < links; ++i) {
      add_link(gpu_at(a), topology::RemoteKind::gpu, *gpu_at(b).bus_id);
      add_link(gpu_at(b), topology::RemoteKind::gpu, *gpu_at(a).bus_id);
    }
    return *this;
  }

  topology::Host host() const { return host_; }

private:
  template <typename T>
  static topology::Fact<T> fact(T value) {
    return {std::move(value), topology::Source::synthetic};
  }

  topology::Gpu& gpu_at(int index) { return host_.gpus.at(static_cast<std::size_t>(index)); }

  static void add_link(topology::Gpu& gpu, topology::RemoteKind remote, const std::string& bus_id) {
    topology::NvLink link;
    link.active = fact(true);
    link.version = fact(std::string("4.0"));
    link.gb_per_s = fact(25.0);
    link.remote = fact(remote);
    if (!bus_id.empty())
      link.remote_bus_id = fact(bus_id);
    gpu.nvlinks->push_back(link);
  }

  int device(const std::string& bus_id, int parent, int node, topology::PciKind kind) {
    topology::PciDevice made;
    made.bus_id = bus_id;
    made.parent = parent;
    made.kind = kind;
    made.numa_node = fact(node);
    made.gt_per_s = made.gt_per_s_max = fact(16.0);
    made.width = made.width_max = fact(16);
    host_.pci.push_back(made);
    return static_cast<int>(host_.pci.size()) - 1;
  }

  topology::Host host_;
};

} // namespace ncclprobe::topology_test
