// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/driver.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

namespace {

bool has_service(const model::DriverSurvey& found, const std::string& name) {
  return std::find(found.services.begin(), found.services.end(), name) != found.services.end();
}

} // namespace

TEST_CASE("the version and flavour of the loaded kernel module are read") {
  support::FileTree tree;
  tree.file("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  "
            "(dvs-builder@U22)  Tue Sep 23 10:11:16 UTC 2025\nGCC version:  gcc version 12.3.0\n");

  model::DriverSurvey found = system::driver_survey(tree.root());

  CHECK(found.module_version == "580.95.05");
  CHECK(found.flavour == "open");
}

TEST_CASE("the proprietary module is told apart") {
  support::FileTree tree;
  tree.file(
      "proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC\n");

  model::DriverSurvey found = system::driver_survey(tree.root());

  CHECK(found.module_version == "535.129.03");
  CHECK(found.flavour == "proprietary");
}

TEST_CASE("services are found by name, also where the kernel cuts it off") {
  support::FileTree tree;
  tree.file("proc/11/comm", "nv-fabricmanage\n")
      .file("proc/12/comm", "nvidia-cuda-mps\n")
      .file("proc/12/cmdline", std::string("/usr/bin/nvidia-cuda-mps-server\0", 32))
      .file("proc/13/comm", "bash\n")
      .file("proc/self/comm", "nvidia-persiste\n");

  model::DriverSurvey found = system::driver_survey(tree.root());

  CHECK(has_service(found, "nv-fabricmanager"));
  CHECK(has_service(found, "nvidia-cuda-mps-server"));
  CHECK_FALSE(has_service(found, "nvidia-cuda-mps-control"));
  CHECK_FALSE(has_service(found, "nvidia-persistenced"));
}

TEST_CASE("modules, device files and packages are listed") {
  support::FileTree tree;
  tree.file("proc/modules", "nvidia_peermem 16384 0 - Live 0x0\next4 1 0 - Live 0x0\n")
      .file("sys/module/nvidia_peermem/version", "580.95.05\n")
      .file("dev/nvidiactl", "")
      .file("dev/infiniband/uverbs0", "")
      .file("dev/nvidia-caps-imex-channels/channel0", "")
      .file("var/lib/dpkg/status",
            "Package: vim\nVersion: 9.0\n\nPackage: nvidia-fabricmanager-580\nStatus: installed\n"
            "Version: 580.95.05-1\n");

  model::DriverSurvey found = system::driver_survey(tree.root());

  CHECK(found.modules == std::vector<model::KernelModule>{{"nvidia_peermem", "580.95.05"}});
  CHECK(found.device_files == std::vector<std::string>{"/dev/nvidia-caps-imex-channels",
                                                       "/dev/nvidiactl",
                                                       "/dev/nvidia-caps-imex-channels/channel0",
                                                       "/dev/infiniband/uverbs0"});
  CHECK(found.fabric_manager_version == "580.95.05");
}

TEST_CASE("GPUs and NVSwitches on the PCI bus are counted, other vendors' devices are not") {
  support::FileTree tree;
  auto device = [&](const std::string& address, const char* vendor, const char* kind) {
    tree.file("sys/bus/pci/devices/" + address + "/vendor", vendor)
        .file("sys/bus/pci/devices/" + address + "/class", kind);
  };
  device("0000:01:00.0", "0x10de\n", "0x030200\n");
  device("0000:02:00.0", "0x10de\n", "0x068000\n");
  device("0000:03:00.0", "0x8086\n", "0x030000\n");

  model::DriverSurvey found = system::driver_survey(tree.root());

  CHECK(found.nvidia_pci_devices == 1);
  CHECK(found.nvswitches == 1);
}

TEST_CASE("a host without any of it is empty") {
  support::FileTree tree;

  CHECK(system::driver_survey(tree.root()) == model::DriverSurvey{});
}
