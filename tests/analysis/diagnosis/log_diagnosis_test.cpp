// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/diagnosis/log_report.h"
#include "analysis/report_value/report_writers.h"
#include "support/catch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using test_diagnosis::Diagnosed;

Diagnosed diagnosed(std::string_view log) {
  return Diagnosed(log);
}

std::string cause(const Diagnosed& log) {
  return log.diagnosis.causes.empty() ? "" : log.diagnosis.causes.front()->cause->id;
}

// 20 lines such as "[rank3]: step 4 loss 0.512345", packed by gzip.
constexpr unsigned char k_gzip[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0xf1, 0x53, 0x65, 0x02, 0xff, 0x5d, 0x90, 0x41, 0x6e, 0xc3, 0x50,
    0x08, 0x44, 0xf7, 0x39, 0x85, 0x4f, 0x10, 0x31, 0xf0, 0x81, 0x4f, 0xae, 0x12, 0x75, 0xd1, 0x45,
    0x57, 0x8d, 0x92, 0xa8, 0xee, 0xfd, 0x55, 0x57, 0x36, 0x58, 0x62, 0xfd, 0x34, 0xc3, 0xf0, 0xee,
    0x3f, 0x9f, 0xcf, 0x6f, 0xf9, 0xb8, 0x2d, 0xeb, 0xef, 0xd7, 0x7b, 0xa1, 0xe5, 0xf1, 0x5a, 0xd7,
    0x85, 0xae, 0xe2, 0x34, 0xc0, 0x97, 0xfb, 0x3f, 0xb5, 0xa4, 0x48, 0x0a, 0x36, 0x11, 0xec, 0x94,
    0x92, 0x72, 0x52, 0x9a, 0x8a, 0xa9, 0x3b, 0xad, 0x66, 0x49, 0x3a, 0xb1, 0xa5, 0x47, 0xa3, 0x23,
    0xe9, 0x20, 0x72, 0x50, 0x6b, 0xd6, 0xa2, 0x1a, 0x90, 0x23, 0xeb, 0x49, 0xad, 0x36, 0x07, 0x0d,
    0x9f, 0xad, 0xd9, 0xeb, 0x6e, 0xb8, 0x48, 0xb4, 0x8f, 0xe6, 0xb9, 0x39, 0xd4, 0xac, 0x65, 0x23,
    0xa9, 0x6b, 0x10, 0x1f, 0x77, 0x47, 0xd9, 0x28, 0x59, 0xca, 0x84, 0x3c, 0x5c, 0xb3, 0x50, 0xb6,
    0xb6, 0x2c, 0xe5, 0xc7, 0xa7, 0xcb, 0xd2, 0xe5, 0x6c, 0x44, 0xdc, 0xcb, 0xcb, 0x17, 0x85, 0xc3,
    0x7c, 0xc7, 0x28, 0x5c, 0xc2, 0x64, 0x9a, 0x58, 0x7f, 0x0b, 0x65, 0x0c, 0xe4, 0xce, 0xd1, 0x7c,
    0xe2, 0x54, 0x26, 0x73, 0xa4, 0x94, 0xb3, 0xbc, 0x9c, 0x8d, 0x70, 0x9d, 0x68, 0x56, 0x50, 0xd2,
    0x36, 0xa6, 0x72, 0x4c, 0xe3, 0xc2, 0x65, 0xcd, 0xc8, 0x1c, 0x7e, 0xf9, 0x03, 0x75, 0x5c, 0x86,
    0x27, 0x62, 0x02, 0x00, 0x00};

} // namespace

TEST_CASE("the cause on one rank is told from what the other ranks see of it") {
  auto log =
      diagnosed("[rank0]:[E1121 12:10:01.5 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught "
                "collective operation timeout: WorkNCCL(SeqNum=9)\n"
                "b:20:20 [1] NCCL WARN socketProgress: Connection closed by remote peer a<1>\n"
                "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
                "[rank0]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268\n"
                "W1121 12:10:09.1 7 api.py:900] Sending process 77 closing signal SIGTERM\n");

  CHECK(cause(log) == "gpu-out-of-memory");
  REQUIRE(log.diagnosis.first_failure);
  CHECK(log.diagnosis.first_failure->rank == 5);
  CHECK(log.diagnosis.consequences.size() == 3);
  CHECK(log.diagnosis.wrappers.size() == 1);
  CHECK_FALSE(log.diagnosis.unexplained);
}

