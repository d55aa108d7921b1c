// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_record.h"
#include "support/catch.h"

using ncclprobe::cli::without_names;

TEST_CASE("names are left out of whatever program wrote them, and nothing else is") {
  CHECK(without_names("GPU 0: NVIDIA H200 (UUID: GPU-6d1a0c7e-0000-1111-2222-333344445555)\n") ==
        "GPU 0: NVIDIA H200 (UUID: left-out)\n");
  CHECK(without_names("    Serial Number                          : 1652024012345\n") ==
        "    Serial Number                          : left-out\n");
  CHECK(without_names("    GPU PDI                                : 0x7b2f\n") ==
        "    GPU PDI                                : left-out\n");
  CHECK(
      without_names("<cpu host_hash=\"0xd992\" numaid=\"0\">\n<net guid=\"0x1\" port=\"1\"/>\n") ==
      "<cpu host_hash=\"0x0\" numaid=\"0\">\n<net guid=\"0x0\" port=\"1\"/>\n");
  CHECK(without_names(
            "<info name=\"HostName\" value=\"node7\"/><info name=\"Backend\" value=\"x\"/>") ==
        "<info name=\"HostName\" value=\"left-out\"/><info name=\"Backend\" value=\"x\"/>");
  CHECK(without_names("<info name=\"DMIProductSerial\" value=\"7\"/>") ==
        "<info name=\"DMIProductSerial\" value=\"left-out\"/>");
  CHECK(without_names("<info name=\"LinuxCgroup\" value=\"/user.slice/user-1000.slice\"/>") ==
        "<info name=\"LinuxCgroup\" value=\"left-out\"/>");
  CHECK(without_names("    Bus Id                : 00000000:00:06.0\n") ==
        "    Bus Id                : 00000000:00:06.0\n");
  CHECK(without_names("") == "");
}
