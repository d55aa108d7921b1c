// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/cpu_shares.h"
#include "topology/machine_builder.h"
#include "topology/placement.h"

#include <fmt/format.h>

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using ncclprobe::topology_test::HostBuilder;

namespace {

// Two GPUs and a NIC on each of two NUMA nodes of four CPUs.
Machine two_nodes() {
  HostBuilder builder("box");
  builder.numa(0, 0, 4).numa(1, 4, 4);
  for (int node = 0; node < 2; ++node) {
    int bridge = builder.pci_switch(fmt::format("0000:{}0:00.0", node), node);
    builder.gpu(fmt::format("0000:{}1:00.0", node), bridge, node);
    builder.gpu(fmt::format("0000:{}2:00.0", node), bridge, node);
    builder.nic(fmt::format("mlx5_{}", node), fmt::format("0000:{}3:00.0", node), bridge, node,
                200);
  }
  return {{builder.host()}};
}

bool has_line(const std::vector<std::string>& lines, const std::string& line) {
  return std::ranges::find(lines, line) != lines.end();
}

} // namespace

TEST_CASE("each GPU gets a rank with its share of the node's CPUs and the nearest NIC") {
  std::vector<RankBinding> placement = propose_placement(two_nodes());

  REQUIRE(placement.size() == 4);
  CHECK(placement[0].cpus == std::vector<int>{0, 1});
  CHECK(placement[1].cpus == std::vector<int>{2, 3});
  CHECK(placement[2].cpus == std::vector<int>{4, 5});
  CHECK(placement[3].numa_node == 1);
  CHECK(placement[0].nic == 0);
  CHECK(placement[3].nic == 1);
  CHECK(placement[3].reason ==
        "its GPU is on NUMA node 1, which 2 ranks share; mlx5_1 is nearest (PIX)");
}

TEST_CASE("ranks get whole cores, or a note says that hyperthreads are unknown") {
  Machine machine = two_nodes();
  Host& host = machine.hosts[0];
  host.numa[0].cpus = {std::vector<int>{0, 1, 4, 5}, Source::synthetic};
  host.numa[1].cpus = {std::vector<int>{2, 3, 6, 7}, Source::synthetic};
  CHECK_THAT(placement_notes(machine, propose_placement(machine)).at(0),
             ContainsSubstring("unknown which CPUs are hyperthreads"));

  host.cpu.cores = {Cores{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, Source::synthetic};
  std::vector<RankBinding> placement = propose_placement(machine);
  CHECK(placement.at(0).cpus == std::vector<int>{0, 4});
  CHECK(placement.at(3).cpus == std::vector<int>{3, 7});
  CHECK(placement_notes(machine, placement).empty());

  host.cpu.cores = {Cores{{0, 1, 4, 5}, {2, 6}, {3, 7}}, Source::synthetic};
  CHECK_THAT(placement_notes(machine, propose_placement(machine)).at(0),
             ContainsSubstring("fewer cores than ranks"));
}

TEST_CASE("a list of CPUs is used where the NUMA node is unknown, unless it has several nodes") {
  Machine machine = two_nodes();
  Host& host = machine.hosts[0];
  for (Gpu& gpu : host.gpus) {
    gpu.numa_node = {};
    gpu.cpu_affinity = {std::vector<int>{0, 1, 2, 3}, Source::nvidia_smi};
  }
  for (PciDevice& device : host.pci)
    device.numa_node = {};

  std::vector<RankBinding> placement = propose_placement(machine);
  CHECK(placement.at(1).cpus == std::vector<int>{1});
  CHECK_THAT(placement.at(1).reason, ContainsSubstring("its CPUs come from nvidia_smi"));
  CHECK(has_line(launch_options(machine, placement), "rank 1=box slot=1"));
  CHECK_THAT(misplaced(machine, {{0, 0, 0, {6}}}).at(0),
             Catch::Matchers::StartsWith("rank 0 drives GPU 0 (CPUs 0-3) from CPUs 6"));

  for (Gpu& gpu : host.gpus)
    gpu.cpu_affinity = {std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}, Source::nvidia_smi};
  CHECK(propose_placement(machine).at(1).cpus.empty());
}

TEST_CASE("of NICs that are equally near the fastest is taken") {
  HostBuilder builder("box");
  builder.numa(0, 0, 8);
  int bridge = builder.pci_switch("0000:10:00.0", 0);
  builder.gpu("0000:11:00.0", bridge, 0).gpu("0000:12:00.0", bridge, 0);
  builder.nic("mlx5_0", "0000:13:00.0", bridge, 0, 100);
  builder.nic("mlx5_1", "0000:14:00.0", bridge, 0, 400);
  builder.nic("mlx5_2", "0000:15:00.0", -1, 0, 800);

  std::vector<RankBinding> placement = propose_placement({{builder.host()}});

  CHECK(placement.at(0).nic == 1);
  CHECK(placement.at(1).nic == 1);
}

