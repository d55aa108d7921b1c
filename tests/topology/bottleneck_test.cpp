// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/gpu_models.h"
#include "support/catch.h"
#include "topology/bottleneck.h"
#include "topology/machine_builder.h"
#include "topology/machine_files.h"
#include "topology/read/nccl_xml.h"

#include <fmt/format.h>

using namespace ncclprobe;
using namespace ncclprobe::topology;
using ncclprobe::topology_test::HostBuilder;

namespace {

const double k_gen4_x16 = knowledge::pcie_gb_per_s(4, 16).value();

Approx about(double value) {
  return Approx(value).epsilon(1e-9);
}

double busbw(const Machine& machine, Traffic traffic) {
  return bottleneck(machine, rank_per_gpu(machine), traffic).busbw_gb_per_s.value_or(-1);
}

// Two GPUs under each of two switches; each switch is on a separate CPU.
Host two_switches(const std::string& name) {
  HostBuilder builder(name);
  int left = builder.pci_switch("0000:10:00.0", 0);
  builder.gpu("0000:11:00.0", left, 0).gpu("0000:12:00.0", left, 0);
  int right = builder.pci_switch("0000:80:00.0", 1);
  builder.gpu("0000:81:00.0", right, 1).gpu("0000:82:00.0", right, 1);
  return builder.host();
}

Host eight_behind_switches(const std::string& name) {
  HostBuilder builder(name);
  for (int i = 0; i < 8; ++i) {
    std::string bus = fmt::format("0000:{}1:00.0", i);
    int bridge = builder.pci_switch(fmt::format("0000:{}0:00.0", i), i / 4);
    builder.gpu(bus, bridge, i / 4);
    builder.nic(fmt::format("mlx5_{}", i), fmt::format("0000:{}2:00.0", i), bridge, i / 4, 200);
  }
  return builder.to_switches(18).host();
}

} // namespace

TEST_CASE("behind NVSwitches every collective is limited by one GPU's links") {
  Machine machine{{eight_behind_switches("a")}};

  for (Traffic traffic : {Traffic::ring, Traffic::broadcast, Traffic::reduce, Traffic::all_to_all,
                          Traffic::scatter, Traffic::send_recv})
    CHECK(busbw(machine, traffic) == about(450));
  CHECK(busbw(machine, Traffic::gather) == about(450)); // into the root
  Bottleneck ring = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);
  REQUIRE(ring.links.size() == 1);
  CHECK_THAT(ring.links[0], ContainsSubstring("NVSwitch: 18 NVLinks"));
  CHECK(ring.in_switch_gb_per_s.value_or(-1) == about(450.0 * 14 / 9));
}

TEST_CASE("a GPU with links down is the bottleneck") {
  Host host = eight_behind_switches("a");
  host.gpus[5].nvlinks->resize(12);
  Machine machine{{host}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);

  CHECK(found.busbw_gb_per_s.value_or(-1) == about(300));
  CHECK(found.links == std::vector<std::string>{"GPU 5 to NVSwitch: 12 NVLinks"});
  CHECK(busbw(machine, Traffic::all_to_all) == about(300));
}

TEST_CASE("over PCIe rings cross the switches' uplinks once, and all-to-all four times") {
  Machine machine{{two_switches("a")}};

  CHECK(busbw(machine, Traffic::ring) == about(k_gen4_x16));
  // Out of either pair 2 x 2 blocks of S/4 leave: S through one link, and busbw is 3/4 S/t.
  CHECK(busbw(machine, Traffic::all_to_all) == about(k_gen4_x16 * 3 / 4));
  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::all_to_all);
  REQUIRE(found.links.size() == 1);
  CHECK_THAT(found.links[0],
             ContainsSubstring("0000:10:00.0") || ContainsSubstring("0000:80:00.0"));
  CHECK(busbw(machine, Traffic::gather) == about(k_gen4_x16));
}

