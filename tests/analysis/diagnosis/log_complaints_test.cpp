// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "support/catch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

// Lines that an earlier diagnosis was wrong about, or silent.
namespace ncclprobe::analysis {
namespace {

using knowledge::CauseSeverity;
using Named = std::vector<std::string>;

Named named(const std::string& line) {
  return test_diagnosis::Diagnosed(line + "\n").named();
}

std::string xid_line(int number) {
  return fmt::format("[ 66.8] NVRM: Xid (PCI:0000:c1:00): {}, pid='<unknown>', name=<unknown>",
                     number);
}

} // namespace

TEST_CASE("each failure of NVML has its own cause, and only a mismatch asks for a reboot") {
  const std::string failed = "Failed to initialize NVML: ";
  CHECK(named(failed + "Driver/library version mismatch") == Named{"driver-library-mismatch"});
  CHECK(named(failed + "Unknown Error") == Named{"?nvml-container-lost-devices"});
  CHECK(named(failed + "Insufficient Permissions") == Named{"nvml-no-permission"});
  CHECK(named(failed + "Driver Not Loaded") == Named{"driver-not-loaded"});
  CHECK(named(failed + "GPU access blocked by the operating system") ==
        Named{"wsl-gpu-access-blocked"});
  CHECK(named(failed + "something that nobody has seen").empty());
}

TEST_CASE("'invalid argument' of CUDA has the cause that the part of NCCL points to, if any") {
  const std::string failed = " NCCL WARN Cuda failure 1 'invalid argument'";
  CHECK(named("n1:5:5 [0] transport/nvls.cc:244" + failed) == Named{"?nvls-multicast-failed"});
  CHECK(named("n1:5:5 [0] transport.cc:154" + failed) == Named{"?p2p-broken"});
  CHECK(named("n1:5:5 [0] transport/shm.cc:590" + failed) ==
        Named{"?nccl-host-memory-mapping-failed"});
  test_diagnosis::Diagnosed elsewhere("n1:5:5 [0] init.cc:1400" + failed + "\n");
  CHECK(elsewhere.named().empty());
  CHECK(elsewhere.diagnosis.unknown.size() == 1);
}

TEST_CASE("exhausted memory of the GPU has no second cause") {
  CHECK(named("cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY") == Named{"gpu-out-of-memory"});
}

TEST_CASE("no space left is a full disk only where it is a disk") {
  const std::string full = "OSError: [Errno 28] No space left on device: ";
  CHECK(named(full + "'/ckpt/step_100.pt'") == Named{"disk-full"});
  CHECK(named(full + "'/dev/shm/psm_3fa2'") == Named{"shm-too-small"});
  CHECK(named("RuntimeError: unable to write to file </torch_421_0>: No space left on device") ==
        Named{"shm-too-small"});
  CHECK(
      named("n1:5:5 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n "
            "to 33030532 bytes, error: No space left on device (28)") == Named{"shm-too-small"});
  CHECK(named("inotify_add_watch: No space left on device").empty());
}

TEST_CASE("Xids that were passed over have the causes that NVIDIA's catalogue gives them") {
  for (auto [number, cause] : {std::pair{8, "gpu-stopped-processing"},
                               {38, "gpu-firmware-halted"},
                               {69, "?gpu-application-fault"},
                               {110, "gpu-security-fault"},
                               {122, "gpu-inforom-flash-failed"},
                               {123, "gpu-inforom-flash-failed"},
                               {124, "gpu-inforom-flash-failed"},
                               {126, "?gpu-application-fault"},
                               {151, "gpu-key-rotation-failed"},
                               {158, "gpu-fatal-timeout"},
                               {160, "gpu-memory-channel-retired"},
                               {162, "gpu-power-smoothing-notice"},
                               {163, "gpu-power-smoothing-notice"},
                               {165, "gpu-power-smoothing-worn-out"},
                               {167, "gpu-pcie-fatal-timeout"},
                               {171, "gpu-ecc-uncorrectable"},
                               {172, "gpu-ecc-uncorrectable"}}) {
    INFO(number);
    CHECK(named(xid_line(number)) == Named{cause});
  }
}

TEST_CASE("no Xid is passed over, whatever its number") {
  for (int number = 1; number <= 1000; ++number) {
    test_diagnosis::Diagnosed log(xid_line(number) + "\n");
    INFO(number);
    CHECK(log.diagnosis.severity >= CauseSeverity::warn);
  }
}

TEST_CASE("an Xid that nobody knows is possibly anything, and its number is told") {
  test_diagnosis::Diagnosed log(xid_line(901) + "\n");

  CHECK(log.named() == Named{"?unknown-xid"});
  CHECK_THAT(log.text(), ContainsSubstring("Xid 901 is not in our table"));
  CHECK_THAT(log.text(), ContainsSubstring("NVIDIA's Xid catalogue"));
}

TEST_CASE("a known Xid is told with the catalogue's words and actions") {
  test_diagnosis::Diagnosed log(xid_line(79) + "\n");

  CHECK_THAT(log.text(),
             ContainsSubstring("Xid 79 (FALLEN_OFF_THE_BUS): the GPU no longer answers"));
  CHECK_THAT(log.text(), ContainsSubstring("at once: restart the"));
  auto xid = nlohmann::json::parse(log.json())["causes"][0]["xids"][0];
  CHECK(xid["xid"] == 79);
  CHECK(xid["immediate"] == "RESTART_BM");
  CHECK(xid["investigatory"] == "CONTACT_SUPPORT");
}

TEST_CASE("failures that were passed over without a word are named") {
  for (auto [line, cause] : {
           std::pair{
               "[ 47.8] NVRM: Xid (PCI:0000:9f:00): 119, pid=1, name=nvidia-smi, Timeout waiting "
               "for RPC from GSP! Expected function 76 (GSP_RM_CONTROL) (0x20801348 0x410).",
               "gsp-timeout"},
           {"[ 42.1] NVRM: GPU 0000:14:00.0: RmInitAdapter failed! (0x24:0x72:1568)",
            "driver-init-failed"},
           {"could not select device driver \"\" with capabilities: [[gpu]]",
            "container-toolkit-missing"},
           {"nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8",
            "container-needs-newer-driver"},
           {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
            "driver-not-loaded"},
           {"the provided PTX was compiled with an unsupported toolchain.",
            "ptx-newer-than-driver"},
           {"CUDA failure: call requires newer driver", "call-needs-newer-driver"},
           {"0/6 nodes are available: 6 Insufficient nvidia.com/gpu.", "k8s-no-free-gpu"},
           {"n1:5:5 [0] NCCL INFO NET/OFI Selected Provider is  (found 0 nics)",
            "efa-device-missing"},
           {"n1:5:5 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.1<1> with error 4, "
            "opcode "
            "5327, len 5327, vendor err 81 (Send)",
            "?gpudirect-rdma-blocked-by-acs"},
           {"CUDA error 711: peer mapping resources exhausted", "p2p-peers-exhausted"},
           {"RuntimeError: CUDA error: device-side assert triggered", "device-side-assert"},
       }) {
    test_diagnosis::Diagnosed log(std::string(line) + "\n");
    INFO(line);
    CHECK(log.named() == Named{cause});
    CHECK(log.diagnosis.severity >= CauseSeverity::warn);
  }
}

} // namespace ncclprobe::analysis