TEST_CASE("GPUs that are equally near to several NICs are spread over them") {
  HostBuilder builder("box");
  builder.numa(0, 0, 8);
  int bridge = builder.pci_switch("0000:10:00.0", 0);
  builder.gpu("0000:11:00.0", bridge, 0).gpu("0000:12:00.0", bridge, 0);
  builder.nic("mlx5_0", "0000:13:00.0", bridge, 0, 200);
  builder.nic("mlx5_1", "0000:14:00.0", bridge, 0, 200);
  Host host = builder.host();

  std::vector<RankBinding> spread = propose_placement({{host}});
  host.nics[1].up = {false, Source::synthetic};
  std::vector<RankBinding> one_down = propose_placement({{host}});

  CHECK(spread.at(0).nic == 0);
  CHECK(spread.at(1).nic == 1);
  CHECK(one_down.at(1).nic == 0);
}

TEST_CASE("the placement becomes a rank file, CPU masks and visible devices") {
  Machine machine = two_nodes();

  std::vector<std::string> lines = launch_options(machine, propose_placement(machine));

  CHECK(has_line(lines, "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0,1,2,3"));
  CHECK(has_line(lines, "rank 0=box slot=0,1"));
  CHECK(has_line(lines, "rank 3=box slot=6,7"));
  CHECK(has_line(lines, "mpirun -np 4 --mca rmaps_rank_file_physical 1 --rankfile ranks.txt ..."));
  CHECK(has_line(lines, "srun --ntasks-per-node=4 --cpu-bind=mask_cpu:0x3,0xc,0x30,0xc0 ..."));
}

TEST_CASE("hosts of one name, or of none, get stand-ins in the rank file") {
  Machine machine = two_nodes();
  machine.hosts.push_back(machine.hosts.front());

  std::vector<std::string> same = launch_options(machine, propose_placement(machine));
  machine.hosts[1].name = {};
  std::vector<std::string> one_unnamed = launch_options(machine, propose_placement(machine));

  CHECK(has_line(same,
                 "# HOST0, HOST1, ...: replace these by the names of your hosts, in this order"));
  CHECK(has_line(same, "rank 3=HOST0 slot=6,7"));
  CHECK(has_line(same, "rank 4=HOST1 slot=0,1"));
  CHECK(has_line(one_unnamed, "rank 0=box slot=0,1"));
  CHECK(has_line(one_unnamed, "rank 4=HOST1 slot=0,1"));
}

TEST_CASE("a host that is really named so is no stand-in") {
  Machine machine = two_nodes();
  machine.hosts.push_back(machine.hosts.front());
  machine.hosts[0].name = {"HOST0", Source::synthetic};

  std::vector<std::string> lines = launch_options(machine, propose_placement(machine));

  CHECK(has_line(lines, "rank 0=HOST0 slot=0,1"));
  CHECK_FALSE(has_line(
      lines, "# HOST0, HOST1, ...: replace these by the names of your hosts, in this order"));
}

TEST_CASE("where NUMA nodes are unknown nothing is bound") {
  Machine machine = two_nodes();
  Host& host = machine.hosts[0];
  host.numa.clear();
  for (Gpu& gpu : host.gpus)
    gpu.numa_node = {};
  for (PciDevice& device : host.pci)
    device.numa_node = {};

  std::vector<RankBinding> placement = propose_placement(machine);
  std::vector<std::string> lines = launch_options(machine, placement);

  CHECK(placement.at(0).cpus.empty());
  CHECK_THAT(placement.at(0).reason, ContainsSubstring("NUMA node is unknown"));
  CHECK(has_line(lines, "mpirun -np 4 --bind-to none ..."));
}

TEST_CASE("a machine without GPUs has nothing to place") {
  Machine machine{{HostBuilder("box").numa(0, 0, 4).host()}};

  CHECK(propose_placement(machine).empty());
  CHECK(has_line(launch_options(machine, {}), "# no GPU: nothing to place"));
}

TEST_CASE("a rank that may only run away from its GPU is warned of, one that is free is not") {
  Machine machine = two_nodes();

  CHECK(misplaced(machine, {{0, 0, 0, {0, 1}}, {1, 0, 3, {0, 1, 2, 3, 4, 5, 6, 7}}}).empty());
  CHECK(misplaced(machine, {{0, 0, 3, {}}}).empty());
  std::vector<std::string> warnings = misplaced(machine, {{3, 0, 3, {0, 1}}});
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("rank 3 drives GPU 3 (NUMA node 1, CPUs 4-7) from CPUs "
                                            "0,1 of NUMA node 0"));
}
