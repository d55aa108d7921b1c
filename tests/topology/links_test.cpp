// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "topology/links.h"
#include "topology/machine_builder.h"
#include "topology/machine_files.h"

using namespace ncclprobe;
using namespace ncclprobe::topology;
using namespace ncclprobe::topology_test;

TEST_CASE("NVLinks carry what their generation carries, not their signalling rate") {
  Gpu gpu;
  NvLink link;
  CHECK_FALSE(nvlink_gb_per_s(gpu, link));

  link.gb_per_s = said(26.562);
  CHECK(nvlink_gb_per_s(gpu, link) == 25); // what signals so fast carries 25
  link.gb_per_s = said(53.125);
  CHECK(nvlink_gb_per_s(gpu, link) == 50);
  link.gb_per_s = said(40.0); // of no generation that is known
  CHECK(nvlink_gb_per_s(gpu, link) == 40);
  link.gb_per_s = said(26.562);
  link.version = said<std::string>("4.0");
  CHECK(nvlink_gb_per_s(gpu, link) == 25);
  gpu.compute_capability = said<std::string>("8.6");
  link.version = said<std::string>("3.0");
  link.gb_per_s = said(14.062);
  CHECK(nvlink_gb_per_s(gpu, link) == 14.062);
}

TEST_CASE("the ceiling over NVLinks is their number times their rate") {
  Host h200 = read_machine("two-h200-vm.xml").hosts[0];
  CHECK(ceiling(h200, 0, 1).gb_per_s == 450);
  CHECK(ceiling(h200, 0, 1).derivation == "18 NVLinks x 25 GB/s");

  Host v100 = read_machine("dgx1-v100.xml").hosts[0];
  CHECK(ceiling(v100, 0, 3).gb_per_s == 50);
  CHECK(ceiling(v100, 0, 1).gb_per_s == 25);
  CHECK(ceiling(read_machine("dgx-a100.xml").hosts[0], 0, 7).gb_per_s == 300);
}

TEST_CASE("the ceiling over PCIe is the narrowest link on the way") {
  Host host = read_machine("four-t4.xml").hosts[0];

  Ceiling full = ceiling(host, 0, 1);
  Ceiling half = ceiling(host, 2, 3);

  CHECK(*full.gb_per_s == Approx(15.75).epsilon(0.01));
  CHECK(full.derivation == "PCIe gen 3 x16 at 0000:3b:00.0");
  CHECK(*half.gb_per_s == Approx(7.88).epsilon(0.01));
  CHECK(half.derivation == "PCIe gen 3 x8 at 0000:d8:00.0");
  CHECK(*host_ceiling(host, 3).gb_per_s == Approx(7.88).epsilon(0.01));
  CHECK(*host_ceiling(host, 2).gb_per_s == Approx(15.75).epsilon(0.01));
}

TEST_CASE("an idle GPU's slow link does not lower the ceiling, a narrow one does") {
  Host host = read_machine("one-gpu.xml").hosts[0];
  host.gpus[0].pcie.generation_now = said(1);
  host.gpus[0].pcie.generation_gpu_max = said(4);
  CHECK(*host_ceiling(host, 0).gb_per_s == Approx(31.5).epsilon(0.01));

  host.gpus[0].pcie.width_now = said(4);
  host.gpus[0].pcie.width_gpu_max = said(16);
  CHECK(*host_ceiling(host, 0).gb_per_s == Approx(7.88).epsilon(0.01));

  host.gpus[0].pcie.generation_slot_max = said(3);
  CHECK(*host_ceiling(host, 0).gb_per_s == Approx(3.94).epsilon(0.01));
}

TEST_CASE("a GPU in no PCI tree still has its own link") {
  Host host = read_machine("h200-vm.q.txt").hosts[0];

  CHECK(*host_ceiling(host, 0).gb_per_s == Approx(63).epsilon(0.01));
  CHECK(host_ceiling(host, 0).derivation == "PCIe gen 5 x16");
}

TEST_CASE("what is not known has no ceiling") {
  Host hidden = read_machine("two-h200-vm.xml").hosts[0];
  CHECK_FALSE(host_ceiling(hidden, 0).gb_per_s); // the width is unknown
  CHECK_FALSE(ceiling(hidden, 0, 0).gb_per_s);
  CHECK_FALSE(ceiling(hidden, 0, 5).gb_per_s);

  // Between these there may be NVLinks.
  Host unseen = read_machine("four-t4.xml").hosts[0];
  for (Gpu& gpu : unseen.gpus)
    gpu.nvlinks = {};
  CHECK_FALSE(ceiling(unseen, 0, 1).gb_per_s);
  CHECK_THAT(ceiling(unseen, 0, 1).derivation, ContainsSubstring("NVLinks"));
}
