// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/render/facts.h"

#include "machine/fact_lists.h"

#include "base/text_table.h"
#include "topology/derive.h"

#include <fmt/format.h>

namespace ncclprobe::topology {
namespace {

class Facts {
public:
  void add(const Host& host, std::size_t number) {
    host_ = fmt::format("host {}", number);
    add_fact("", "name", host.name);
    add_fact("", "id", host.id);
    add_all("", host);
    add_fact("", "pci_detail", host.pci_detail);
    add_all("CPU", host.cpu);
    for (const NumaNode& node : host.numa)
      add_all(fmt::format("NUMA node {}", node.index), node);
    for (const Gpu& gpu : host.gpus)
      add_gpu(gpu);
    for (const Nic& nic : host.nics)
      add_all("NIC " + nic_label(nic), nic);
    for (const PciDevice& device : host.pci)
      add_all("PCI " + device.bus_id, device);
    for (const P2pCapability& pair : host.p2p)
      add_all(fmt::format("P2P GPU {} to {}", pair.from, pair.to), pair);
    for (const StatedPath& stated : host.stated_paths)
      table_.add_row({host_, fmt::format("{} - {}", end(stated.a), end(stated.b)), "path",
                      stated.path.label(), std::string(to_string(stated.source))});
  }

  std::string render() const { return table_.render(); }

private:
  static std::string end(const DeviceRef& ref) {
    return fmt::format("{} {}", ref.kind == DeviceKind::gpu ? "GPU" : "NIC", ref.index);
  }

  template <typename T>
  void add_fact(const std::string& of, const std::string& name, const Fact<T>& fact) {
    if (fact)
      table_.add_row({host_, of, name, words_of(*fact), std::string(to_string(fact.source))});
  }

  template <typename Owner>
  void add_all(const std::string& of, const Owner& owner) {
    for_each_fact<Owner>([&](const auto& named) { add_fact(of, named.name, owner.*named.field); });
  }

  void add_gpu(const Gpu& gpu) {
    std::string of = fmt::format("GPU {}", gpu.index);
    add_all(of, gpu);
    add_all(of, gpu.pcie);
    add_all(of, gpu.fabric);
    if (!gpu.nvlinks)
      return;
    if (gpu.nvlinks->empty())
      table_.add_row({host_, of, "nvlinks", "none", std::string(to_string(gpu.nvlinks.source))});
    for (std::size_t i = 0; i < gpu.nvlinks->size(); ++i)
      add_all(
          fmt::format("{} NVLink {}", of, gpu.nvlinks->at(i).number.value_or(static_cast<int>(i))),
          gpu.nvlinks->at(i));
  }

  using Align = base::TextTable::Align;
  base::TextTable table_{{{"host", Align::left},
                          {"of", Align::left},
                          {"fact", Align::left},
                          {"value", Align::left},
                          {"source", Align::left}}};
  std::string host_;
};

} // namespace

std::string render_facts(const Machine& machine) {
  Facts facts;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i)
    facts.add(machine.hosts[i], i);
  return facts.render();
}

} // namespace ncclprobe::topology