TEST_CASE("ranks in an order that crosses the switch each time halve the neighbour ring") {
  Machine machine{{two_switches("a")}};
  std::vector<RankGpu> crossing{{0, 0}, {0, 2}, {0, 1}, {0, 3}};

  CHECK(busbw(machine, Traffic::send_recv) == about(k_gen4_x16));
  CHECK(bottleneck(machine, crossing, Traffic::send_recv).busbw_gb_per_s.value_or(-1) ==
        about(k_gen4_x16 / 2));
  CHECK(bottleneck(machine, crossing, Traffic::ring).busbw_gb_per_s.value_or(-1) ==
        about(k_gen4_x16));
}

TEST_CASE("bridged pairs meet over PCIe, so PCIe limits all four") {
  HostBuilder builder("a");
  for (int i = 0; i < 4; ++i)
    builder.gpu(fmt::format("0000:{}1:00.0", i), -1, 0);
  Machine machine{{builder.between(0, 1, 4).between(2, 3, 4).host()}};
  std::vector<RankGpu> pair{{0, 0}, {0, 1}};

  CHECK(bottleneck(machine, pair, Traffic::ring).busbw_gb_per_s.value_or(-1) == about(100));
  CHECK(busbw(machine, Traffic::ring) == about(2 * k_gen4_x16)); // two links out of a pair
}

TEST_CASE("in a mesh each GPU's links together limit the rings") {
  HostBuilder builder("a");
  for (int i = 0; i < 4; ++i)
    builder.gpu(fmt::format("0000:{}1:00.0", i), -1, 0, "7.0");
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j)
      builder.between(i, j, j - i == 2 ? 2 : 1);
  Machine machine{{builder.host()}};

  CHECK(busbw(machine, Traffic::ring) == about(100)); // 1 + 2 + 1 links
  CHECK_FALSE(bottleneck(machine, rank_per_gpu(machine), Traffic::ring).in_switch_gb_per_s);
}

TEST_CASE("between hosts the NICs limit, as far as the GPUs reach them") {
  Machine machine{{eight_behind_switches("a"), eight_behind_switches("b")}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);

  CHECK(found.busbw_gb_per_s.value_or(-1) == about(8 * 25));
  REQUIRE(found.links.size() == 8);
  CHECK_THAT(found.links[0], ContainsSubstring("network port mlx5_0 of host"));
  CHECK_FALSE(found.in_switch_gb_per_s);
}

TEST_CASE("between hosts that nobody joined nothing is concluded") {
  Host lone = eight_behind_switches("b");
  lone.nics.clear();
  Machine machine{{eight_behind_switches("a"), lone}};

  for (Traffic traffic : {Traffic::ring, Traffic::broadcast, Traffic::all_to_all}) {
    Bottleneck found = bottleneck(machine, rank_per_gpu(machine), traffic);
    CHECK_FALSE(found.busbw_gb_per_s);
    CHECK(found.derivation == "unknown: no network port of host 1 is known");
  }
  machine.hosts[0].nics[0].up = {false, Source::synthetic};
  machine.hosts[0].nics.resize(1);
  CHECK(bottleneck(machine, rank_per_gpu(machine), Traffic::ring).derivation ==
        "unknown: no network port of host 0 is up");
}

TEST_CASE("one NVLink domain over hosts needs no network") {
  auto joined = [](Host host, int clique) {
    for (Gpu& gpu : host.gpus) {
      gpu.fabric.state = {std::string("completed"), Source::synthetic};
      gpu.fabric.cluster_uuid = {std::string("7d3b24a4-0001-4a53-9f10-c52a8a7d1c0e"),
                                 Source::synthetic};
      gpu.fabric.clique = {clique, Source::synthetic};
    }
    return host;
  };
  Machine machine{{joined(eight_behind_switches("a"), 1), joined(eight_behind_switches("b"), 1)}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);
  CHECK(found.busbw_gb_per_s.value_or(-1) == about(450));
  CHECK_FALSE(found.over_network);
  CHECK(found.in_switch_gb_per_s.value_or(-1) == about(450.0 * 30 / 17));

  machine.hosts[1] = joined(eight_behind_switches("b"), 2); // of another clique
  found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);
  CHECK(found.busbw_gb_per_s.value_or(-1) == about(8 * 25));
  CHECK(found.over_network);
  CHECK_FALSE(found.in_switch_gb_per_s);
}

