// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/machine_builder.h"
#include "topology/machine_files.h"
#include "topology/paths.h"

using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

constexpr DeviceRef gpu(int index) {
  return {DeviceKind::gpu, index};
}
constexpr DeviceRef nic(int index) {
  return {DeviceKind::nic, index};
}

// GPUs on these host bridges and NUMA nodes, with nothing between; unknown where negative.
Host on_roots(const std::vector<std::pair<int, int>>& roots_and_numa) {
  Host host;
  host.pci_detail = said(PciDetail::ports);
  for (std::size_t i = 0; i < roots_and_numa.size(); ++i) {
    auto [root, numa] = roots_and_numa[i];
    std::string bus_id = "0000:0" + std::to_string(i + 1) + ":00.0";
    Gpu one;
    one.index = static_cast<int>(i);
    one.bus_id = said(bus_id);
    one.nvlinks = said(std::vector<NvLink>{});
    PciDevice device;
    device.bus_id = bus_id;
    device.kind = PciKind::gpu;
    if (root >= 0)
      device.host_bridge = said<std::string>("0000:" + std::to_string(root));
    if (numa >= 0)
      device.numa_node = said(numa);
    host.gpus.push_back(one);
    host.pci.push_back(device);
  }
  return host;
}

} // namespace

TEST_CASE("GPUs behind NVSwitches reach each other by all their links") {
  Host host = read_machine("dgx-a100.xml").hosts[0];

  FoundPath found = path_between(host, gpu(0), gpu(7));

  CHECK(found.path.label() == "NV12");
  CHECK(found.source == Source::nccl);
}

TEST_CASE("a hybrid cube mesh has one or two links to some GPUs and PCIe to the others") {
  Machine machine = read_machine("dgx1-v100.xml");
  machine.hosts[0].nics.clear();

  // The matrix that nvidia-smi prints on such a machine; PHB is what NCCL calls it there.
  CHECK(labels(machine) == "X NV1 NV1 NV2 NV2 SYS SYS SYS / NV1 X NV2 NV1 SYS NV2 SYS SYS / "
                           "NV1 NV2 X NV2 SYS SYS NV1 SYS / NV2 NV1 NV2 X SYS SYS SYS NV1 / "
                           "NV2 SYS SYS SYS X NV1 NV1 NV2 / SYS NV2 SYS SYS NV1 X NV2 NV1 / "
                           "SYS SYS NV1 SYS NV1 NV2 X NV2 / SYS SYS SYS NV1 NV2 NV1 NV2 X");
}

TEST_CASE("a bridged pair is joined by its NVLinks") {
  CHECK(labels(read_machine("bridged-pair.xml")) == "X NV12 / NV12 X");
}

TEST_CASE("GPUs of NCCL's files without a switch are PHB within a NUMA node and SYS beyond") {
  CHECK(labels(read_machine("four-t4.xml")) ==
        "X PHB SYS SYS ? / PHB X SYS SYS ? / SYS SYS X PHB ? / SYS SYS PHB X ? / ? ? ? ? X");
}

TEST_CASE("adapters are PIX under the GPU's switch, PHB under another one, SYS at another socket") {
  Host host = read_machine("dgx-a100.xml").hosts[0];

  CHECK(path_between(host, gpu(0), nic(0)).path.label() == "PIX");
  CHECK(path_between(host, gpu(0), nic(1)).path.label() == "PIX");
  CHECK(path_between(host, gpu(0), nic(2)).path.label() == "PHB");
  CHECK(path_between(host, nic(4), gpu(0)).path.label() == "SYS");
}

TEST_CASE("where every port is shown, a switch of several ports counts as one") {
  Host host = read_machine("switches-hwloc.xml").hosts[0];

  CHECK(path_between(host, gpu(0), nic(0)).path.label() == "PIX");  // under one switch
  CHECK(path_between(host, gpu(1), nic(0)).path.label() == "PXB");  // one further switch
  CHECK(path_between(host, gpu(2), nic(0)).path.label() == "NODE"); // another host bridge
  CHECK(path_between(host, gpu(3), nic(0)).path.label() == "SYS");  // another socket
  CHECK(path_between(host, gpu(3), nic(1)).path.label() == "PHB");  // two ports of one host bridge
}

