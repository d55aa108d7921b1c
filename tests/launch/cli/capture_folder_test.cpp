// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/private_folder.h"
#include "launch/cli/record/capture_folder.h"
#include "support/catch.h"

#include <fstream>

using namespace ncclprobe;
using namespace ncclprobe::cli;

TEST_CASE("a folder takes all processes of a job, and keeps its captures from the next job") {
  const PrivateFolder scratch;
  const std::filesystem::path folder = scratch.path() / "a/job/", capture = folder / "x.spool";
  const std::filesystem::path library = "/opt/libncclprobe-profiler.so";
  auto made = [&](const char* job, base::Overwrite old = base::Overwrite::no) {
    return make_capture_folder(folder, {job, "", "1.1"}, library, old);
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

TEST_CASE("two hosts share a folder until one of them has another launcher") {
  const PrivateFolder scratch;
  const std::filesystem::path folder = scratch.path() / "job", capture = folder / "x.spool";
  auto made = [&](JobPlace who, base::Overwrite old = base::Overwrite::no) {
    return make_capture_folder(folder, who, "/opt/libncclprobe-profiler.so", old).has_value();
  };
  const JobPlace alpha{"torchrun 7", "host alpha", "alpha 10.1"};
  const JobPlace beta{"torchrun 7", "host beta", "beta 20.1"};
  JobPlace moved = beta, next = alpha, stranger = beta;
  moved.job = "torchrun elsewhere:1"; // torchrun has started its processes again
  next.process = "alpha 11.1";
  stranger.job = "torchrun 8";
  stranger.process = "beta 21.1";

  REQUIRE(made(alpha));
  std::ofstream(capture) << "x";
  CHECK(made(beta));
  CHECK(made(beta, base::Overwrite::yes));
  CHECK(made(alpha, base::Overwrite::yes)); // another rank of that host
  CHECK(made(moved, base::Overwrite::yes));
  REQUIRE(std::filesystem::exists(capture));
  CHECK_FALSE(made(next));
  CHECK_FALSE(made(stranger));
  REQUIRE(std::filesystem::exists(capture));
  CHECK(made(next, base::Overwrite::yes));
  CHECK_FALSE(std::filesystem::exists(capture));
  std::ofstream(capture) << "x";
  CHECK(made(stranger = {"torchrun 7", "host beta", "beta 21.1"}, base::Overwrite::yes));
  CHECK(std::filesystem::exists(capture)); // now it belongs to the next job
}

TEST_CASE("a rank that is started again is told how to keep both attempts") {
  const PrivateFolder scratch;
  const std::filesystem::path folder = scratch.path() / "job", capture = folder / "x.spool";
  auto made = [&](const char* place, const char* process) {
    return make_capture_folder(folder, {"2 ranks alpha:1", place, process},
                               "/opt/libncclprobe-profiler.so", base::Overwrite::no);
  };
  REQUIRE(made("rank 0", "alpha 10.1"));
  REQUIRE(made("rank 1", "beta 20.1"));
  std::ofstream(capture) << "x";

  const auto again = made("rank 0", "alpha 11.1");

  REQUIRE_FALSE(again);
  CHECK(again.error().message.find("a capture of rank 0 of this job") != std::string::npos);
  CHECK(again.error().hint.find("another folder") != std::string::npos);
  CHECK(std::filesystem::exists(capture));
}