TEST_CASE("a link of unknown rate limits nothing, and is named") {
  Host host = two_switches("a");
  for (PciDevice& device : host.pci)
    if (device.kind == PciKind::bridge)
      device.gt_per_s = device.gt_per_s_max = {};
  Machine machine{{host}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::all_to_all);

  CHECK(found.busbw_gb_per_s.value_or(-1) == about(k_gen4_x16)); // out of each GPU
  CHECK(found.unknown ==
        std::vector<std::string>{"PCIe link of 0000:10:00.0", "PCIe link of 0000:80:00.0"});
  for (PciDevice& device : host.pci)
    device.gt_per_s = device.gt_per_s_max = {};
  Bottleneck nothing = bottleneck({{host}}, rank_per_gpu(machine), Traffic::ring);
  CHECK_FALSE(nothing.busbw_gb_per_s);
  CHECK_THAT(nothing.derivation, ContainsSubstring("no link on the way has a known rate"));
}

TEST_CASE("NVLinks that lead nobody knows where give no ceiling, and are not denied") {
  Host host = two_switches("a");
  NvLink link;
  link.active = {true, Source::nvidia_smi};
  for (Gpu& gpu : host.gpus)
    gpu.nvlinks = {std::vector<NvLink>{link}, Source::nvidia_smi};
  Machine machine{{host}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);

  CHECK_FALSE(found.busbw_gb_per_s);
  CHECK(found.derivation == "unknown: no source says where the NVLinks lead");
}

TEST_CASE("GPUs that may have NVLinks have no ceiling by their PCIe links") {
  Host host = two_switches("a");
  for (Gpu& gpu : host.gpus)
    gpu.nvlinks = {};
  Machine machine{{host}};

  for (Traffic traffic :
       {Traffic::ring, Traffic::broadcast, Traffic::all_to_all, Traffic::gather}) {
    Bottleneck found = bottleneck(machine, rank_per_gpu(machine), traffic);
    CHECK_FALSE(found.busbw_gb_per_s);
    CHECK_THAT(found.derivation,
               ContainsSubstring("unknown: no source says whether there are NVLinks"));
    REQUIRE(found.unknown.size() == 1);
    CHECK_THAT(found.unknown[0], ContainsSubstring("NVLinks of GPUs 0-3"));
  }

  // A matrix would show NVLinks, so PCIe is what there is.
  for (int i = 0; i < 4; ++i)
    for (int j = i + 1; j < 4; ++j)
      machine.hosts[0].stated_paths.push_back(
          {{DeviceKind::gpu, i}, {DeviceKind::gpu, j}, {PathType::sys, 0}, Source::nvidia_smi});
  CHECK(busbw(machine, Traffic::ring) == about(k_gen4_x16));
}

TEST_CASE("a cloud provider's file without NVLinks gives no ceiling") {
  auto text = topology_test::cloud_text("aws_p4d-24xl-topo.xml");
  if (!text)
    NCCLPROBE_SKIP("the file is not there");
  auto machine = read_nccl_xml(*text, "aws_p4d-24xl-topo.xml");
  REQUIRE(machine);

  CHECK(busbw(*machine, Traffic::ring) == -1);
}

TEST_CASE("where only some GPUs may have NVLinks, the others still limit") {
  Host host = two_switches("a");
  host.gpus[0].nvlinks = host.gpus[1].nvlinks = {}; // of the left switch
  Machine machine{{host}};

  Bottleneck found = bottleneck(machine, rank_per_gpu(machine), Traffic::ring);

  CHECK(found.busbw_gb_per_s.value_or(-1) == about(k_gen4_x16));
  CHECK(found.unknown.size() == 1);
}

TEST_CASE("one rank has no bottleneck") {
  Machine machine{{two_switches("a")}};

  CHECK_FALSE(bottleneck(machine, {{0, 0}}, Traffic::ring).busbw_gb_per_s);
}
