// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <algorithm>

using namespace ncclprobe;
using support::ScratchFolder;

namespace {

// A folded run of 5 trials, of which 3 was cut short.
model::Run stopped_run(const std::filesystem::path& file) {
  model::Run run = support::example_run(5);
  run.trials[3].outcome = {model::OutcomeKind::not_run, "interrupted", {}};
  for (model::CellRecord& cell : run.trials[3].cells)
    cell = {run.trials[3].outcome, {}, {}, {}};
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
  REQUIRE(store::fold(file));
  return run;
}

bool reads_as(const std::filesystem::path& file, const model::Run& run) {
  return store::read_run(file).value() == run; // not REQUIRE(a == b): Catch would print both
}

} // namespace

TEST_CASE(
    "a trial that is run again takes the place of the stored one, before and after the fold") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = stopped_run(file);

  auto resumed = store::resume_run(file);
  REQUIRE(resumed);
  bool as_stored = *resumed == run;
  run.trials[3] = support::example_trial(3);
  REQUIRE(store::write_part(file, run.trials[3], store::Replace::yes));
  bool before_fold = reads_as(file, run);
  auto report = store::fold(file);

  REQUIRE(as_stored);
  REQUIRE(before_fold);
  REQUIRE(report->trials == 1);
  REQUIRE(reads_as(file, run));
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"run.h5"});
}

TEST_CASE("a run is read without what fills it, if nobody needs that") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = stopped_run(file);
  for (model::TrialRecord& trial : run.trials)
    for (model::CellRecord& cell : trial.cells) {
      cell.samples.clear();
      cell.conditions.clear();
      cell.marks.clear();
    }

  const bool read = store::read_run(file, store::Rows::drop).value() == run;
  const bool resumed = store::resume_run(file, store::Rows::drop).value() == run;

  CHECK(read);
  CHECK(resumed);
}

TEST_CASE("trials that were missing join those of the run file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(5);
  REQUIRE(store::begin_run(file, run.header));
  for (int id : {0, 2, 3})
    REQUIRE(store::write_part(file, run.trials[static_cast<std::size_t>(id)]));
  REQUIRE(store::fold(file));

  REQUIRE(store::resume_run(file));
  for (int id : {1, 4})
    REQUIRE(store::write_part(file, run.trials[static_cast<std::size_t>(id)]));

  REQUIRE(store::fold(file)->trials == 2);
  REQUIRE(reads_as(file, run));
}

TEST_CASE("a run that was killed goes on in its parts, and a stored trial can be replaced") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(2);
  REQUIRE(store::begin_run(file, run.header));
  model::TrialRecord first = run.trials[1];
  first.started_utc = "2020-01-01T00:00:00Z";
  REQUIRE(store::write_part(file, first));

  REQUIRE(store::resume_run(file)->trials.size() == 1);
  REQUIRE(store::write_part(file, run.trials[0]));
  REQUIRE(store::write_part(file, run.trials[1]).error().code == base::Errc::invalid_argument);
  REQUIRE(store::write_part(file, run.trials[1], store::Replace::yes));

  REQUIRE(store::fold(file)->trials == 2);
  REQUIRE(reads_as(file, run));
}

TEST_CASE("a header that was replaced is read before the fold, and folded without any trial") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = stopped_run(file);
  REQUIRE(store::resume_run(file));
  run.header.forced = {"host: was a, is b"};

  REQUIRE(store::write_header(file, run.header));
  bool before_fold = reads_as(file, run);
  REQUIRE(store::fold(file)->trials == 0);

  REQUIRE(before_fold);
  REQUIRE(reads_as(file, run));
}

TEST_CASE("a run that was resumed and did nothing leaves the file as it was") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = stopped_run(file);
  auto written = std::filesystem::last_write_time(file);

  REQUIRE(store::resume_run(file));
  REQUIRE(store::fold(file)->trials == 0);

  REQUIRE(std::filesystem::last_write_time(file) == written);
  REQUIRE(reads_as(file, run));
  REQUIRE(support::names_in(folder.path()) == std::vector<std::string>{"run.h5"});
}

TEST_CASE("what is no run cannot be resumed, and nothing is left behind") {
  ScratchFolder folder;
  auto file = folder / "run.h5";

  REQUIRE(store::resume_run(file).error().code == base::Errc::not_found);
  REQUIRE(support::names_in(folder.path()).empty());
}
