// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/validate.h"

#include "support/catch.h"
#include "topology/example_machines.h"
#include "topology/merge.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;

namespace {

Gpu gpu(int index, const std::string& bus_id, Source source) {
  Gpu made;
  made.index = index;
  made.bus_id = {bus_id, source};
  return made;
}

Host with_gpus(std::vector<Gpu> gpus) {
  Host host;
  host.gpus = std::move(gpus);
  return host;
}

} // namespace

TEST_CASE("merging one source changes nothing") {
  Host host = topology_test::full_machine().hosts.at(0);

  Merged merged = merge_sources({host});

  CHECK(merged.host == host);
  CHECK(merged.contradictions.empty());
}

TEST_CASE("each fact is the first source's that knows it, and keeps its source") {
  Gpu by_nvml = gpu(0, "0000:1b:00.0", Source::nvml);
  by_nvml.name = {std::string("H200"), Source::nvml};
  Gpu by_sysfs = gpu(0, "0000:1b:00.0", Source::sysfs);
  by_sysfs.numa_node = {1, Source::sysfs};

  Merged merged = merge_sources({with_gpus({by_nvml}), with_gpus({by_sysfs})});

  REQUIRE(merged.host.gpus.size() == 1);
  CHECK(merged.host.gpus[0].bus_id.source == Source::nvml);
  CHECK(merged.host.gpus[0].name.value == "H200");
  CHECK(merged.host.gpus[0].numa_node == Fact<int>(1, Source::sysfs));
  CHECK(merged.contradictions.empty());
}

TEST_CASE("a contradiction is listed, and the first source's word stands") {
  Gpu by_nvml = gpu(0, "0000:1b:00.0", Source::nvml);
  by_nvml.numa_node = {0, Source::nvml};
  by_nvml.sm_clock_mhz = {345, Source::nvml};
  Gpu by_sysfs = gpu(0, "0000:1b:00.0", Source::sysfs);
  by_sysfs.numa_node = {1, Source::sysfs};
  by_sysfs.sm_clock_mhz = {1980, Source::sysfs}; // changes over time

  Merged merged = merge_sources({with_gpus({by_nvml}), with_gpus({by_sysfs})});

  CHECK(merged.host.gpus.at(0).numa_node == Fact<int>(0, Source::nvml));
  CHECK(merged.contradictions ==
        std::vector<std::string>{"GPU 0 (0000:1b:00.0): numa_node is 0 by nvml, 1 by sysfs"});
}

TEST_CASE("GPUs keep the first source's numbers, and pairs and paths follow") {
  Host nvml =
      with_gpus({gpu(0, "0000:1b:00.0", Source::nvml), gpu(1, "0000:43:00.0", Source::nvml)});
  // CUDA numbers them in reverse, and knows one more.
  Host cuda = with_gpus({gpu(0, "0000:43:00.0", Source::cuda), gpu(1, "0000:1b:00.0", Source::cuda),
                         gpu(2, "0000:9a:00.0", Source::cuda)});
  P2pCapability pair;
  pair.from = 0;
  pair.to = 1;
  pair.can_access = {true, Source::cuda};
  cuda.p2p = {pair};
  cuda.stated_paths = {
      {{DeviceKind::gpu, 0}, {DeviceKind::gpu, 1}, {PathType::phb, 0}, Source::cuda}};

  Merged merged = merge_sources({nvml, cuda});

  REQUIRE(merged.host.gpus.size() == 3);
  CHECK(merged.host.gpus[1].bus_id.value == "0000:43:00.0");
  CHECK(merged.host.gpus[2].bus_id.value == "0000:9a:00.0");
  CHECK(merged.host.gpus[2].index == 2);
  REQUIRE(merged.host.p2p.size() == 1);
  CHECK(merged.host.p2p[0].from == 1);
  CHECK(merged.host.p2p[0].to == 0);
  REQUIRE(merged.host.stated_paths.size() == 1);
  CHECK(merged.host.stated_paths[0].a.index == 0);
  CHECK(merged.host.stated_paths[0].b.index == 1);
  CHECK(validate({{merged.host}}, "merged"));
}

