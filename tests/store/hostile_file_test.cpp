// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Run files that want HDF5 to load a library or to open other files.
#include "store/run_file.h"
#include "store/trial_stream.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

#include <cstdlib>
#include <sys/wait.h>

using namespace ncclprobe;

namespace {

int exit_code_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A sound run file and hostile ones made of it.
struct Files {
  support::ScratchFolder folder;

  Files() {
    const auto file = folder / "good.h5";
    model::Run run = support::example_run(1);
    REQUIRE(store::begin_run(file, run.header));
    REQUIRE(store::write_part(file, run.trials[0]));
    REQUIRE(store::fold(file));
    const int made =
        exit_code_of(fmt::format("/usr/bin/python3 {}/tests/store/make_hostile_files.py {}",
                                 support::source_dir(), file.string()));
    if (made == 77)
      NCCLPROBE_SKIP("/usr/bin/python3 has no h5py (package python3-h5py)");
    REQUIRE(made == 0);
  }
};

} // namespace

TEST_CASE("a run file whose data lie in other files is refused") {
  Files files;
  const store::TrialSink nobody{[](model::RunHeader, std::size_t) {},
                                [](std::size_t, model::TrialRecord) {}};
  // In the same words, whether it is read at once or trial by trial.
  auto reason = [&](const char* name) {
    auto run = store::read_run(files.folder / name);
    auto trials = store::read_trials(files.folder / name, nobody);
    REQUIRE_FALSE(trials);
    CHECK(trials.error().message == (run ? "it was read" : run.error().message));
    return trials.error().message;
  };

  CHECK_THAT(reason("raw.h5"), ContainsSubstring("column elapsed_ns lies in another file"));
  CHECK_THAT(reason("virtual.h5"), ContainsSubstring("column elapsed_ns lies in another file"));
  CHECK_THAT(reason("link.h5"), ContainsSubstring("is damaged: H5Gopen2(samples)"));
  CHECK_THAT(reason("filter.h5"), ContainsSubstring("is damaged: H5Dread(elapsed_ns)"));
}

TEST_CASE("no run file makes HDF5 load a library") {
  Files files;
  const auto mark = files.folder / "mark";

  const int code = exit_code_of(
      fmt::format("HDF5_PLUGIN_PATH={} NCCLPROBE_TEST_MARK_FILE={} {}/ncclprobe-report {} 2>&1",
                  NCCLPROBE_TEST_PLUGINS, mark.string(), support::bin_dir(),
                  (files.folder / "filter.h5").string()));

  CHECK(code == 2);
  CHECK_FALSE(std::filesystem::exists(mark));
}
