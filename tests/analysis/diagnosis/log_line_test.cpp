// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_line.h"
#include "support/catch.h"

namespace ncclprobe::analysis {

TEST_CASE("the rank is read from what launchers and frameworks write in front") {
  for (const char* text :
       {"[rank3]: boom", "[rank3] boom", "[Rank 3] boom", "[1,3]<stderr>: boom", "3: boom",
        " 3: boom", "[prterun-node1-77@1,3]<stdout>: boom", "2026-11-21 12:00:01,123 [rank3]: boom",
        "[1,0]<stderr>:[rank3]: boom"}) {
    INFO(text);
    LogLine line = read_log_line(text);
    CHECK(line.rank == 3);
    CHECK(line.body == "boom");
  }
  CHECK(read_log_line("[default2]:boom").local_rank == 2);
}

TEST_CASE("NCCL's prefix gives host, process and GPU") {
  LogLine line = read_log_line("node-7:1889:1902 [5] NCCL WARN Cuda failure 2 'out of memory'");

  CHECK(line.host == "node-7");
  CHECK(line.process == "node-7:1889");
  CHECK(line.gpu == 5);
  CHECK(line.body.substr(0, 9) == "NCCL WARN");
}

TEST_CASE("times of one kind can be compared") {
  auto at = [](const char* text) { return read_log_line(text).time->seconds; };

  CHECK(at("2026-11-21 12:00:02,250 x") - at("2026-11-21T12:00:01.250Z x") == Approx(1));
  CHECK(at("[2026-12-01 00:00:00] x") - at("[2026-11-30 00:00:00] x") == Approx(86400));
  CHECK(at("[E1121 12:00:02.5 ProcessGroupNCCL.cpp:616] x") - at("E1121 12:00:02.0 x") ==
        Approx(0.5));
  CHECK(at("[12345.500000] NVRM: Xid") == Approx(12345.5));
  LogLine syslog =
      read_log_line("Nov 21 12:00:01 node3 kernel: [77.1] NVRM: Xid (PCI:0000:41:00): 79");
  CHECK(syslog.host == "node3");
  CHECK(syslog.time->kind == LogTime::Kind::yearless);
  CHECK(syslog.body.substr(0, 4) == "NVRM");
}

TEST_CASE("prefixes nest") {
  LogLine line =
      read_log_line("[rank2]:[E1121 12:00:01.123456789 ProcessGroupNCCL.cpp:616] [Rank 2] "
                    "Watchdog caught collective operation timeout");

  CHECK(line.rank == 2);
  CHECK(line.time.has_value());
  CHECK(line.body.substr(0, 8) == "Watchdog");
}

TEST_CASE("what looks a little like a prefix stays in the text") {
  for (const char* text : {"", ":", "[", "[rank", "[rankx]: a", "[1,]<std", "]<std", "12",
                           "12:", "host:1:2 [", "host:1:2 [x", "2026-", "2026-13-01 00:00:00",
                           "E99", "[[[[[[", "Nov", "[12.", "99999999999999999999: x"}) {
    INFO(text);
    LogLine line = read_log_line(text);
    CHECK(line.body == text);
    CHECK_FALSE(line.rank.has_value());
  }
}

} // namespace ncclprobe::analysis
