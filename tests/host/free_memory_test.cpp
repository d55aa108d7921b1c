// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/free_memory.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <filesystem>
#include <fstream>
#include <limits>
#include <stdlib.h>

namespace ncclprobe::host {
namespace {

// A machine with 1000 KiB available, simulated in a folder.
class Machine {
public:
  Machine() {
    write("meminfo", "MemTotal: 4000 kB\nMemFree: 10 kB\nMemAvailable: 1000 kB\nBuffers: 1 kB\n");
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  std::uint64_t free_bytes() const {
    return free_memory_bytes({.meminfo = folder_ / "meminfo", .cgroup = folder_.path()});
  }

private:
  support::ScratchFolder folder_;
};

} // namespace

TEST_CASE("without a control group what the machine has available is free") {
  CHECK(Machine().free_bytes() == 1000 * 1024);
}

TEST_CASE("a lower limit of the control group counts, less what the group uses") {
  Machine machine;
  machine.write("memory.max", "5000\n");
  machine.write("memory.current", "2000\n");

  CHECK(machine.free_bytes() == 3000);
}

TEST_CASE("cached files do not count as used") {
  Machine machine;
  machine.write("memory.max", "5000\n");
  machine.write("memory.current", "4900\n");
  machine.write("memory.stat", "anon 900\nfile 4000\ninactive_file 3000\nactive_file 1000\n");

  CHECK(machine.free_bytes() == 4100);
}

TEST_CASE("a group over its limit has nothing left") {
  Machine machine;
  machine.write("memory.max", "5000\n");
  machine.write("memory.current", "6000\n");

  CHECK(machine.free_bytes() == 0);
}

TEST_CASE("a group without a limit, or with a higher one, changes nothing") {
  Machine machine;
  machine.write("memory.current", "2000\n");
  machine.write("memory.max", "max\n");
  CHECK(machine.free_bytes() == 1000 * 1024);

  machine.write("memory.max", "999999999\n");
  CHECK(machine.free_bytes() == 1000 * 1024);
}

TEST_CASE("where nothing is known nothing is refused") {
  CHECK(free_memory_bytes({.meminfo = "/nonexistent", .cgroup = "/nonexistent"}) ==
        std::numeric_limits<std::uint64_t>::max());
}

} // namespace ncclprobe::host
