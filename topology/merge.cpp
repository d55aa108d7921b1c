// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/merge.h"

#include "machine/fact_lists.h"

#include "topology/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ncclprobe::topology {
namespace {

template <typename T>
bool agree(const T& a, const T& b) {
  return a == b;
}
bool agree(P2pStatus a, P2pStatus b) { // some sources give no reason
  return (a == P2pStatus::ok) == (b == P2pStatus::ok);
}

class Merger {
public:
  void add(const Host& source) {
    fill(result_.host, source, "host");
    fill(result_.host.cpu, source.cpu, "CPU");
    result_.host.name.fill_from(source.name);
    result_.host.id.fill_from(
        source.id); // NCCL's hash is another kind of identity: no contradiction
    add_numa_nodes(source);
    add_pci(source);
    std::map<int, int> gpu_numbers = add_gpus(source);
    std::map<int, int> nic_numbers = add_nics(source);
    add_pairs(source, gpu_numbers, nic_numbers);
  }

  Merged take() {
    std::ranges::sort(result_.host.gpus, {}, &Gpu::index);
    for (std::size_t i = 0; i < result_.host.nics.size(); ++i)
      result_.host.nics[i].index = static_cast<int>(i);
    return std::move(result_);
  }

private:
  // Copies every fact of `from` that `into` lacks; notes differences.
  template <typename Owner>
  void fill(Owner& into, const Owner& from, const std::string& whose) {
    for_each_fact<Owner>([&](const auto& named) {
      auto& known = into.*named.field;
      const auto& other = from.*named.field;
      bool guess = known.source == Source::derived || other.source == Source::derived;
      if (known && other && !agree(*known, *other) && !named.passing && !guess)
        result_.contradictions.push_back(
            fmt::format("{}: {} is {} by {}, {} by {}", whose, named.name, words_of(*known),
                        to_string(known.source), words_of(*other), to_string(other.source)));
      known.fill_from(other);
    });
  }

  void add_numa_nodes(const Host& source) {
    for (const NumaNode& node : source.numa) {
      auto known = std::ranges::find(result_.host.numa, node.index, &NumaNode::index);
      if (known == result_.host.numa.end())
        result_.host.numa.push_back(node);
      else
        fill(*known, node, fmt::format("NUMA node {}", node.index));
    }
    std::ranges::sort(result_.host.numa, {}, &NumaNode::index);
  }

  void add_pci(const Host& source) {
    if (result_.host.pci.empty()) {
      result_.host.pci = source.pci;
      result_.host.pci_detail = source.pci_detail;
      return;
    }
    for (const PciDevice& device : source.pci) {
      auto known = std::ranges::find(result_.host.pci, device.bus_id, &PciDevice::bus_id);
      if (known != result_.host.pci.end())
        fill(*known, device, "PCI device " + device.bus_id);
    }
  }

  Gpu* known_gpu(const Gpu& gpu) {
    for (Gpu& known : result_.host.gpus)
      if ((gpu.bus_id && known.bus_id && *gpu.bus_id == *known.bus_id) ||
          (gpu.uuid && known.uuid && *gpu.uuid == *known.uuid))
        return &known;
    return nullptr;
  }

  // Numbers in the result, indexed by those of the source.
  std::map<int, int> add_gpus(const Host& source) {
    std::map<int, int> numbers;
    for (const Gpu& gpu : source.gpus) {
      Gpu* known = known_gpu(gpu);
      if (known == nullptr) {
        int free = 0;
        for (const Gpu& other : result_.host.gpus)
          free = std::max(free, other.index + 1);
        bool taken = result_.host.gpu(gpu.index) != nullptr;
        known = &result_.host.gpus.emplace_back(gpu);
        if (taken)
          known->index = free;
      } else {
        std::string whose = fmt::format("GPU {} ({})", known->index, known->bus_id.value_or("?"));
        fill(*known, gpu, whose);
        fill(known->pcie, gpu.pcie, whose);
        fill(known->fabric, gpu.fabric, whose);
        add_links(*known, gpu, whose);
      }
      numbers[gpu.index] = known->index;
    }
    return numbers;
  }

  // Links cannot be matched one by one, because some sources only count them.
  void add_links(Gpu& into, const Gpu& from, const std::string& whose) {
    auto active = [](const Gpu& gpu) {
      return std::ranges::count_if(*gpu.nvlinks,
                                   [](const NvLink& link) { return link.active.value_or(true); });
    };
    if (into.nvlinks && from.nvlinks && active(into) != active(from))
      result_.contradictions.push_back(fmt::format("{}: {} active NVLinks by {}, {} by {}", whose,
                                                   active(into), to_string(into.nvlinks.source),
                                                   active(from), to_string(from.nvlinks.source)));
    into.nvlinks.fill_from(from.nvlinks);
  }

  std::map<int, int> add_nics(const Host& source) {
    std::map<int, int> numbers;
    for (const Nic& nic : source.nics) {
      auto& nics = result_.host.nics;
      auto known = std::ranges::find_if(nics, [&](const Nic& other) {
        bool same_port = !nic.port || !other.port || *nic.port == *other.port;
        return nic.name.empty() || other.name.empty()
                   ? nic.bus_id && other.bus_id && *nic.bus_id == *other.bus_id
                   : nic.name == other.name && same_port;
      });
      if (known == nics.end()) {
        known = nics.insert(nics.end(), nic);
      } else {
        if (known->name.empty())
          known->name = nic.name;
        // NCCL counts ports from 0, and gives every plain interface 10 Gbit/s and a port.
        Nic other = nic;
        if (nic.gbit_per_s.source == Source::nccl && known->gbit_per_s)
          other.gbit_per_s = {};
        if (nic.port.source == Source::nccl && known->port)
          other.port = {};
        fill(*known, other, "NIC " + nic_label(*known));
      }
      numbers[nic.index] = static_cast<int>(known - nics.begin());
    }
    return numbers;
  }

  void add_pairs(const Host& source, const std::map<int, int>& gpus,
                 const std::map<int, int>& nics) {
    for (P2pCapability pair : source.p2p) {
      pair.from = gpus.at(pair.from);
      pair.to = gpus.at(pair.to);
      auto known = std::ranges::find_if(result_.host.p2p, [&](const P2pCapability& other) {
        return other.from == pair.from && other.to == pair.to;
      });
      if (known == result_.host.p2p.end())
        result_.host.p2p.push_back(pair);
      else
        fill(*known, pair, fmt::format("P2P from GPU {} to GPU {}", pair.from, pair.to));
    }
    for (StatedPath stated : source.stated_paths) {
      for (DeviceRef* end : {&stated.a, &stated.b})
        end->index = (end->kind == DeviceKind::gpu ? gpus : nics).at(end->index);
      if (stated.a.kind == stated.b.kind && stated.b.index < stated.a.index)
        std::swap(stated.a, stated.b);
      result_.host.stated_paths.push_back(stated);
    }
  }

  Merged result_;
};

} // namespace

Merged merge_sources(const std::vector<Host>& sources) {
  Merger merger;
  for (const Host& source : sources)
    merger.add(source);
  return merger.take();
}

} // namespace ncclprobe::topology
