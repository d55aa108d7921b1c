// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "analysis/diagnosis/driver_event.h"
#include "support/catch.h"

namespace ncclprobe::analysis {

using test_diagnosis::Diagnosed;
using Named = std::vector<std::string>;

TEST_CASE("a GPU that fell off the bus is known by the driver's three lines") {
  Diagnosed log("[   5.501] NVRM: The NVIDIA GPU 0000:41:00.0\n"
                "[   5.501] NVRM: (PCI ID: 10de:2330) installed in this system has\n"
                "[   5.501] NVRM: fallen off the bus and is not responding to commands.\n");

  CHECK(log.named() == Named{"gpu-fell-off-the-bus"});
  const LogEvidence& evidence = log.diagnosis.causes[0]->first[0];
  CHECK(evidence.line == 1);
  CHECK(evidence.text == "NVRM: The NVIDIA GPU 0000:41:00.0 (PCI ID: 10de:2330) installed in this "
                         "system has fallen off the bus and is not responding to commands.");
  CHECK(log.diagnosis.causes[0]->lines == 1);
}

TEST_CASE("lines of others between those of the driver do not break its event") {
  Diagnosed log("n1 kernel: NVRM: The NVIDIA GPU 0000:41:00.0\n"
                "n1 kernel: usb 1-1: new high-speed USB device\n"
                "n1 kernel: NVRM: (PCI ID: 10de:2330) installed in this system has\n"
                "n1 kernel: NVRM: fallen off the bus and is not responding to commands.\n");

  REQUIRE(log.named() == Named{"gpu-fell-off-the-bus"});
  CHECK_THAT(log.diagnosis.causes[0]->first[0].text, ContainsSubstring("0000:41:00.0"));
}

TEST_CASE("two GPUs are two events, and a line that stands alone is none") {
  Diagnosed log("[ 5.1] NVRM: The NVIDIA GPU 0000:41:00.0\n"
                "[ 5.1] NVRM: (PCI ID: 10de:2330) installed in this system has\n"
                "[ 5.1] NVRM: fallen off the bus and is not responding to commands.\n"
                "[ 5.2] NVRM: The NVIDIA GPU 0000:42:00.0\n"
                "[ 5.2] NVRM: (PCI ID: 10de:2330) installed in this system has\n"
                "[ 5.2] NVRM: GPU 0000:43:00.0: RmInitAdapter failed! (0x24:0x72:1568)\n"
                "[ 5.2] NVRM: fallen off the bus and is not responding to commands.\n");

  REQUIRE(log.diagnosis.causes.size() == 1);
  CHECK(log.diagnosis.causes[0]->lines == 2);
  CHECK(log.diagnosis.causes[0]->first[1].line == 4);
  CHECK(log.shows("driver-init-failed"));
}

TEST_CASE("an event that the log cuts short is judged by what there is") {
  CHECK(Diagnosed("NVRM: The NVIDIA GPU 0000:e0:00.0 (PCI ID: 10de:1d16)\n"
                  "NVRM: installed in this system is not supported by open\n")
            .named() == Named{"open-module-unsupported-gpu"});
}

} // namespace ncclprobe::analysis
