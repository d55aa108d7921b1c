// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/worker_choice.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <filesystem>
#include <fstream>

using namespace ncclprobe;

namespace {

// A worker that answers every question with `answer`.
void install_worker(const std::filesystem::path& folder, const std::string& name,
                    const std::string& answer) {
  const std::filesystem::path program = folder / name;
  std::ofstream(program) << "#!/bin/sh\necho '" << answer << "'\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
}

} // namespace

TEST_CASE("of a package's workers, the newest that the driver supports is chosen") {
  struct Example {
    std::vector<std::string> installed;
    std::optional<int> driver;
    std::string chosen;
    std::string because;
  };
  const std::vector<std::string> all{"cpu", "cuda12", "cuda13"};
  const Example examples[] = {
      {all, 13000, "cuda13", "the driver supports CUDA 13.0"},
      {all, 13020, "cuda13", "the driver supports CUDA 13.2"},
      {all, 14000, "cuda13", "the driver supports CUDA 14.0"},
      {all, 12040, "cuda12", "the driver supports CUDA 12.4"},
      {{"cuda9", "cuda13", "cuda12"}, 12090, "cuda12", "the driver supports CUDA 12.9"},
      {all, 11080, "cpu",
       "the driver supports CUDA 11.8, and the installed workers need CUDA 12 or later"},
      {all, {}, "cpu", "there is no CUDA driver (not found)"},
      {{"cpu"}, 13000, "cpu", "no worker for CUDA is installed"},
      {{"cuda12", "cuda13"}, {}, "cuda12", "there is no CUDA driver (not found)"},
  };
  for (const Example& one : examples) {
    CAPTURE(one.installed, one.driver);
    const cli::WorkerVariant variant =
        cli::choose_variant(one.installed, {one.driver, one.driver ? "" : "not found"});
    CHECK(variant.name == one.chosen);
    CHECK(variant.because == one.because);
  }
}

TEST_CASE("a package asks one of its workers about the driver") {
  support::ScratchFolder folder;
  for (const char* name : {"ncclprobe-worker-cuda13", "ncclprobe-worker-cuda12",
                           "ncclprobe-worker-cpu", "ncclprobe-worker-notes.txt"})
    install_worker(folder.path(), name, "12080");

  cli::WorkerChoice choice = cli::choose_worker(folder.path(), {});

  CHECK(choice.program == folder / "ncclprobe-worker-cuda12");
  CHECK(choice.because == "the driver supports CUDA 12.8");

  install_worker(folder.path(), "ncclprobe-worker-cpu", "libcuda.so.1: no such file");
  choice = cli::choose_worker(folder.path(), {});
  CHECK(choice.program == folder / "ncclprobe-worker-cpu");
  CHECK(choice.because == "there is no CUDA driver (libcuda.so.1: no such file)");
}

TEST_CASE("a build's only worker is not chosen but used") {
  support::ScratchFolder folder;
  CHECK(cli::choose_worker(folder.path(), {}).program == folder / "ncclprobe-worker");

  install_worker(folder.path(), "ncclprobe-worker", "13000");
  install_worker(folder.path(), "ncclprobe-worker-cuda13", "13000");
  const cli::WorkerChoice choice = cli::choose_worker(folder.path(), {});
  CHECK(choice.program == folder / "ncclprobe-worker");
  CHECK(choice.because.empty());
}