TEST_CASE("the first failing rank is found by the clock where lines are out of order") {
  auto log = diagnosed(
      "[rank1]: [2026-11-21 12:00:05,000] RuntimeError: CUDA error: invalid device ordinal\n"
      "[rank6]: [2026-11-21 12:00:02,000] RuntimeError: CUDA error: invalid device ordinal\n"
      "[rank3]: [2026-11-21 12:00:04,000] RuntimeError: CUDA error: invalid device ordinal\n");

  REQUIRE(log.diagnosis.first_failure);
  CHECK(log.diagnosis.first_failure->rank == 6);
  CHECK_THAT(log.diagnosis.first_failure->reason, ContainsSubstring("12:00:02"));
}

TEST_CASE("a log with consequences alone says that the cause is elsewhere") {
  auto log =
      diagnosed("b:20:20 [1] NCCL WARN socketProgress: Connection closed by remote peer a<1>\n"
                "[rank1]: ncclRemoteError: A call failed possibly due to a network error\n");

  CHECK(log.named() == std::vector<std::string>{"?remote-process-died"});
  CHECK(log.diagnosis.unexplained);
  CHECK_THAT(log.text(), ContainsSubstring("not in this log"));
}

TEST_CASE("in a hang the rank that is behind is named") {
  std::string text;
  for (int rank = 0; rank < 4; ++rank)
    text += "[rank" + std::to_string(rank) +
            "]:[E1121 12:00:01.5 ProcessGroupNCCL.cpp:616] Watchdog caught collective operation "
            "timeout, "
            "last enqueued NCCL work: " +
            std::to_string(rank == 2 ? 1239 : 1240) + ", last completed NCCL work: 1238.\n";
  auto log = diagnosed(text);

  REQUIRE(log.diagnosis.first_failure);
  CHECK(log.diagnosis.first_failure->rank == 2);
  CHECK_THAT(log.diagnosis.remarks.at(0), ContainsSubstring("rank 2 started fewer"));
}

TEST_CASE("the rank that reports no timeout is the one to look at") {
  std::string text;
  for (int rank = 0; rank < 4; ++rank)
    text += "h:" + std::to_string(rank + 10) + ":1 [0] NCCL INFO comm 0x1 rank " +
            std::to_string(rank) + " nranks 4 cudaDev 0\n";
  for (int rank : {0, 1, 3})
    text += "[rank" + std::to_string(rank) + "]: Watchdog caught collective operation timeout\n";
  auto log = diagnosed(text);

  CHECK_THAT(log.text(), ContainsSubstring("rank 2 reported no timeout"));
}

TEST_CASE("torchrun's own verdict names the rank where nothing else does") {
  auto log = diagnosed("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
                       "Root Cause (first observed failure):\n[0]:\n"
                       "  time      : 2026-11-21_12:00:01\n  host      : node7\n"
                       "  rank      : 11 (local_rank: 3)\n  exitcode  : -9 (pid: 4242)\n");

  REQUIRE(log.diagnosis.first_failure);
  CHECK(log.diagnosis.first_failure->rank == 11);
  CHECK(cause(log) == "host-out-of-memory");
}

TEST_CASE("a strong message ranks above a weak one that comes earlier") {
  auto log = diagnosed("[rank0]: RuntimeError: something about Segmentation fault\n"
                       "[rank1]: NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n to "
                       "33030532 bytes, error: No "
                       "space left on device (28)\n");

  CHECK(cause(log) == "shm-too-small");
  CHECK_FALSE(log.diagnosis.causes.back()->certain);
}

TEST_CASE("information is no cause") {
  auto log = diagnosed(
      "n1:5:5 [0] NCCL INFO P2P is disabled between connected GPUs 0 and 1. You can repress this "
      "message with NCCL_IGNORE_DISABLED_P2P=1.\n");

  CHECK(log.diagnosis.causes.empty());
  CHECK(log.diagnosis.notes.size() == 1);
  CHECK(log.diagnosis.severity == knowledge::CauseSeverity::info);
  CHECK(log.verdict() == "nothing_found");
}

