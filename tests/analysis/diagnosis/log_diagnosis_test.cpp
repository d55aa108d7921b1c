// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_diagnosis.h"
#include "analysis/diagnosis/log_report.h"
#include "analysis/diagnosis/log_scanner.h"
#include "support/catch.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

struct Diagnosed {
  LogFindings findings;
  LogDiagnosis diagnosis;
  std::string text() const { return render_log_diagnosis("train.log", findings, diagnosis); }
};

Diagnosed diagnosed(std::string_view log) {
  static const LogPatterns patterns;
  LogScanner scanner(patterns);
  scanner.feed(log);
  Diagnosed made{scanner.finish(), {}};
  made.diagnosis = diagnose(made.findings);
  return made;
}

std::string cause(const Diagnosed& log) {
  return log.diagnosis.causes.empty() ? "" : log.diagnosis.causes.front()->entry->id;
}

} // namespace

TEST_CASE("the cause on one rank is told from what the other ranks see of it") {
  auto log =
      diagnosed("[rank0]:[E1121 12:10:01.5 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught "
                "collective operation timeout: WorkNCCL(SeqNum=9)\n"
                "b:20:20 [1] NCCL WARN socketProgress: Connection closed by remote peer a<1>\n"
                "[rank5]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
                "[rank0]: torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:268\n"
                "W1121 12:10:09.1 7 api.py:900] Sending process 77 closing signal SIGTERM\n");

  CHECK(cause(log) == "oom");
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

  CHECK(log.diagnosis.causes.empty());
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
  CHECK(cause(log) == "killed_by_signal_9");
}

TEST_CASE("a strong message ranks above a weak one that comes earlier") {
  auto log = diagnosed(
      "[rank0]: RuntimeError: something about Segmentation fault\n"
      "[rank1]: NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n to 33030532 bytes\n");

  CHECK(cause(log) == "shm_too_small");
  CHECK(log.diagnosis.causes.back()->weak);
}

TEST_CASE("information is no cause") {
  auto log = diagnosed("n1:5:5 [0] NCCL INFO NET/IB : No device found.\n");

  CHECK(log.diagnosis.causes.empty());
  CHECK(log.diagnosis.notes.size() == 1);
  CHECK(log.diagnosis.severity == knowledge::Severity::info);
  CHECK_THAT(log.text(), ContainsSubstring("no known problem"));
}

TEST_CASE("an unknown error is said to be unknown") {
  auto log = diagnosed("n1:5:5 [0] NCCL WARN the flux compensator tripped\n");

  CHECK_THAT(log.text(), ContainsSubstring("unknown: lines speak of errors"));
  CHECK_THAT(log.text(), ContainsSubstring("flux compensator"));
}

TEST_CASE("the diagnosis says evidence, fix and what not to do") {
  auto log = diagnosed(
      "start\nn1:5:5 [2] NCCL WARN Error: failed to extend /dev/shm/nccl-8bGk2n to 3 bytes\n");
  std::string text = log.text();

  CHECK_THAT(text, ContainsSubstring("line 2, host n1, GPU 2"));
  CHECK_THAT(text, ContainsSubstring("--shm-size"));
  CHECK_THAT(text, ContainsSubstring("do not"));
}

TEST_CASE("the JSON has the same, and is valid whatever bytes the log has") {
  auto log = diagnosed("[rank3]: CUDA out of memory \xff\xfe\n");
  auto json =
      nlohmann::json::parse(render_log_diagnosis_json("a\xff.log", log.findings, log.diagnosis));

  CHECK(json["severity"] == "fail");
  CHECK(json["causes"][0]["id"] == "oom");
  CHECK(json["causes"][0]["evidence"][0]["rank"] == 3);
  CHECK(json["first_failure"]["rank"] == 3);
}

} // namespace ncclprobe::analysis
