// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/job_place.h"
#include "support/catch.h"

using namespace ncclprobe::cli;

TEST_CASE("the processes of one launch have one job, and the next launch has another") {
  struct Case {
    Environment first, second, other;
  };
  for (const Case& one :
       {Case{{{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}},
             {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}},
             {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "0"}}},
        Case{{{"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "0"}},
             {{"PMIX_NAMESPACE", "a"}, {"PMIX_RANK", "1"}},
             {{"PMIX_NAMESPACE", "b"}, {"PMIX_RANK", "0"}}},
        Case{{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
             {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}},
             {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}},
        Case{{{"RANK", "0"}, {"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "1"}},
             {{"RANK", "1"}, {"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "1"}},
             {{"RANK", "0"}, {"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "2"}}},
        Case{{{"TORCHELASTIC_RUN_ID", "a"}, {"RANK", "0"}},
             {{"TORCHELASTIC_RUN_ID", "a"}, {"RANK", "1"}},
             {{"TORCHELASTIC_RUN_ID", "b"}, {"RANK", "0"}}},
        Case{{{"TORCHELASTIC_RUN_ID", "a"},
              {"RANK", "0"},
              {"MASTER_ADDR", "alpha"},
              {"MASTER_PORT", "1"}},
             {{"TORCHELASTIC_RUN_ID", "a"},
              {"RANK", "1"},
              {"MASTER_ADDR", "alpha"},
              {"MASTER_PORT", "1"}},
             {{"TORCHELASTIC_RUN_ID", "a"},
              {"RANK", "0"},
              {"MASTER_ADDR", "beta"},
              {"MASTER_PORT", "1"}}}}) {
    CHECK(job_place(one.first, {}).job == job_place(one.second, {}).job);
    CHECK(job_place(one.first, {}).job != job_place(one.other, {}).job);
  }
}

TEST_CASE("a shell in a Slurm step of one task starts jobs of their own") {
  // As srun sets them, without what does not matter here.
  const Environment shell{
      {"SLURM_JOB_ID", "7"}, {"SLURM_JOBID", "7"},   {"SLURM_STEP_ID", "0"},
      {"SLURM_STEPID", "0"}, {"SLURM_NTASKS", "1"},  {"SLURM_STEP_NUM_TASKS", "1"},
      {"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_STEP_NUM_NODES", "1"}};
  Environment spread = shell, rank_of_torchrun = shell;
  spread["SLURM_NTASKS"] = spread["SLURM_STEP_NUM_TASKS"] = "2";
  rank_of_torchrun.insert({{"RANK", "0"}, {"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "1"}});

  CHECK(job_place(shell, {}).job.starts_with("process "));
  CHECK(job_place(spread, {}).job == "slurm 7.0");
  CHECK(job_place(rank_of_torchrun, {}).job == " ranks alpha:1");
}

TEST_CASE("torchrun's ranks of one host have one place, other ranks have one each") {
  auto rank = [](const char* number, const char* more) {
    const Environment environment{
        {"RANK", number}, {"MASTER_ADDR", "alpha"}, {"MASTER_PORT", "1"}, {more, "none"}};
    return job_place(environment, {});
  };
  CHECK(rank("0", "OTHER").place != rank("1", "OTHER").place);
  CHECK(rank("0", "TORCHELASTIC_RUN_ID").place == rank("1", "TORCHELASTIC_RUN_ID").place);
  CHECK(rank("0", "TORCHELASTIC_RUN_ID").process == rank("1", "TORCHELASTIC_RUN_ID").process);
}

TEST_CASE("torchrun's arguments name the job of several hosts") {
  auto job = [](std::vector<std::string> command) { return job_place({}, command).job; };
  const std::string named = job({"torchrun", "--rdzv-id", "7", "--rdzv-endpoint=alpha:1"});
  CHECK(named == "torchrun alpha:1 7");
  CHECK(job({"torchrun", "--rdzv_endpoint", "alpha:1", "--node-rank", "1", "--rdzv_id=7"}) ==
        named);
  CHECK(job({"torchrun", "--master-addr", "alpha", "--master-port", "1"}) == "torchrun alpha:1 ");
  for (const std::vector<std::string>& alone :
       {std::vector<std::string>{"torchrun", "--rdzv-endpoint"},
        {"torchrun", "--rdzv-id", "7"},
        {"torchrun", "--rdzv-endpoint=localhost:0"},
        {"torchrun", "--master-addr=127.0.0.1"}})
    CHECK(job(alone).starts_with("process "));
}