TEST_CASE("ranks of one host that do not go from GPU to GPU are remarked") {
  auto log = diagnosed(
      "a:1:1 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 0 nranks 4 commId 0x9f - Init START\n"
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "a:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
      "a:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 2[0] via P2P/CUMEM\n"
      "a:2:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0\n"
      "b:1:1 [0] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [receive] via NET/IB/0\n"
      "b:1:1 [0] NCCL INFO Channel 00/0 : 2[0] -> 3[1] [send] via NET/IB/0\n"
      "b:2:2 [1] NCCL INFO Channel 00/0 : 2[0] -> 3[1] [receive] via NET/IB/0\n");

  REQUIRE(log.diagnosis.remarks.size() == 2);
  CHECK_THAT(log.diagnosis.remarks[0],
             ContainsSubstring("through host memory instead of directly between the GPUs of 1 pair "
                               "of ranks on one host: 0->1 (via SHM); first in line 2"));
  CHECK_THAT(log.diagnosis.remarks[1],
             ContainsSubstring("over the network instead of directly between the GPUs of 1 pair of "
                               "ranks on one host: 2->3 (via NET); "));
  CHECK(log.diagnosis.severity == knowledge::CauseSeverity::info);
  CHECK_THAT(log.text(), ContainsSubstring("via SHM"));
}

TEST_CASE("equal ranks of several communicators are not taken for one pair") {
  // The middle node of a pipeline: rank 1 behind one host, rank 0 before another.
  const std::string ways =
      "b:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0\n"
      "b:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0\n";
  const std::string first =
      "b:1:1 [0] NCCL INFO ncclCommInitRank comm 0x5 rank 1 nranks 2 commId 0x9f - Init START\n";
  CHECK(diagnosed(first + ways).diagnosis.remarks.size() == 1);
  CHECK(diagnosed(ways).diagnosis.remarks.empty()); // unknown
  for (const char* other :
       {"b:1:1 [0] NCCL INFO ncclCommInitRank comm 0x6 rank 0 nranks 2 commId 0xa0 - Init START\n",
        "b:1:1 [0] NCCL INFO ncclCommSplit comm 0x6 rank 0 nranks 2 parent 0x4 - Init START\n"}) {
    INFO(other);
    CHECK(diagnosed(first + other + ways).diagnosis.remarks.empty());
    CHECK(diagnosed(other + first + ways).diagnosis.remarks.empty());
  }
}

TEST_CASE("of a job on one node every way over the network is within a host") {
  std::string text = "a:1:1 [0] NCCL INFO comm 0x5 rank 0 nRanks 12 nNodes 1 localRanks 12\n";
  for (int rank = 0; rank < 12; ++rank)
    text += fmt::format("[{}] NCCL INFO Channel 00/0 : {}[0] -> {}[0] [send] via NET/Socket/0\n",
                        rank, rank, rank + 1);
  auto log = diagnosed(text);

  REQUIRE(log.diagnosis.remarks.size() == 1);
  CHECK_THAT(log.diagnosis.remarks[0],
             ContainsSubstring("of 12 pairs of ranks") &&
                 ContainsSubstring("7->8, ... (via NET); first in line 2"));
}

TEST_CASE("an empty log and one that is no text are said to be so") {
  CHECK(diagnosed("").verdict() == "empty_log");
  CHECK(diagnosed("").diagnosis.severity == knowledge::CauseSeverity::warn);
  std::string packed;
  for (int i = 0; i < 4096; ++i)
    packed += static_cast<char>(i % 251);
  packed += "\nCUDA out of memory\n"; // a program that contains this message
  CHECK(diagnosed(packed).verdict() == "not_text");
  CHECK(diagnosed(packed).diagnosis.causes.empty());
  CHECK(diagnosed("step 1\n").verdict() == "nothing_found");
}

TEST_CASE(
    "a log that gzip has packed is no text, although few of its bytes are control characters") {
  auto log = diagnosed(std::string_view(reinterpret_cast<const char*>(k_gzip), sizeof k_gzip));

  CHECK(log.findings.bytes_no_text * 10 < log.findings.bytes_tried);
  CHECK(log.verdict() == "not_text");
}

