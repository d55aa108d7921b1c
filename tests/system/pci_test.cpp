// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/pci.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

namespace {

void put(std::string& space, std::size_t at, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    space[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
}

// Advanced Error Reporting at 0x100, Access Control at 0x148 with this control register.
std::string bridge_space(std::uint32_t control) {
  std::string space(4096, '\0');
  put(space, 0x100, 0x0001 | (1U << 16) | (0x148U << 20), 4);
  put(space, 0x148, 0x000D | (1U << 16), 4);
  put(space, 0x148 + 6, control, 2);
  return space;
}

} // namespace

TEST_CASE("redirection shows in the access control register") {
  CHECK(system::redirects_peers(bridge_space(0x1D)) == true); // as Linux sets it
  CHECK(system::redirects_peers(bridge_space(0x04)) == true); // request redirect
  CHECK(system::redirects_peers(bridge_space(0x00)) == false);
  CHECK(system::redirects_peers(bridge_space(0x01)) == false); // source validation alone
}

TEST_CASE("what unprivileged users see of the configuration space tells nothing") {
  CHECK_FALSE(system::redirects_peers(bridge_space(0x1D).substr(0, 64)));
  CHECK_FALSE(system::redirects_peers(bridge_space(0x1D).substr(0, 256)));
  CHECK_FALSE(system::redirects_peers(std::string(4096, '\xff')));
}

TEST_CASE("a bridge without access control does not redirect, which is not the same as unread") {
  CHECK(system::redirects_peers(std::string(4096, '\0')) == false); // no extended capabilities
  std::string other(4096, '\0');
  put(other, 0x100, 0x0001 | (1U << 16), 4); // Advanced Error Reporting alone
  CHECK(system::redirects_peers(other) == false);
  CHECK_FALSE(system::redirects_peers(bridge_space(0x1D).substr(0, 0x120))); // ends on the way
}

TEST_CASE("a chain of capabilities that runs in a circle ends") {
  std::string space(4096, '\0');
  put(space, 0x100, 0x0001 | (0x100U << 20), 4);

  CHECK_FALSE(system::redirects_peers(space));
}

TEST_CASE("bridges, IOMMU and hypervisor of a host are found") {
  support::FileTree tree;
  tree.file("sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n")
      .file("sys/bus/pci/devices/0000:00:01.0/config", bridge_space(0x1D))
      .file("sys/bus/pci/devices/0000:00:02.0/class", "0x030200\n")
      .file("sys/kernel/iommu_groups/0/type", "DMA\n")
      .file("proc/cmdline", "quiet intel_iommu=on iommu=pt root=/dev/sda\n")
      .file("proc/cpuinfo", "processor : 0\nflags : fpu vme hypervisor lahf_lm\n")
      .file("sys/class/dmi/id/product_name", "Standard PC (Q35)\n");

  model::PciSurvey found = system::pci_survey(tree.root());

  CHECK(found.bridges == std::vector<model::PciBridge>{{"0000:00:01.0", true}});
  CHECK(found.iommu_groups == 1);
  CHECK(found.iommu_words == "intel_iommu=on iommu=pt");
  CHECK(found.hypervisor == "Standard PC (Q35)");
}

TEST_CASE("bare metal has no hypervisor") {
  support::FileTree tree;
  tree.file("proc/cpuinfo", "processor : 0\nflags : fpu vme hypervisors\n");

  CHECK(system::pci_survey(tree.root()).hypervisor.empty());
}

TEST_CASE("the IOMMU's groups of GPUs and network cards are found with their type") {
  support::FileTree tree;
  const std::string devices = "sys/bus/pci/devices/";
  tree.file(devices + "0000:3b:00.0/class", "0x030200\n")
      .file(devices + "0000:3b:00.0/vendor", "0x10de\n")
      .file(devices + "0000:02:00.0/class", "0x030000\n") // the board's own display
      .file(devices + "0000:02:00.0/vendor", "0x1a03\n")
      .file(devices + "0000:5e:00.0/class", "0x020700\n")
      .file(devices + "0000:5e:00.0/vendor", "0x15b3\n");
  const std::string groups = "sys/kernel/iommu_groups/";
  tree.file(groups + "7/type", "DMA-FQ\n")
      .file(groups + "7/devices/0000:3b:00.0/x", "")
      .file(groups + "8/type", "DMA\n")
      .file(groups + "8/devices/0000:02:00.0/x", "")
      .file(groups + "9/devices/0000:5e:00.0/x", ""); // older kernels do not report the type

  model::PciSurvey found = system::pci_survey(tree.root());

  CHECK(found.iommu_groups == 3);
  CHECK(found.device_groups ==
        std::vector<model::IommuGroup>{{"DMA-FQ", {"0000:3b:00.0"}}, {"", {"0000:5e:00.0"}}});
}
