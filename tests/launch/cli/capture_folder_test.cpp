// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/private_folder.h"
#include "launch/cli/record/capture_folder.h"
#include "support/catch.h"

#include <fstream>

using namespace ncclprobe;
using namespace ncclprobe::cli;

TEST_CASE("the processes of one launch have one job name, and the next launch has another") {
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
        Case{{{"PMI_RANK", "0"}}, {{"PMI_RANK", "1"}}, {}}}) {
    CHECK(job_name(one.first) == job_name(one.second));
    CHECK(job_name(one.first) != job_name(one.other));
  }
}

TEST_CASE("a folder takes all processes of a job, and keeps its captures from the next job") {
  const PrivateFolder scratch;
  const std::filesystem::path folder = scratch.path() / "a/job/", capture = folder / "x.spool";
  const std::filesystem::path library = "/opt/libncclprobe-profiler.so";
  auto made = [&](const char* job, base::Overwrite old = base::Overwrite::no) {
    return make_capture_folder(folder, job, library, old);
  };

  REQUIRE(made("one").value_or("") == scratch.path() / "a/job");
  CHECK(std::filesystem::read_symlink(plugin_folder(folder) / library.filename()) == library);
  std::ofstream(capture) << "x";
  CHECK(made("one"));
  const auto refused = made("two");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(std::filesystem::exists(capture));
  CHECK(made("two", base::Overwrite::yes));
  CHECK_FALSE(std::filesystem::exists(capture));
  std::ofstream(capture) << "x";
  CHECK(made("two", base::Overwrite::yes)); // another process of that job
  CHECK(std::filesystem::exists(capture));
}
