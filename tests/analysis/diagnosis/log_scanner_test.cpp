// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/diagnosis/log_scanner.h"
#include "support/catch.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using test_diagnosis::patterns;

LogFindings findings_of(std::string_view log, std::size_t piece = 1 << 20) {
  LogScanner scanner(patterns());
  for (std::size_t at = 0; at < log.size(); at += piece)
    scanner.feed(log.substr(at, piece));
  return scanner.finish();
}

std::vector<std::string> ids(const LogFindings& findings) {
  std::vector<std::string> all;
  for (const LogProblem& one : findings.problems)
    all.push_back(one.cause->id);
  return all;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

} // namespace

TEST_CASE("words are found in either case, within each other and among any bytes") {
  knowledge::LogCause cause;
  cause.signs.push_back({.line = "quxabcdef|abcdef|bcdefgh"});
  const std::vector causes{cause};
  const LogPatterns made(causes);

  CHECK(made.words_in("a QuxABCdefgh").size() == 3);
  CHECK(made.words_in("quxabcde").empty());
  CHECK(made.find_candidate(std::string_view("\0\xff\x80\nabcdef", 10)) == 10);
  CHECK(made.find_candidate("quxabcde") == std::string_view::npos);
  CHECK(made.find_candidate("") == std::string_view::npos);
}

TEST_CASE("the words that an expression needs are the longest plain runs of its alternatives") {
  using Words = std::vector<std::string>;
  CHECK(needed_words("Call to (a|b) failed") == Words{"call to "});
  CHECK(needed_words("(?i)\\bfatal\\b|pan[i]c: x") == Words{"fatal", "c: x"});
  CHECK(needed_words("Xid \\(PCI:[^)]*\\): 79\\b") == Words{"xid (pci:"});
  CHECK(needed_words("exitcodes? *: -9") == Words{"exitcode"});
  CHECK(needed_words("ab{2,3}cdef|[x\\]y]longer\\.x") == Words{"cdef", "longer.x"});
  CHECK(needed_words("(a|b)") == Words{""});
}

TEST_CASE("a healthy log shows no problem and nothing suspicious") {
  std::string log =
      "n1:5:5 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so\n"
      "n1:5:5 [0] NCCL INFO Failed to initialize NET plugin IB\n"
      "n1:5:5 [0] NCCL INFO Could not find real path of /sys/class/pci_bus/fffffff\n"
      "n1:5:5 [0] NCCL INFO ncclCommInitRankConfig comm 0x55 rank 0 nranks 8 cudaDev 0\n"
      "step 100 loss 2.31 error_rate=0.02 errors: 0\n"
      "# Out of bounds values : 0 OK\n"
      "validation finished with no errors\n"
      "n1:5:5 [0] NCCL INFO NCCL_ASYNC_ERROR_HANDLING set by environment to 1.\n";
  LogFindings findings = findings_of(log);

  CHECK(ids(findings).empty());
  CHECK(findings.unknown.empty());
  CHECK(findings.lines == 8);
  CHECK(findings.world_size == 8);
}

TEST_CASE("where pieces are cut makes no difference") {
  std::string log;
  for (int i = 0; i < 200; ++i)
    log += "[rank" + std::to_string(i % 8) + "]: step " + std::to_string(i) + "\r\n";
  log += "[rank6]: RuntimeError: CUDA error: an illegal memory access was encountered\r\n";
  log += "[rank7]: last line without end: CUDA out of memory";
  for (std::size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u, 100000u}) {
    INFO(piece);
    LogFindings findings = findings_of(log, piece);

    REQUIRE(ids(findings) ==
            std::vector<std::string>{"illegal-memory-access", "gpu-out-of-memory"});
    CHECK(findings.lines == 202);
    CHECK(findings.bytes == log.size());
    CHECK(findings.problems[0].first[0].line == 201);
    CHECK(findings.problems[0].first[0].rank == 6);
    CHECK(findings.problems[1].first[0].line == 202);
  }
}

TEST_CASE("the rank of an NCCL process is learnt from its first communicator") {
  LogFindings findings = findings_of(
      "a:10:10 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 4 nranks 16 cudaDev 0 - Init START\n"
      "a:10:11 [0] NCCL INFO ncclCommSplit comm 0x2 rank 0 nranks 2 cudaDev 0 - Init START\n"
      "a:10:12 [0] NCCL WARN Cuda failure 2 'out of memory'\n");

  REQUIRE(findings.problems.size() == 1);
  CHECK(findings.problems[0].first[0].rank == 4);
  CHECK(findings.problems[0].first[0].host == "a");
}

TEST_CASE("what a line proves hides what it may be besides") {
  auto found =
      ids(findings_of("RuntimeError: CUDA error: out of memory 'cudaErrorMemoryAllocation'\n"));

  CHECK(has(found, "gpu-out-of-memory"));
  CHECK_FALSE(has(found, "python-exception"));
}

TEST_CASE("unknown errors are kept once for each shape") {
  std::string log;
  for (int i = 0; i < 500; ++i)
    log +=
        "frobnicator " + std::to_string(i) + ": ERROR: widget 0x" + std::to_string(i) + " failed\n";
  log += "n1:1:1 [0] NCCL WARN something nobody has seen before\n";
  LogFindings findings = findings_of(log);

  REQUIRE(findings.unknown.size() == 2);
  CHECK(findings.unknown[0].lines == 500);
  CHECK(findings.unknown[0].first.line == 1);
  LogDiagnosis diagnosis = diagnose(findings);
  CHECK(diagnosis.causes.empty());
  CHECK_THAT(diagnosis.unknown.front()->first.text, ContainsSubstring("NCCL WARN"));
}

TEST_CASE("binary junk, escape codes and lines without end are survived") {
  std::string junk;
  for (int i = 0; i < 300000; ++i)
    junk += static_cast<char>((i * 7919) % 251);
  std::string endless(700000, 'x');
  std::string log = junk + "\n" + endless + " CUDA out of memory " + endless +
                    "\n\x1b[31m[rank1]: RuntimeError: CUDA error: invalid device ordinal\x1b[0m\n";
  LogFindings findings = findings_of(log, 65536);

  auto found = ids(findings);
  CHECK(has(found, "gpu-out-of-memory"));
  CHECK(has(found, "invalid-device-ordinal"));
  for (const LogProblem& one : findings.problems)
    for (const LogEvidence& evidence : one.first)
      CHECK(evidence.text.size() < 300);
}

TEST_CASE("a progress bar's carriage returns do not hide an error behind them") {
  LogFindings findings =
      findings_of("10%|#   |\r20%|##  |\r[rank2]: CUDA out of memory\r30%|###  |\n");

  REQUIRE(ids(findings) == std::vector<std::string>{"gpu-out-of-memory"});
  CHECK(findings.problems[0].first[0].rank == 2);
}

TEST_CASE("what repeats without end is counted, and later ranks are still seen") {
  std::string log;
  for (int i = 0; i < 60000; ++i)
    log += "[rank1]: CUDA out of memory\n";
  log += "[rank2]: CUDA out of memory\n";
  LogFindings findings = findings_of(log);

  REQUIRE(findings.problems.size() == 1);
  CHECK(findings.problems[0].lines == 60001);
  CHECK_FALSE(findings.problems[0].exact);
  CHECK(findings.problems[0].first_of_rank.count(2) == 1);
}

TEST_CASE("an empty log is a log without lines") {
  LogFindings findings = findings_of("");

  CHECK(findings.lines == 0);
  CHECK(findings.problems.empty());
}

} // namespace ncclprobe::analysis
