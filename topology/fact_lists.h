// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topology/machine.h"

#include <string_view>
#include <tuple>

// The facts of each thing in a machine, by name: what merging compares and `facts` shows.
namespace ncclprobe::topology {

// Some values change by themselves: that two sources saw different ones is no contradiction.
enum class Nature { fixed, passing };

template <typename Owner, typename T>
struct NamedFact {
  std::string_view name;
  Fact<T> Owner::*field;
  Nature nature = Nature::fixed;
};
// clang deduces nothing from aggregates before its release 17.
template <typename Owner, typename T>
NamedFact(std::string_view, Fact<T> Owner::*, Nature = Nature::fixed) -> NamedFact<Owner, T>;

constexpr auto facts_of(const PcieLink*) {
  using P = PcieLink;
  return std::tuple(NamedFact{"pcie_generation_now", &P::generation_now, Nature::passing},
                    NamedFact{"pcie_generation_gpu_max", &P::generation_gpu_max},
                    NamedFact{"pcie_generation_slot_max", &P::generation_slot_max},
                    NamedFact{"pcie_width_now", &P::width_now},
                    NamedFact{"pcie_width_gpu_max", &P::width_gpu_max},
                    NamedFact{"pcie_width_slot_max", &P::width_slot_max});
}

constexpr auto facts_of(const Fabric*) {
  using F = Fabric;
  return std::tuple(NamedFact{"fabric_state", &F::state}, NamedFact{"fabric_status", &F::status},
                    NamedFact{"fabric_cluster_uuid", &F::cluster_uuid},
                    NamedFact{"fabric_clique", &F::clique}, NamedFact{"fabric_health", &F::health});
}

// Without pcie, fabric and the NVLinks, which have lists of their own.
constexpr auto facts_of(const Gpu*) {
  using G = Gpu;
  return std::tuple(
      NamedFact{"bus_id", &G::bus_id}, NamedFact{"name", &G::name}, NamedFact{"uuid", &G::uuid},
      NamedFact{"compute_capability", &G::compute_capability},
      NamedFact{"multiprocessors", &G::multiprocessors},
      NamedFact{"memory_bytes", &G::memory_bytes}, NamedFact{"ecc_now", &G::ecc_now},
      NamedFact{"ecc_pending", &G::ecc_pending}, NamedFact{"mig_now", &G::mig_now},
      NamedFact{"mig_pending", &G::mig_pending}, NamedFact{"persistence", &G::persistence},
      NamedFact{"sm_clock_mhz", &G::sm_clock_mhz, Nature::passing},
      NamedFact{"sm_clock_max_mhz", &G::sm_clock_max_mhz},
      NamedFact{"memory_clock_mhz", &G::memory_clock_mhz, Nature::passing},
      NamedFact{"memory_clock_max_mhz", &G::memory_clock_max_mhz},
      NamedFact{"power_limit_w", &G::power_limit_w},
      NamedFact{"power_limit_max_w", &G::power_limit_max_w}, NamedFact{"numa_node", &G::numa_node},
      NamedFact{"near_numa_nodes", &G::near_numa_nodes},
      NamedFact{"cpu_affinity", &G::cpu_affinity}, NamedFact{"gpudirect", &G::gpudirect},
      NamedFact{"rank", &G::rank});
}

constexpr auto facts_of(const NvLink*) {
  using L = NvLink;
  return std::tuple(NamedFact{"number", &L::number}, NamedFact{"version", &L::version},
                    NamedFact{"active", &L::active}, NamedFact{"gb_per_s", &L::gb_per_s},
                    NamedFact{"remote", &L::remote}, NamedFact{"remote_bus_id", &L::remote_bus_id},
                    NamedFact{"remote_number", &L::remote_number});
}

constexpr auto facts_of(const Nic*) {
  using N = Nic;
  return std::tuple(NamedFact{"bus_id", &N::bus_id}, NamedFact{"port", &N::port},
                    NamedFact{"kind", &N::kind}, NamedFact{"up", &N::up},
                    NamedFact{"gbit_per_s", &N::gbit_per_s}, NamedFact{"numa_node", &N::numa_node},
                    NamedFact{"gpudirect", &N::gpudirect}, NamedFact{"guid", &N::guid},
                    NamedFact{"latency_us", &N::latency_us},
                    NamedFact{"most_connections", &N::most_connections});
}

constexpr auto facts_of(const PciDevice*) {
  using D = PciDevice;
  return std::tuple(NamedFact{"name", &D::name}, NamedFact{"pci_class", &D::pci_class},
                    NamedFact{"vendor", &D::vendor}, NamedFact{"device", &D::device},
                    NamedFact{"subsystem_vendor", &D::subsystem_vendor},
                    NamedFact{"subsystem_device", &D::subsystem_device},
                    NamedFact{"gt_per_s", &D::gt_per_s, Nature::passing},
                    NamedFact{"width", &D::width, Nature::passing},
                    NamedFact{"gt_per_s_max", &D::gt_per_s_max},
                    NamedFact{"width_max", &D::width_max}, NamedFact{"numa_node", &D::numa_node},
                    NamedFact{"host_bridge", &D::host_bridge});
}

constexpr auto facts_of(const NumaNode*) {
  using N = NumaNode;
  return std::tuple(NamedFact{"cpus", &N::cpus},
                    NamedFact{"memory_bytes", &N::memory_bytes, Nature::passing},
                    NamedFact{"distances", &N::distances});
}

constexpr auto facts_of(const Cpu*) {
  using C = Cpu;
  return std::tuple(NamedFact{"architecture", &C::architecture}, NamedFact{"vendor", &C::vendor},
                    NamedFact{"family", &C::family}, NamedFact{"model", &C::model},
                    NamedFact{"name", &C::name}, NamedFact{"sockets", &C::sockets},
                    // A container may show a part of them.
                    NamedFact{"cores", &C::cores, Nature::passing});
}

constexpr auto facts_of(const P2pCapability*) {
  using P = P2pCapability;
  return std::tuple(NamedFact{"read", &P::read}, NamedFact{"write", &P::write},
                    NamedFact{"atomics", &P::atomics}, NamedFact{"nvlink", &P::nvlink},
                    NamedFact{"can_access", &P::can_access});
}

// Without name and id, of which each source has its own kind, and the CPU, which has its own list.
constexpr auto facts_of(const Host*) {
  using H = Host;
  return std::tuple(NamedFact{"driver_version", &H::driver_version},
                    NamedFact{"cuda_driver_version", &H::cuda_driver_version},
                    NamedFact{"virtual_machine", &H::virtual_machine});
}

// Calls f(named fact) for each fact that `Owner` may have.
template <typename Owner, typename F>
void for_each_fact(F f) {
  std::apply([&](const auto&... named) { (f(named), ...); },
             facts_of(static_cast<const Owner*>(nullptr)));
}

// A fact's value in words: "yes", "0-15,32-47", "0x10de", "H200".
std::string words_of(bool value);
std::string words_of(int value);
std::string words_of(double value);
std::string words_of(std::uint32_t value);
std::string words_of(std::uint64_t value);
std::string words_of(const std::string& value);
std::string words_of(const std::vector<int>& value);
std::string words_of(const std::vector<std::vector<int>>& value); // "0,32 1,33"
template <typename E>
requires std::is_enum_v<E> std::string words_of(E value) {
  return std::string(to_string(value));
}

} // namespace ncclprobe::topology
