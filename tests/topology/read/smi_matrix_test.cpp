// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/refusals.h"
#include "topology/machine_files.h"
#include "topology/placement.h"
#include "topology/read/smi_matrix.h"
#include "topology/render/matrix.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

namespace {

std::string matrix_complaint(const std::string& text) {
  auto machine = read_smi_matrix(text, "topo.txt");
  return machine ? "" : machine.error().text();
}

Machine machine_of(const std::string& text) {
  auto machine = read_smi_matrix(text, "topo.txt");
  INFO((machine ? "" : machine.error().text()));
  REQUIRE(machine);
  return *machine;
}

// With adapters, legends and text around it, as a terminal shows it.
const std::string k_with_nics =
    "$ nvidia-smi topo -m\n"
    "\t\033[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\033[0m\n"
    "GPU0\t X \tNV12\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\r\n"
    "GPU1\tNV12\t X \tSYS\tPIX\t32-63,96-127\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\t X \tNODE\t\t\t\t\n"
    "NIC1\tSYS\tPIX\tNODE\t X \t\t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_1\n";

} // namespace

TEST_CASE("the matrix of a recorded machine is read with its escape codes") {
  Host host = read_machine("eight-h200-vm.topo-m.txt").hosts[0];

  REQUIRE(host.gpus.size() == 8);
  CHECK(host.stated_paths.size() == 28);
  CHECK(host.stated_paths[0].path == Path{PathType::nvlink, 18});
  CHECK(host.stated_paths[0].source == Source::nvidia_smi);
  CHECK(host.gpus[7].cpu_affinity->size() == 128);
  CHECK(host.gpus[7].numa_node == Fact<int>(0, Source::nvidia_smi));
}

TEST_CASE("rows of adapters and both legends are understood") {
  Machine machine = machine_of(k_with_nics);
  const Host& host = machine.hosts[0];

  CHECK(labels(machine) == "X NV12 PXB SYS / NV12 X SYS PIX / PXB SYS X NODE / SYS PIX NODE X");
  CHECK(host.nics[1].name == "mlx5_bond_1");
  CHECK(host.gpus[1].numa_node.value == 1);
  CHECK(host.gpus[1].cpu_affinity->front() == 32);
}

TEST_CASE("tabs that became blanks on the way do not matter") {
  std::string text = k_with_nics;
  for (char& c : text)
    if (c == '\t')
      c = ' ';

  CHECK(machine_of(text).hosts[0].stated_paths == machine_of(k_with_nics).hosts[0].stated_paths);
  CHECK(machine_of(text).hosts[0].gpus == machine_of(k_with_nics).hosts[0].gpus);
}

TEST_CASE("older drivers name adapters in the heading and call SYS SOC") {
  Machine machine = machine_of("\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\n"
                               "GPU0\t X \tSOC\tPHB\t0-7\n"
                               "GPU1\tSOC\t X \tSOC\t8-15\n"
                               "mlx5_0\tPHB\tSOC\t X \t\n");

  CHECK(labels(machine) == "X SYS PHB / SYS X SYS / PHB SYS X");
  CHECK(machine.hosts[0].nics[0].name == "mlx5_0");
  CHECK_FALSE(machine.hosts[0].gpus[0].numa_node);
}

TEST_CASE("the matrix of a single GPU is one cell") {
  Machine machine = machine_of("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                               "GPU0\t X \t0-3\tN/A\t\tN/A\n");

  CHECK(labels(machine) == "X");
  CHECK_FALSE(machine.hosts[0].gpus[0].numa_node);
}

TEST_CASE("a list of NUMA nodes is none of them, and the CPUs are known all the same") {
  Machine machine = machine_of("\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                               "GPU0\t X \tNV18\t0-71\t0,3-9\t\tN/A\n"
                               "GPU1\tNV18\t X \t72-143\t1\t\tN/A\n");
  const Host& host = machine.hosts[0];

  CHECK_FALSE(host.gpus[0].numa_node);
  CHECK(host.gpus[0].near_numa_nodes.value == std::vector<int>{0, 3, 4, 5, 6, 7, 8, 9});
  CHECK(host.gpus[0].cpu_affinity->size() == 72);
  CHECK(host.gpus[1].numa_node.value == 1);
  CHECK_THAT(render_matrix(machine, Legend::no), ContainsSubstring("0,3-9"));
  CHECK_THAT(propose_placement(machine).at(0).reason,
             ContainsSubstring("its GPU is near NUMA nodes 0,3-9"));
}

TEST_CASE("text around a matrix does not matter, a document that quotes one is none") {
  std::string report = "GPU0 is the slow one\nGPU 1: fine\n$ nvidia-smi topo -m\n";

  CHECK(machine_of(report + k_with_nics).hosts[0].gpus.size() == 2);
  for (int i = 0; i < 300; ++i)
    report += "and so on\n";
  CHECK_THAT(matrix_complaint(report + k_with_nics),
             ContainsSubstring("topo.txt:305: a longer text quotes a matrix"));
}

TEST_CASE("bad matrices are refused with file and line") {
  const std::string head = "\tGPU0\tGPU1\n";
  support::check_refusals(
      {{" \n", {"topo.txt:1:", "empty"}},
       {"hello\n", {"topo.txt:1:", "heading"}},
       {head + "GPU0\t X \tSYS\n", {"GPU1"}},
       {head + "GPU0\t X \n", {"topo.txt:2:", "GPU0 has 1 cells"}},
       {head + "GPU0\t X \tFAR\n", {"topo.txt:2: GPU0 to GPU1:", "'FAR'"}},
       {"\tGPU0\tGPU0\nGPU0\tX\tX\n", {"topo.txt:1:", "GPU0"}},
       {head + "GPU0\tX\tSYS\nGPU0\tX\tSYS\n", {"topo.txt:3:", "GPU0", "line 2"}},
       {head + "GPU0\tX\tSYS\nGPU7\tSYS\tX\n", {"topo.txt:3:", "'GPU7'"}},
       // Two things of one pair.
       {head + "GPU0\tX\tNV2\nGPU1\tSYS\tX\n", {"topo.txt:3: GPU1 to GPU0", "NV2 on line 2"}},
       {head + "GPU0\tSYS\tX\nGPU1\tX\tSYS\n", {"topo.txt:2: GPU0 to GPU0", "'SYS'"}}},
      matrix_complaint);
}
