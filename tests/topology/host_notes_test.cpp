// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/example_machines.h"
#include "topology/host_notes.h"
#include "topology/machine_files.h"
#include "topology/read/nccl_xml.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::topology;

namespace {

Host example() {
  Host host = topology_test::full_machine().hosts.at(0);
  for (Gpu& gpu : host.gpus) { // nothing to say of it
    gpu.pcie.generation_now = gpu.pcie.generation_slot_max;
    gpu.pcie.width_now = gpu.pcie.width_slot_max;
    gpu.ecc_pending = gpu.ecc_now;
  }
  return host;
}

bool says(const std::vector<HostNote>& all, NoteKind kind, const std::string& words) {
  return std::ranges::any_of(all, [&](const HostNote& note) {
    return note.kind == kind && note.text.find(words) != std::string::npos;
  });
}

} // namespace

TEST_CASE("a machine of which everything is known and well has no findings") {
  for (Load load : {Load::idle, Load::busy})
    for (const HostNote& note : host_notes(example(), load))
      FAIL(note.text);
}

TEST_CASE("a slow PCIe link of an idle GPU is a remark, under load it is a fault") {
  Host host = example();
  host.gpus[1].pcie.generation_now = {1, Source::nvml};

  CHECK(says(host_notes(host, Load::idle), NoteKind::remark,
             "GPU 1: PCIe generation 1 of 4 now: idle"));
  CHECK_FALSE(says(host_notes(host, Load::idle), NoteKind::degraded, ""));
  CHECK(says(host_notes(host, Load::busy), NoteKind::degraded, "GPU 1: PCIe generation 1 of 4"));
}

TEST_CASE("a narrow PCIe link is a fault at any load, and a lesser slot is told") {
  Host host = example();
  host.gpus[0].pcie.width_now = {8, Source::nvml};
  host.gpus[1].pcie.generation_slot_max = {3, Source::nvml};
  host.gpus[1].pcie.generation_now = {3, Source::nvml};

  std::vector<HostNote> found = host_notes(host, Load::idle);

  CHECK(says(found, NoteKind::degraded, "GPU 0: PCIe x8 of x16"));
  CHECK(says(found, NoteKind::degraded, "GPU 1: the slot supports PCIe generation 3"));
}

TEST_CASE(
    "a GPU whose link is narrower than its neighbours' is remarked, though its slot has no more") {
  Host host = topology_test::read_machine("four-t4.xml").hosts.at(0);

  CHECK(says(host_notes(host, Load::idle), NoteKind::remark,
             "GPU 3: PCIe x8, but other GPUs of this host have x16"));
  CHECK_FALSE(says(host_notes(host, Load::idle), NoteKind::remark, "GPU 0: PCIe"));
  CHECK_FALSE(says(host_notes(example(), Load::idle), NoteKind::remark, "PCIe x"));
}

TEST_CASE("two ends that count their NVLinks differently are a fault of the machine") {
  auto machine = read_nccl_xml(R"(<system version="1"><cpu numaid="0">
    <pci busid="0000:01:00.0"><gpu dev="0" sm="80" rank="0">
      <nvlink target="0000:02:00.0" count="12" tclass="0x030200"/></gpu></pci>
    <pci busid="0000:02:00.0"><gpu dev="1" sm="80" rank="1">
      <nvlink target="0000:01:00.0" count="4" tclass="0x030200"/></gpu></pci></cpu></system>)",
                               "uneven.xml");

  REQUIRE(machine);
  CHECK(says(host_notes(machine->hosts.at(0), Load::idle), NoteKind::degraded,
             "GPU 1: 4 of 4 NVLinks are up; others on this host have 12 up"));
}