TEST_CASE("reasons why P2P is not possible may differ, but not whether it is") {
  auto with_atomics = [](P2pStatus status, Source source) {
    Host host = with_gpus({gpu(0, "0000:1b:00.0", source), gpu(1, "0000:43:00.0", source)});
    P2pCapability pair;
    pair.to = 1;
    pair.atomics = {status, source};
    host.p2p = {pair};
    return host;
  };

  Merged agreed = merge_sources({with_atomics(P2pStatus::chipset_not_supported, Source::nvml),
                                 with_atomics(P2pStatus::not_supported, Source::cuda)});
  Merged opposed = merge_sources({with_atomics(P2pStatus::ok, Source::nvml),
                                  with_atomics(P2pStatus::not_supported, Source::cuda)});

  CHECK(agreed.contradictions.empty());
  CHECK(agreed.host.p2p.at(0).atomics.value == P2pStatus::chipset_not_supported);
  REQUIRE(opposed.contradictions.size() == 1);
  CHECK_THAT(opposed.contradictions[0], ContainsSubstring("P2P from GPU 0 to GPU 1"));
}

TEST_CASE("sources that count different NVLinks contradict each other") {
  auto with_links = [](int links, Source source) {
    Gpu made = gpu(0, "0000:1b:00.0", source);
    NvLink link;
    link.active = {true, source};
    made.nvlinks = {std::vector<NvLink>(static_cast<std::size_t>(links), link), source};
    return with_gpus({made});
  };

  Merged merged = merge_sources({with_links(18, Source::nvml), with_links(17, Source::nccl)});

  CHECK(merged.host.gpus.at(0).nvlinks->size() == 18);
  CHECK(merged.contradictions ==
        std::vector<std::string>{"GPU 0 (0000:1b:00.0): 18 active NVLinks by nvml, 17 by nccl"});
}

TEST_CASE("NICs are the same by name, and NCCL's guesses do not count") {
  Host sysfs;
  sysfs.nics.resize(1);
  sysfs.nics[0].name = "eth0";
  sysfs.nics[0].gbit_per_s = {100.0, Source::sysfs};
  Host nccl;
  nccl.nics.resize(2);
  nccl.nics[0].name = "eth0";
  nccl.nics[0].gbit_per_s = {10.0, Source::nccl};
  nccl.nics[0].gpudirect = {false, Source::nccl};
  nccl.nics[1].index = 1;
  nccl.nics[1].name = "mlx5_0";

  Merged merged = merge_sources({sysfs, nccl});

  REQUIRE(merged.host.nics.size() == 2);
  CHECK(merged.host.nics[0].gbit_per_s.value == 100);
  CHECK(merged.host.nics[0].gpudirect == Fact<bool>(false, Source::nccl));
  CHECK(merged.host.nics[1].index == 1);
  CHECK(merged.contradictions.empty());
}

TEST_CASE("the PCI tree is the first source's; others fill in its facts") {
  Host sysfs;
  sysfs.pci.resize(2);
  sysfs.pci[0].bus_id = "0000:17:00.0";
  sysfs.pci[1].bus_id = "0000:18:00.0";
  sysfs.pci[1].parent = 0;
  sysfs.pci_detail = {PciDetail::ports, Source::sysfs};
  Host nccl;
  nccl.pci.resize(1);
  nccl.pci[0].bus_id = "0000:18:00.0";
  nccl.pci[0].name = {std::string("a GPU"), Source::nccl};
  nccl.pci_detail = {PciDetail::switches, Source::nccl};

  Merged merged = merge_sources({sysfs, nccl});

  REQUIRE(merged.host.pci.size() == 2);
  CHECK(merged.host.pci[1].parent == 0);
  CHECK(merged.host.pci[1].name.value == "a GPU");
  CHECK(merged.host.pci_detail.value == PciDetail::ports);
}
