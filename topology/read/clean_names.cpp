// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/clean_names.h"

#include "machine/fact_lists.h"

#include "base/printable.h"

#include <type_traits>

namespace ncclprobe::topology {

namespace {

void clean(std::string& text) {
  text = base::printable(text);
}

void clean(Fact<std::string>& fact) {
  if (fact)
    clean(*fact);
}

template <typename Owner>
void clean_facts(Owner& owner) {
  for_each_fact<Owner>([&](const auto& named) {
    auto& fact = owner.*named.field;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(fact)>, Fact<std::string>>)
      clean(fact);
  });
}

void clean_gpu(Gpu& gpu) {
  clean_facts(gpu);
  clean_facts(gpu.fabric);
  if (gpu.nvlinks)
    for (NvLink& link : *gpu.nvlinks)
      clean_facts(link);
}

} // namespace

void clean_names(Machine& machine) {
  for (Host& host : machine.hosts) {
    clean(host.name);
    clean(host.id);
    clean_facts(host);
    clean_facts(host.cpu);
    for (Gpu& gpu : host.gpus)
      clean_gpu(gpu);
    for (Nic& nic : host.nics) {
      clean(nic.name);
      clean_facts(nic);
    }
    for (PciDevice& device : host.pci)
      clean_facts(device);
  }
}

void clean_names(std::vector<NcclGraph>& graphs) {
  for (NcclGraph& graph : graphs)
    for (std::string* text : {&graph.path_intra, &graph.path_inter})
      clean(*text);
}

} // namespace ncclprobe::topology