TEST_CASE("NVLinks that are down are named; of GPUs without any that is up it may be unknown") {
  Host host = example();
  NvLink up = host.gpus[0].nvlinks->front();
  NvLink down = up;
  down.number = {7, Source::nvml};
  down.active = {false, Source::nvml};
  host.gpus[0].nvlinks->push_back(down);
  host.gpus[1].nvlinks = {std::vector<NvLink>{down}, Source::nvml};

  std::vector<HostNote> found = host_notes(host, Load::idle);

  CHECK(says(found, NoteKind::degraded, "GPU 0: 1 of 2 NVLinks are up; down: 7"));
  CHECK(says(found, NoteKind::degraded,
             "GPU 1: 0 of 1 NVLinks are up; others on this host have 1 up"));

  for (Gpu& gpu : host.gpus) {
    gpu.name = {std::string("a card"), Source::nvml};
    gpu.nvlinks = {std::vector<NvLink>{down}, Source::nvml};
    gpu.fabric = {};
  }
  found = host_notes(host, Load::idle);
  CHECK(says(found, NoteKind::unknown, "GPUs 0,1: 0 of 1 NVLinks are up; its model does not"));
  CHECK_FALSE(says(found, NoteKind::degraded, ""));

  up.remote = {};
  for (Gpu& gpu : host.gpus)
    gpu.nvlinks = {std::vector<NvLink>{up, down}, Source::nvml};
  found = host_notes(host, Load::idle);
  CHECK(says(found, NoteKind::remark, "GPUs 0,1: 1 of 2 NVLinks are up, the same on all GPUs"));
  CHECK_FALSE(says(found, NoteKind::degraded, ""));
}

TEST_CASE("a fabric that is not ready is a fault") {
  Host host = example();
  host.gpus[0].fabric.state = {std::string("in_progress"), Source::nvml};
  host.gpus[1].fabric.health = {std::string("bandwidth degraded"), Source::nvml};

  std::vector<HostNote> found = host_notes(host, Load::idle);

  CHECK(says(found, NoteKind::degraded, "GPU 0: the NVLink fabric is not ready (in_progress)"));
  CHECK(says(found, NoteKind::degraded, "GPU 1: NVLink fabric: bandwidth degraded"));

  host.virtual_machine = {true, Source::sysfs}; // a guest, which may not run its own manager
  CHECK(says(host_notes(host, Load::idle), NoteKind::degraded,
             "does nvidia-fabricmanager run here or on the virtual machine's host?"));
}

TEST_CASE("what a virtual machine hides is said once for all GPUs") {
  Host host = example();
  host.virtual_machine = {true, Source::sysfs};
  host.numa.clear();
  std::erase_if(host.pci, [](const PciDevice& device) { return device.kind == PciKind::bridge; });
  for (PciDevice& device : host.pci)
    device.parent = -1;
  for (Gpu& gpu : host.gpus)
    gpu.nvlinks = {};
  host.nics[0].gpudirect = {};

  std::vector<HostNote> found = host_notes(host, Load::idle);

  CHECK(says(found, NoteKind::unknown, "the virtual machine does not show the PCIe switches"));
  CHECK(says(found, NoteKind::unknown, "the virtual machine does not show NUMA nodes"));
  CHECK(says(found, NoteKind::unknown, "GPUs 0,1: no source says whether there are NVLinks"));
  CHECK(says(found, NoteKind::unknown, "mlx5_0: GPUDirect is unknown"));
}

TEST_CASE("a matrix tells of NVLinks and NUMA nodes without listing them") {
  Machine machine = topology_test::read_machine("eight-h200-vm.topo-m.txt");
  Host& host = machine.hosts.at(0);

  std::vector<HostNote> all = host_notes(host, Load::idle);
  CHECK_FALSE(says(all, NoteKind::unknown, "NVLinks"));
  CHECK_FALSE(says(all, NoteKind::unknown, "NUMA node"));

  host.gpus[3].numa_node = {};
  host.stated_paths.clear();
  std::vector<HostNote> less = host_notes(host, Load::idle);
  CHECK(says(less, NoteKind::unknown, "GPU 3: no source shows the NUMA node"));
  CHECK(says(less, NoteKind::unknown, "GPUs 0-7: no source says whether there are NVLinks"));
}

TEST_CASE("modes that will change and mixed GPUs are remarked") {
  Host host = example();
  host.gpus[0].ecc_pending = {false, Source::nvml};
  host.gpus[1].mig_now = {true, Source::nvml};
  host.gpus[1].name = {std::string("Another GPU"), Source::nvml};

  std::vector<HostNote> found = host_notes(host, Load::idle);

  CHECK(says(found, NoteKind::remark, "GPU 0: ECC is on and will be off"));
  CHECK(says(found, NoteKind::remark, "GPU 1: MIG is on"));
  CHECK(says(found, NoteKind::remark, "Another GPU (GPU 1), Example GPU (GPU 0)"));
}
