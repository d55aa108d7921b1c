// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_process.h"
#include "store/run_file.h"
#include "store/trial_rows.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/file_limit.h"
#include "support/scratch_folder.h"

#include <algorithm>

using namespace ncclprobe;

TEST_CASE("a disk that fills up is an error, and the trials stored before are intact") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  support::ChildProcess writer([&](int to_parent) {
    bool stored = store::begin_run(file, run.header) && store::write_part(file, run.trials[0]);
    support::limit_files_to(8'192);
    auto full = store::write_part(file, run.trials[1]);
    bool refused = !full && full.error().code == base::Errc::io &&
                   full.error().message.find("File too large") != std::string::npos;
    support::say(to_parent, stored ? 'y' : 'n');
    support::say(to_parent, refused ? 'y' : 'n');
  });

  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == '\0');
  REQUIRE(support::names_in(store::parts_folder(file)) ==
          std::vector<std::string>{"header.h5", "lock", "trial-000000.h5"});
  REQUIRE(store::write_part(file, run.trials[2])); // there is room again
  run.trials.erase(run.trials.begin() + 1);
  REQUIRE(store::fold(file));
  bool equal = *store::read_run(file) == run;
  REQUIRE(equal);
}

TEST_CASE("a fold that finds the disk full leaves the parts") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  support::ChildProcess writer([&](int to_parent) {
    bool stored = static_cast<bool>(store::begin_run(file, run.header));
    for (const model::TrialRecord& trial : run.trials)
      stored = stored && store::write_part(file, trial);
    support::limit_files_to(8'192);
    auto full = store::fold(file);
    support::say(to_parent, stored && !full && full.error().code == base::Errc::io ? 'y' : 'n');
    const std::string hint = full ? "" : full.error().hint;
    bool names_limit = hint.starts_with("`ulimit -f` allows files of at most 8 KiB; ");
    support::say(to_parent, names_limit ? 'y' : 'n');
    bool names_parts =
        hint.ends_with(fmt::format("the parts in {} are kept", store::parts_folder(file).string()));
    support::say(to_parent, names_parts ? 'y' : 'n');
  });

  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == '\0');
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"run.h5.parts"});
  REQUIRE(store::fold(file)->trials == 3);
  bool equal = *store::read_run(file) == run;
  REQUIRE(equal);
}

TEST_CASE("a trial that a full disk does not take is lost, and the error does not say otherwise") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(1);
  support::ChildProcess writer([&](int to_parent) {
    bool begun = static_cast<bool>(store::begin_run(file, run.header));
    store::TrialRows rows(store::parts_folder(file));
    for (std::size_t c = 0; c < run.trials[0].cells.size(); ++c)
      rows.add(static_cast<int>(c), run.trials[0].cells[c]);
    support::limit_files_to(8'192);
    auto full = store::write_part(file, run.trials[0], store::Replace::no, &rows);
    bool refused = begun && !full && full.error().code == base::Errc::io;
    support::say(to_parent, refused ? 'y' : 'n');
    bool claims = !full && full.error().hint.find("kept") != std::string::npos;
    support::say(to_parent, claims ? 'y' : 'n');
  });

  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == 'n');
  REQUIRE(writer.hear() == '\0');
  REQUIRE(support::names_in(store::parts_folder(file)) ==
          std::vector<std::string>{"header.h5", "lock"});
}

TEST_CASE("a run does not begin on a full disk, and leaves no trace") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  support::ChildProcess writer([&](int to_parent) {
    support::limit_files_to(1'024);
    auto begun = store::begin_run(file, support::example_header(1));
    support::say(to_parent, !begun && begun.error().code == base::Errc::io ? 'y' : 'n');
  });

  REQUIRE(writer.hear() == 'y');
  REQUIRE(writer.hear() == '\0');
  REQUIRE(support::names_in(folder.path()).empty());
}