TEST_CASE("without NVLinks between them, host bridges and NUMA nodes decide") {
  Host host = on_roots({{0, 0}, {0, 0}, {2, 0}, {4, 1}});

  CHECK(labels({{host}}) == "X PHB NODE SYS / PHB X NODE SYS / NODE NODE X SYS / SYS SYS SYS X");
}

TEST_CASE("host bridges of unknown NUMA nodes are NODE only if there is one NUMA node") {
  Host host = on_roots({{0, -1}, {2, -1}});
  CHECK(path_between(host, gpu(0), gpu(1)).path.label() == "?");

  host.numa.resize(1);
  CHECK(path_between(host, gpu(0), gpu(1)).path.label() == "NODE");
}

TEST_CASE("in a virtual machine neither PHB nor NODE is believed") {
  Host host = on_roots({{0, 0}, {0, 0}, {2, 0}, {4, 1}});
  host.virtual_machine = said(true);

  CHECK(labels({{host}}) == "X ? ? SYS / ? X ? SYS / ? ? X SYS / SYS SYS SYS X");
  CHECK_THAT(path_between(host, gpu(0), gpu(1)).why, ContainsSubstring("virtual machine"));
}

TEST_CASE("a virtual machine's NVLinks are seen although its bridges are not") {
  Machine machine = read_machine("two-h200-vm.xml");

  CHECK(labels(machine) == "X NV18 ? / NV18 X ? / ? ? X");
}

TEST_CASE("nothing is known of GPUs whose place nobody tells") {
  Host host = read_machine("two-h200-vm.xml").hosts[0];
  for (Gpu& one : host.gpus)
    one.nvlinks = said(std::vector<NvLink>{});

  FoundPath found = path_between(host, gpu(0), gpu(1));

  CHECK(found.path.type == PathType::unknown);
  CHECK(found.source == Source::none);
}

TEST_CASE("a stated path counts where links do not tell, and keeps its source") {
  Host host = on_roots({{-1, -1}, {-1, -1}});
  host.stated_paths = {{gpu(0), gpu(1), {PathType::pxb, 0}, Source::nvml}};

  FoundPath found = path_between(host, gpu(1), gpu(0));

  CHECK(found.path.label() == "PXB");
  CHECK(found.source == Source::nvml);
}

TEST_CASE("where nobody looked for NVLinks the label is that of PCIe, and it says so") {
  Host host = on_roots({{0, 0}, {0, 0}});
  for (Gpu& one : host.gpus)
    one.nvlinks = {};

  FoundPath found = path_between(host, gpu(0), gpu(1));

  CHECK(found.path.label() == "PHB");
  CHECK(found.nvlinks_unknown);
}

TEST_CASE("links that are up and lead nobody knows where make a path unknown") {
  Host host = on_roots({{0, 0}, {0, 0}});
  NvLink link;
  link.active = said(true);
  for (Gpu& one : host.gpus)
    one.nvlinks = said(std::vector<NvLink>(4, link));
  CHECK(path_between(host, gpu(0), gpu(1)).path.label() == "?");

  // A link back to the GPU itself is no better.
  for (Gpu& one : host.gpus)
    for (NvLink& own : *one.nvlinks)
      own.remote_bus_id = one.bus_id;
  CHECK(path_between(host, gpu(0), gpu(1)).path.label() == "?");
}

TEST_CASE("links that are down do not count") {
  Host host = read_machine("bridged-pair.xml").hosts[0];
  for (Gpu& one : host.gpus)
    for (std::size_t i = 0; i < 4; ++i)
      one.nvlinks->at(i).active = said(false);

  CHECK(path_between(host, gpu(0), gpu(1)).path.label() == "NV8");
  CHECK(active_nvlinks(host.gpus[0]) == 8);
}

TEST_CASE("a device that is not there has no path") {
  Host host = on_roots({{0, 0}});

  CHECK(path_between(host, gpu(0), gpu(9)).path.type == PathType::unknown);
  CHECK(path_between(host, gpu(9), gpu(9)).path.type == PathType::unknown);
  CHECK(path_between(host, gpu(0), nic(0)).path.type == PathType::unknown);
}
