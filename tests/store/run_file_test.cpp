// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <cstdlib>

using namespace ncclprobe;
using support::ScratchFolder;

namespace {

// The error's text, for REQUIRE; empty if there is none.
template <typename T>
std::string error_of(const base::Result<T>& result) {
  return result ? "" : result.error().text();
}

void store_all(const std::filesystem::path& file, const model::Run& run) {
  REQUIRE(error_of(store::begin_run(file, run.header)) == "");
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(error_of(store::write_part(file, trial)) == "");
}

// Not REQUIRE(a == b): Catch would print both.
bool equal(const model::Run& a, const model::Run& b) {
  return a == b;
}

} // namespace

TEST_CASE("a folded run reads back equal, whatever its trials came to") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(12);
  store_all(file, run);

  auto report = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(error_of(report) == "");
  REQUIRE(report->trials == 12);
  REQUIRE(report->damaged.empty());
  REQUIRE(error_of(read) == "");
  REQUIRE(read->header == run.header);
  REQUIRE(equal(*read, run));
}

TEST_CASE("folding leaves the run file alone in its folder") {
  ScratchFolder folder;
  store_all(folder / "run.h5", support::example_run());

  REQUIRE(store::fold(folder / "run.h5"));

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.push_back(entry.path().filename().string());
  REQUIRE(names == std::vector<std::string>{"run.h5"});
}

TEST_CASE("a run that never came to its end reads from its parts, by trial id") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(4);
  REQUIRE(store::begin_run(file, run.header));
  for (int id : {3, 0, 2, 1})
    REQUIRE(error_of(store::write_part(file, run.trials[static_cast<std::size_t>(id)])) == "");

  auto read = store::read_run(file);

  REQUIRE(error_of(read) == "");
  REQUIRE(equal(*read, run));
}

TEST_CASE("a run without finished trials reads as its header") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(0);
  REQUIRE(store::begin_run(file, run.header));

  auto unfolded = store::read_run(file);
  REQUIRE(store::fold(file));
  auto folded = store::read_run(file);

  REQUIRE(error_of(unfolded) == "");
  REQUIRE(equal(*unfolded, run));
  REQUIRE(error_of(folded) == "");
  REQUIRE(equal(*folded, run));
}

TEST_CASE("default values and trials without cells survive") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run;
  run.trials.emplace_back();
  store_all(file, run);

  REQUIRE(store::fold(file));
  auto read = store::read_run(file);

  REQUIRE(error_of(read) == "");
  REQUIRE(equal(*read, run));
}

TEST_CASE("a part has only the tables that have rows") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(1);
  run.trials.emplace_back().spec.id = 1; // without cells
  store_all(file, run);

  // HDF5 stores names of tables as plain text.
  auto has_table = [&](const char* part, const char* name) {
    return base::read_file(store::parts_folder(file) / part).value().find(name) !=
           std::string::npos;
  };
  CHECK(has_table("trial-000000.h5", "collective_cells"));
  CHECK(!has_table("trial-000001.h5", "collective_cells"));
}

TEST_CASE("more rows than a chunk has read back equal") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(2);
  for (int i = 0; i < 70'000; ++i)
    run.trials[1].cells[3].samples.push_back({i % 8, i / 8, 1, 1'000'000'007LL * i});
  store_all(file, run);

  REQUIRE(store::fold(file));
  auto read = store::read_run(file);

  REQUIRE(error_of(read) == "");
  REQUIRE(equal(*read, run));
}

TEST_CASE("folding again after a kill between rename and removal changes nothing") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  auto saved = folder / "saved";
  model::Run run = support::example_run();
  store_all(file, run);
  std::filesystem::copy(store::parts_folder(file), saved);
  REQUIRE(store::fold(file));
  std::filesystem::rename(saved, store::parts_folder(file)); // as if removal had not begun

  auto while_there = store::read_run(file);
  auto report = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(error_of(while_there) == "");
  REQUIRE(equal(*while_there, run));
  REQUIRE(error_of(report) == "");
  REQUIRE(report->trials == 0);
  REQUIRE(!std::filesystem::exists(store::parts_folder(file)));
  REQUIRE(equal(*read, run));
}

TEST_CASE("a damaged part is named and kept, and the rest is folded") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(4);
  store_all(file, run);
  auto part = store::parts_folder(file) / "trial-000002.h5";
  std::filesystem::resize_file(part, std::filesystem::file_size(part) / 2);

  auto report = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(error_of(report) == "");
  REQUIRE(report->trials == 3);
  REQUIRE(report->damaged.size() == 1);
  REQUIRE_THAT(report->damaged[0], ContainsSubstring("trial-000002.h5: "));
  REQUIRE_THAT(report->damaged[0],
               ContainsSubstring("is damaged: it has") && ContainsSubstring("and should have"));
  REQUIRE(std::filesystem::exists(part));
  run.trials.erase(run.trials.begin() + 2);
  REQUIRE(error_of(read) == "");
  REQUIRE(equal(*read, run));
}

TEST_CASE("a part that was repaired later joins the run file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  store_all(file, run);
  auto part = store::parts_folder(file) / "trial-000001.h5";
  std::string good = *base::read_file(part);
  REQUIRE(base::write_file_atomically(part, "garbage"));
  REQUIRE(store::fold(file)->trials == 2);
  REQUIRE(base::write_file_atomically(part, good));

  auto report = store::fold(file);
  auto read = store::read_run(file);

  REQUIRE(error_of(report) == "");
  REQUIRE(report->trials == 1);
  REQUIRE(error_of(read) == "");
  REQUIRE(equal(*read, run));
}

TEST_CASE("folding what is folded already does nothing") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_all(file, support::example_run(1));
  REQUIRE(store::fold(file));
  std::string before = *base::read_file(file);

  auto report = store::fold(file);

  REQUIRE(error_of(report) == "");
  REQUIRE(report->trials == 0);
  REQUIRE(*base::read_file(file) == before);
}
