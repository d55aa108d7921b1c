// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_process.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <unistd.h>

using namespace ncclprobe;
using base::Errc;

TEST_CASE("a run that is being written is neither begun nor folded by others, and can be read") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    bool stored = store::begin_run(file, support::example_header(2)) &&
                  store::write_part(file, support::example_trial(0));
    support::say(to_parent, stored ? 'y' : 'n');
    ::pause();
  });
  REQUIRE(writer.hear() == 'y');

  auto begun = store::begin_run(file, support::example_header(2));
  auto folded = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(begun.error().code == Errc::unavailable);
  REQUIRE_THAT(begun.error().message,
               ContainsSubstring(fmt::format("is being written by process {} on ", writer.pid())));
  REQUIRE(folded.error().code == Errc::unavailable);
  REQUIRE(read);
  REQUIRE(read->trials.size() == 1);
  writer.kill();
  REQUIRE(store::fold(file)->trials == 1);
}

TEST_CASE("a run that was killed before its header was stored does not block the next") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  std::filesystem::create_directory(store::parts_folder(file));

  REQUIRE(store::begin_run(file, support::example_header(1)));
}

TEST_CASE("a reader misses no trial while the writer stores, folds and removes the parts") {
  constexpr std::size_t k_trials = 12;
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    bool good = static_cast<bool>(store::begin_run(file, support::example_header(k_trials)));
    support::say(to_parent, 'b');
    for (int id = 0; id < static_cast<int>(k_trials); ++id)
      good = good && store::write_part(file, support::example_trial(id));
    good = good && store::fold(file);
    support::say(to_parent, good ? 'y' : 'n');
  });
  REQUIRE(writer.hear() == 'b');

  std::size_t seen = 0;
  while (seen < k_trials || std::filesystem::exists(store::parts_folder(file))) {
    auto read = store::read_run(file);
    REQUIRE((read ? "" : read.error().text()) == std::string());
    REQUIRE(read->trials.size() >= seen);
    seen = read->trials.size();
  }

  REQUIRE(writer.hear() == 'y');
}