TEST_CASE("a log that was cut short while it was written to is read behind its hole") {
  std::string_view line = "[rank3]: CUDA out of memory\n";
  for (std::size_t hole : {1U, 4096U, 300'000U}) {
    auto log = diagnosed(std::string(hole, '\0') + std::string(line));

    INFO(hole);
    CHECK(cause(log) == "gpu-out-of-memory");
    REQUIRE(log.diagnosis.first_failure);
    CHECK(log.diagnosis.first_failure->rank == 3);
  }
  CHECK(diagnosed(std::string(4096, '\0')).verdict() == "not_text");
}

TEST_CASE("a single message that only passes an error on is listed once, under its own name") {
  std::string text =
      diagnosed("[rank1]: DistBackendError: NCCL error in: NCCLUtils.hpp:268\n").text();

  CHECK_THAT(text, !ContainsSubstring("Cause "));
  CHECK_THAT(text, ContainsSubstring("Passes on    PyTorch reports an NCCL error"));
  CHECK(text.find("[nccl-error-passed-on]") == text.rfind("[nccl-error-passed-on]"));
}

TEST_CASE("a rank that nobody names is told by its GPU") {
  auto log = diagnosed("node1:5:5 [2] NCCL WARN Cuda failure 2 'out of memory'\n");

  CHECK_THAT(log.text(), ContainsSubstring("GPU 2 on node1 failed first"));
}

TEST_CASE("an unknown error is said to be unknown") {
  auto log = diagnosed("n1:5:5 [0] NCCL WARN the flux compensator tripped\n");

  CHECK(log.verdict() == "unknown_errors");
  CHECK_THAT(log.text(), ContainsSubstring("flux compensator"));
}

TEST_CASE("the diagnosis says evidence, fix and what not to do") {
  auto log = diagnosed(
      "start\nn1:5:5 [2] NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n to 3 bytes, error: "
      "No space left on device (28)\n");
  std::string text = log.text();

  CHECK_THAT(text, ContainsSubstring("line 2, host n1, GPU 2"));
  CHECK_THAT(text, ContainsSubstring("--shm-size"));
  CHECK_THAT(text, ContainsSubstring("do not"));
}

TEST_CASE("the JSON has the same, and is valid whatever bytes the log has") {
  auto log = diagnosed("[rank3]: CUDA out of memory \xff\xfe\n");
  auto json = nlohmann::json::parse(
      written(log_report("a\xff.log", log.findings, log.diagnosis), Format::json));

  CHECK(json["severity"] == "fail");
  CHECK(json["causes"][0]["id"] == "gpu-out-of-memory");
  CHECK(json["causes"][0]["evidence"][0]["rank"] == 3);
  CHECK(json["first_failure"]["rank"] == 3);
}

TEST_CASE("a fault of a GPU's context is possibly what halts the GPU soon after it") {
  auto log_with_halt = [](std::string_view fault, std::string_view halt) {
    return diagnosed(
        fmt::format("[{}] NVRM: Xid (PCI:0000:0a:00): 31, pid=13332, name=worker, MMU Fault\n"
                    "[{}] NVRM: Xid (PCI:0000:0a:00): 109, pid=13332, errorString CTX SWITCH "
                    "TIMEOUT\n",
                    fault, halt));
  };
  using Names = std::vector<std::string>;

  CHECK(log_with_halt("100.5", "142.5").named() == Names{"?gpu-application-fault"});
  CHECK(log_with_halt("100.5", "142.5").shows("gpu-context-switch-timeout"));
  CHECK(log_with_halt("100.5", "161.5").named() ==
        Names{"?gpu-application-fault", "gpu-context-switch-timeout"});
  CHECK(log_with_halt("142.5", "100.5").named() ==
        Names{"?gpu-application-fault", "gpu-context-switch-timeout"});
}

TEST_CASE("ssh's question about a key is a cause only if nobody answers it") {
  const std::string question = "The authenticity of host 'n2 (10.0.0.2)' can't be established.\n";

  CHECK(cause(diagnosed(question)) == "ssh-host-key");
  CHECK(diagnosed(question + "Warning: Permanently added 'n2' (ED25519) to the list of known "
                             "hosts.\n")
            .says_nothing());
}

TEST_CASE("what cuda-gdb tells of calls is no error where programs expect the answer") {
  CHECK(diagnosed("warning: Cuda API error detected: cudaGetLastError returned (0x2c0)\n")
            .says_nothing());
  CHECK_FALSE(diagnosed("warning: Cuda API error detected: cudaLaunchKernel returned (0x2bd)\n")
                  .says_nothing());
}

} // namespace ncclprobe::analysis
