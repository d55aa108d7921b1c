// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "diagnosed.h"

#include "analysis/diagnosis/rank_disagreement.h"
#include "support/catch.h"

#include <fmt/format.h>

namespace ncclprobe::analysis {
namespace {

using test_diagnosis::Diagnosed;
using Named = std::vector<std::string>;

std::string timeout(int rank, const char* group, int number, const char* operation) {
  return fmt::format(
      "[rank{0}]:[E321 02:23:03.4 ProcessGroupNCCL.cpp:607] [PG ID 0 PG GUID {1} Rank "
      "{0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={2}, "
      "OpType={3}, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600067 "
      "milliseconds before timing out.\n",
      rank, group, number, operation);
}

} // namespace

TEST_CASE("ranks that waited for different collectives possibly disagree") {
  Diagnosed log(timeout(0, "0(default_pg)", 96120, "ALLREDUCE") +
                timeout(7, "0(default_pg)", 64088, "ALLREDUCE"));

  CHECK(log.named() == Named{"?collective-mismatch", "collective-timeout"});
  Diagnosed types(timeout(0, "0(default_pg)", 12, "ALLREDUCE") +
                  timeout(1, "0(default_pg)", 12, "ALLGATHER"));
  CHECK(types.named() == Named{"?collective-mismatch", "collective-timeout"});
}

TEST_CASE("ranks that waited for the same collective, or in different groups, do not") {
  CHECK(Diagnosed(timeout(0, "0(default_pg)", 12, "ALLREDUCE") +
                  timeout(1, "0(default_pg)", 12, "ALLREDUCE"))
            .named() == Named{"collective-timeout"});
  CHECK(Diagnosed(timeout(0, "0(default_pg)", 12, "ALLREDUCE") +
                  timeout(1, "3(mesh_tp)", 40, "ALLGATHER"))
            .named() == Named{"collective-timeout"});
}

TEST_CASE("two versions of NCCL in one log are possibly a mix") {
  Diagnosed log("a: NCCL version 2.28.9+cuda13.0\nb: NCCL version 2.27.3+cuda12.9\n");

  CHECK(log.named() == Named{"?nccl-version-mix"});
  CHECK(log.diagnosis.causes[0]->lines == 2);
  CHECK(Diagnosed("NCCL version 2.28.9+cuda13.0\nNCCL version 2.28.9+cuda13.0\n").says_nothing());
}

} // namespace ncclprobe::analysis
