// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/kernel_log.h"

#include "support/catch.h"
#include "support/file_tree.h"

using namespace ncclprobe;

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

  model::KernelLog log = system::kernel_log(tree.root());

  CHECK(log.source == "/dev/kmsg");
  REQUIRE(log.xids.size() == 1);
  CHECK(log.xids[0].number == 48);
}

TEST_CASE("a log file stands in for a ring that cannot be read") {
  support::FileTree tree;
  tree.file("var/log/syslog", "Nov 1 host kernel: NVRM: Xid (PCI:0000:99:00): 31, fault\n");

  model::KernelLog log = system::kernel_log(tree.root());

  CHECK(log.source == "/var/log/syslog");
  REQUIRE(log.xids.size() == 1);
  CHECK(log.xids[0].number == 31);
}

TEST_CASE("without any log it says why") {
  support::FileTree tree;

  model::KernelLog log = system::kernel_log(tree.root());

  CHECK(log.source.empty());
  CHECK_THAT(log.problem, ContainsSubstring("kmsg"));
}

TEST_CASE("of very many errors the last hundred are kept") {
  support::FileTree tree;
  std::string text;
  for (int i = 0; i < 250; ++i)
    text += fmt::format("NVRM: Xid (PCI:0000:18:00): {}, x\n", i);
  tree.file("dev/kmsg", text);

  model::KernelLog log = system::kernel_log(tree.root());

  REQUIRE(log.xids.size() == 100);
  CHECK(log.xids.back().number == 249);
}
