// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/mutate.h"
#include "store/run_file.h"
#include "store/trial_stream.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <cstdlib>
#include <random>
#include <stdexcept>

using namespace ncclprobe;
using support::ScratchFolder;

namespace {

// All trials, put together again.
base::Result<model::Run> read_one_by_one(const std::filesystem::path& file) {
  model::Run run;
  store::TrialSink sink;
  sink.begin = [&](model::RunHeader header, std::size_t trials) {
    run = {std::move(header), std::vector<model::TrialRecord>(trials)};
  };
  sink.take = [&](std::size_t index, model::TrialRecord trial) {
    run.trials[index] = std::move(trial);
  };
  NCCLPROBE_TRY(store::read_trials(file, sink));
  return run;
}

void store_all(const std::filesystem::path& file, const model::Run& run) {
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
}

// Not REQUIRE(a == b): Catch would print both.
bool reads_as(const std::filesystem::path& file, const model::Run& run) {
  auto read = read_one_by_one(file);
  if (!read)
    FAIL(read.error().text());
  return *read == run;
}

// Enough samples for several threads, and for chunks that several trials share.
model::Run large_run() {
  model::Run run = support::example_run(9);
  for (model::TrialRecord& trial : run.trials)
    if (trial.outcome.ok())
      for (int i = 0; i < 60'000; ++i)
        trial.cells[3].samples.push_back({i % 8, 3 + i / 8, 1, 1'000'000'007LL * i});
  return run;
}

} // namespace

TEST_CASE("trials that come one by one are those of the run, from its parts and from its file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(12);
  store_all(file, run);

  const bool from_parts = reads_as(file, run);
  REQUIRE(store::fold(file));

  CHECK(from_parts);
  CHECK(reads_as(file, run));
}

TEST_CASE("trials of many chunks come one by one") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = large_run();
  store_all(file, run);

  const bool from_parts = reads_as(file, run);
  REQUIRE(store::fold(file));

  CHECK(from_parts);
  CHECK(reads_as(file, run));
}

TEST_CASE("cells come one by one before their trial, without what was taken of them") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  store_all(file, run);
  REQUIRE(store::fold(file));

  std::vector<std::vector<model::CellRecord>> cells(3);
  bool in_order = true;
  bool taken = true;
  store::TrialSink sink;
  sink.begin = [](model::RunHeader, std::size_t) {};
  sink.take_cell = [&](std::size_t index, const model::TrialSpec& spec, std::size_t cell,
                       model::CellRecord& record) {
    in_order = in_order && cell == cells[index].size() && spec == run.trials[index].spec;
    cells[index].push_back(std::move(record));
    record = {};
  };
  sink.take = [&](std::size_t, model::TrialRecord trial) {
    for (const model::CellRecord& cell : trial.cells)
      taken = taken && cell == model::CellRecord();
  };
  REQUIRE(store::read_trials(file, sink));

  CHECK(in_order);
  CHECK(taken);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool as_stored = cells[i] == run.trials[i].cells;
    CHECK(as_stored);
  }
}

TEST_CASE("a run without trials comes as its header") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(0);
  store_all(file, run);

  const bool from_parts = reads_as(file, run);
  REQUIRE(store::fold(file));

  CHECK(from_parts);
  CHECK(reads_as(file, run));
}

TEST_CASE("of a trial that was run again comes what lies beside the run file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(5);
  store_all(file, run);
  REQUIRE(store::fold(file));
  REQUIRE(store::resume_run(file));
  run.trials[3] = support::example_trial(13);
  run.trials[3].spec.id = 3;
  run.header.forced = {"another driver"};
  REQUIRE(store::write_part(file, run.trials[3]));
  REQUIRE(store::write_header(file, run.header));

  CHECK(reads_as(file, run));
}

TEST_CASE("a part whose samples are damaged is left out, and the other trials come") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = large_run();
  store_all(file, run);
  auto part = store::parts_folder(file) / "trial-000000.h5";
  std::string bytes = *base::read_file(part);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1); // in a chunk
  REQUIRE(base::write_file_atomically(part, bytes));

  auto read = read_one_by_one(file);

  run.trials.erase(run.trials.begin());
  REQUIRE(read);
  CHECK((*read == run));
}

TEST_CASE("a run file whose samples are damaged is refused by name") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_all(file, large_run());
  REQUIRE(store::fold(file));
  std::string bytes = *base::read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  REQUIRE(base::write_file_atomically(file, bytes));

  auto read = read_one_by_one(file);

  REQUIRE_FALSE(read);
  CHECK(read.error().code == base::Errc::protocol);
  CHECK_THAT(read.error().message, ContainsSubstring(file.string() + " is damaged: "));
}

TEST_CASE("what a sink throws ends the reading and comes through") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_all(file, large_run());
  store::TrialSink sink{[](model::RunHeader, std::size_t) {},
                        [](std::size_t, model::TrialRecord) { throw std::runtime_error("enough"); },
                        {}};

  CHECK_THROWS_WITH(store::read_trials(file, sink), "enough");

  sink.take = [](std::size_t, model::TrialRecord) {};
  sink.take_cell = [](std::size_t, const model::TrialSpec&, std::size_t, model::CellRecord&) {
    throw std::runtime_error("enough cells");
  };
  CHECK_THROWS_WITH(store::read_trials(file, sink), "enough cells");
}

TEST_CASE("no damaged file brings down who reads it trial by trial") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_all(file, support::example_run(3));
  REQUIRE(store::fold(file));
  const std::string good = *base::read_file(file);
  std::mt19937 random(11);

  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    auto mutant = folder / fmt::format("mutant-{}.h5", i);
    REQUIRE(base::write_file_atomically(mutant, support::mutate(good, random)));
    auto read = read_one_by_one(mutant);
    if (read)
      continue;
    ++refused;
    CHECK(
        (read.error().code == base::Errc::protocol || read.error().code == base::Errc::timed_out));
  }

  WARN(refused << " of 200 refused");
  CHECK(refused > 100);
}
