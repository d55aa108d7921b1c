// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The timeline as people ask ncclprobe-report for it: of the spools of a captured job, and of a
// trace file.
#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "support/catch.h"
#include "support/ddp_trace.h"
#include "support/scratch_folder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

using namespace ncclprobe;

namespace {

class Job {
public:
  Job() {
    std::filesystem::create_directory(folder_ / "job");
    for (int rank = 0; rank < 2; ++rank)
      support::write_ddp_spool(folder_ / "job" / fmt::format("rank-{}.spool", rank), rank, 4000, 2);
  }

  int report(const std::string& arguments) const {
    int status = std::system(fmt::format("cd {} && {}/ncclprobe-report {} >stdout 2>stderr",
                                         folder_.path().string(), NCCLPROBE_BIN_DIR, arguments)
                                 .c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string read(const std::string& name) const {
    return base::value_or_throw(base::read_file(folder_ / name));
  }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

private:
  support::ScratchFolder folder_;
};

} // namespace

TEST_CASE("the spools of a job become a trace file, and that a timeline") {
  Job job;
  CHECK(job.report("job/") == base::k_exit_ok);
  CHECK(job.read("stderr").empty());
  std::string text = job.read("stdout");
  CHECK_THAT(text, ContainsSubstring("2 ranks, 10 steps; 8,000 kernels"));
  CHECK_THAT(text, ContainsSubstring("kernels with NCCL's operations 100.0% (420 of 420)"));
  CHECK_THAT(text, ContainsSubstring("nobody counted launches"));
  CHECK_THAT(text, ContainsSubstring("Waits are known of 100.0% (420 of 420)"));
  CHECK_THAT(text, ContainsSubstring("AllReduce"));

  // The same from the file that was made.
  CHECK(job.report("job/trace.h5 --timeline") == base::k_exit_ok);
  std::string again = job.read("stdout");
  CHECK(again.substr(again.find('\n')) == text.substr(text.find('\n')));

  auto made = std::filesystem::last_write_time(job.path("job/trace.h5"));
  CHECK(job.report("job --format json --steps") == base::k_exit_ok);
  CHECK(std::filesystem::last_write_time(job.path("job/trace.h5")) == made); // not made again
  auto json = nlohmann::json::parse(job.read("stdout"));
  CHECK(json["ranks"][1]["steps"].size() == 10);
  CHECK(json["stragglers"]["complete"] == 210);
}

TEST_CASE("what has no timeline is told in one line") {
  Job job;
  std::filesystem::create_directory(job.path("empty"));
  CHECK(job.report("empty") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("empty holds no spools"));
  CHECK(job.report("nothing.h5 --timeline") == base::k_exit_usage);
  CHECK(job.report("job --format csv") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("--csv"));
  CHECK(job.report("run.h5 --steps") == base::k_exit_usage);
  CHECK_THAT(job.read("stderr"), ContainsSubstring("--timeline"));
  std::filesystem::resize_file(job.path("job/rank-1.spool"), 100);
  std::filesystem::remove(job.path("job/rank-0.spool"));
  CHECK(job.report("job") == base::k_exit_usage);
  CHECK_FALSE(job.read("stderr").empty());
}
