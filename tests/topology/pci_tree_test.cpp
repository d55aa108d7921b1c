// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_files.h"
#include "topology/pci_tree.h"

using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

std::string bus_id_at(const Host& host, int position) {
  return position < 0 ? "CPU" : host.pci[static_cast<std::size_t>(position)].bus_id;
}

int position_of(const Host& host, const std::string& bus_id) {
  return pci_position(host, Fact<std::string>(bus_id, Source::synthetic));
}

} // namespace

TEST_CASE("NCCL's view of a tree of ports leaves out root ports and the lower side of switches") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];
  auto parent_of = [&](const std::string& bus_id) {
    return bus_id_at(host, parent_switch(host, position_of(host, bus_id)));
  };

  CHECK(parent_of("0000:03:00.0") == "0000:01:00.0"); // GPU below the switch
  CHECK(parent_of("0000:07:00.0") == "0000:05:00.0"); // GPU below the switch below it
  CHECK(parent_of("0000:05:00.0") == "0000:01:00.0");
  CHECK(parent_of("0000:01:00.0") == "CPU");
  CHECK(parent_of("0000:41:00.0") == "CPU"); // on a root port
}

TEST_CASE("two devices meet at the switch above both, or nowhere") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];
  auto ancestor = [&](const std::string& a, const std::string& b) {
    return lowest_common_ancestor(host, position_of(host, a), position_of(host, b));
  };

  CHECK(bus_id_at(host, ancestor("0000:03:00.0", "0000:04:00.0").common) == "0000:01:00.0");
  CHECK(ancestor("0000:03:00.0", "0000:04:00.0").switches == 1);
  CHECK(ancestor("0000:07:00.0", "0000:04:00.0").switches == 2);
  CHECK(ancestor("0000:07:00.0", "0000:41:00.0").common == -1);
}

TEST_CASE("a tree of switches stands below NUMA nodes") {
  Host host = read_machine("dgx-a100.xml").hosts[0];

  SwitchTree tree = switch_tree(host);

  CHECK(tree.roots.size() == 2);
  CHECK(tree.roots[0].size() == 2);
  CHECK(tree.children[tree.roots[0][0]].size() == 4);
  CHECK(gpu_at(host, tree.children[tree.roots[0][0]][0])->index == 0);
}
