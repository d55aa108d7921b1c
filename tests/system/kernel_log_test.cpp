// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/kernel_log.h"

#include "support/catch.h"
#include "support/file_tree.h"

#include <ctime>

using namespace ncclprobe;

namespace {

constexpr std::int64_t k_now_s = 1'772'368'496; // 2026-03-01T12:34:56Z

} // namespace

TEST_CASE("an Xid is read out of its line") {
  auto xid = system::parse_xid("6,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off");

  REQUIRE(xid);
  CHECK(xid->number == 79);
  CHECK(xid->pci_bus_id == "0000:3b:00");
  CHECK(xid->line == "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off");
}

TEST_CASE("lines without an Xid give none") {
  CHECK_FALSE(system::parse_xid("NVRM: loading NVIDIA UNIX x86_64 Kernel Module"));
  CHECK_FALSE(system::parse_xid("NVRM: Xid (PCI:0000:3b:00): , no number"));
  CHECK_FALSE(system::parse_xid("NVRM: Xid (PCI:0000:3b:00"));
  CHECK_FALSE(system::parse_xid("NVRM: Xid (PCI:0): 99999999999999999999, too long"));
}

TEST_CASE("the kernel's ring is read first") {
  support::FileTree tree;
  tree.file("dev/kmsg", "6,1,2,-;hello\n4,2,3,-;NVRM: Xid (PCI:0000:18:00): 48, DBE\n")
      .file("var/log/syslog", "NVRM: Xid (PCI:0000:99:00): 31, older\n");

  model::KernelLog log = system::kernel_log(tree.root(), k_now_s);

  CHECK(log.source == "/dev/kmsg");
  REQUIRE(log.xids.size() == 1);
  CHECK(log.xids[0].number == 48);
}

TEST_CASE("a log file stands in for a ring that cannot be read") {
  support::FileTree tree;
  tree.file("var/log/syslog", "Nov 1 host kernel: NVRM: Xid (PCI:0000:99:00): 31, fault\n");

  model::KernelLog log = system::kernel_log(tree.root(), k_now_s);

  CHECK(log.source == "/var/log/syslog");
  REQUIRE(log.xids.size() == 1);
  CHECK(log.xids[0].number == 31);
}

TEST_CASE("without any log it says why") {
  support::FileTree tree;

  model::KernelLog log = system::kernel_log(tree.root(), k_now_s);

  CHECK(log.source.empty());
  CHECK_THAT(log.problem, ContainsSubstring("kmsg"));
}

TEST_CASE("the ring tells how long ago an error was") {
  support::FileTree tree;
  tree.file("proc/uptime", "90000.25 1000.00\n")
      .file("dev/kmsg", "4,7,3600000000,-;NVRM: Xid (PCI:0000:18:00): 48, DBE\n"
                        "4,8,89990000000,-;NVRM: Xid (PCI:0000:18:00): 63, x\n"
                        "NVRM: Xid (PCI:0000:18:00): 31, a line without a time\n");

  model::KernelLog log = system::kernel_log(tree.root(), k_now_s);

  CHECK(log.uptime_s == 90000);
  REQUIRE(log.xids.size() == 3);
  CHECK(log.xids[0].age_s == 86400);
  CHECK(log.xids[1].age_s == 10);
  CHECK_FALSE(log.xids[2].age_s);
}

TEST_CASE("a log file's lines have a time of day, in either form") {
  using system::written_at_s;
  CHECK(written_at_s("2026-03-01T12:34:56.123456+00:00 host kernel: x", k_now_s) == k_now_s);
  CHECK(written_at_s("2026-03-01T13:34:56+01:00 host kernel: x", k_now_s) == k_now_s);
  CHECK(written_at_s("2026-03-01T12:34:56Z host", k_now_s) == k_now_s);
  CHECK_FALSE(written_at_s("2026-03-01T12:34:56 no zone", k_now_s));
  CHECK_FALSE(written_at_s("NVRM: Xid", k_now_s));
  CHECK_FALSE(written_at_s("", k_now_s));

  // Without a year and in local time: the last time that it was this day and hour.
  auto in_local_time = [](std::int64_t at_s) {
    std::time_t at = at_s;
    std::tm parts{};
    ::localtime_r(&at, &parts);
    char text[64];
    std::strftime(text, sizeof text, "%b %e %H:%M:%S host kernel: x", &parts);
    return std::string(text);
  };
  for (std::int64_t age_s : {0, 3600, 40 * 86400, 300 * 86400}) {
    INFO(in_local_time(k_now_s - age_s));
    CHECK(written_at_s(in_local_time(k_now_s - age_s), k_now_s) == k_now_s - age_s);
  }
}

TEST_CASE("of very many errors the last hundred are kept") {
  support::FileTree tree;
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += fmt::format("NVRM: Xid (PCI:0000:18:00): {}, x\n", i);
  tree.file("dev/kmsg", text);

  model::KernelLog log = system::kernel_log(tree.root(), k_now_s);

  REQUIRE(log.xids.size() == 100);
  CHECK(log.xids.back().number == 249);
}
