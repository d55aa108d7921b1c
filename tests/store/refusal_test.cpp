// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/run_file.h"
#include "store/trace_parts.h"
#include "store/trial_stream.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/paths.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;
using base::Errc;
using support::ScratchFolder;

namespace {

std::string data(const std::string& name) {
  return *base::read_file(support::source_dir() + "/tests/store/data/" + name);
}

base::Error refusal_of(const std::filesystem::path& file) {
  auto read = store::read_run(file);
  REQUIRE(!read);
  return read.error();
}

} // namespace

TEST_CASE("a run that is nowhere is not found") {
  ScratchFolder folder;

  REQUIRE(refusal_of(folder / "run.h5").code == Errc::not_found);
  REQUIRE(store::fold(folder / "run.h5").error().code == Errc::not_found);
}

TEST_CASE("a file that is not HDF5 is refused by name") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(base::write_file_atomically(file, "size,time\n8,11.3\n"));

  auto error = refusal_of(file);

  REQUIRE(error.code == Errc::protocol);
  REQUIRE(error.message == file.string() + " is not an HDF5 file");
}

TEST_CASE("an empty file is refused") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(base::write_file_atomically(file, ""));

  REQUIRE(refusal_of(file).message == file.string() + " is empty");
}

TEST_CASE("an HDF5 file of someone else is refused as such") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(base::write_file_atomically(file, data("foreign.h5")));

  auto error = refusal_of(file);

  REQUIRE(error.code == Errc::protocol);
  REQUIRE_THAT(error.message, ContainsSubstring("is an HDF5 file, but no run file of ncclprobe"));
}

TEST_CASE("another version of the schema is refused with both versions and what to do") {
  ScratchFolder folder;
  for (const auto& [name, version, writer] : {std::tuple("older_schema.h5", "1.5", "an older"),
                                              std::tuple("newer_schema.h5", "3.0", "a newer")}) {
    auto file = folder / name;
    REQUIRE(base::write_file_atomically(file, data(name)));

    auto error = refusal_of(file);

    CHECK(error.code == Errc::protocol);
    CHECK(error.message == fmt::format("{} has schema version {}; this ncclprobe reads 2.x",
                                       file.string(), version));
    CHECK(error.hint ==
          fmt::format("it was written by {} ncclprobe: read it with that one", writer));
  }
}

TEST_CASE("a truncated run file is refused at every length") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(1);
  REQUIRE(store::begin_run(file, run.header));
  REQUIRE(store::write_part(file, run.trials[0]));
  REQUIRE(store::fold(file));
  auto size = std::filesystem::file_size(file);

  for (auto part : {size - 1, size / 2, size / 10, std::uintmax_t{100}, std::uintmax_t{9}}) {
    std::filesystem::resize_file(file, part);
    auto error = refusal_of(file);
    REQUIRE(error.code == Errc::protocol);
    REQUIRE_THAT(error.message, ContainsSubstring(file.string() + " is damaged: "));
  }
}

TEST_CASE("a run file with damage before its schema is no file of someone else") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(1);
  REQUIRE(store::begin_run(file, run.header));
  REQUIRE(store::write_part(file, run.trials[0]));
  REQUIRE(store::fold(file));
  std::string bytes = *base::read_file(file);
  bytes[100] = static_cast<char>(~bytes[100]); // in the root group's header, which has a checksum
  REQUIRE(base::write_file_atomically(file, bytes));

  REQUIRE_THAT(refusal_of(file).message, ContainsSubstring(file.string() + " is damaged: "));
}

TEST_CASE("a mark of what is not a marker is damage") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  for (int operation : {-1, 0, 8}) {
    model::Run run = support::example_run(1);
    run.trials[0].cells[2].marks.push_back({0, 0, 0, operation, 1});
    REQUIRE(store::begin_run(file, run.header));
    REQUIRE(store::write_part(file, run.trials[0]));
    REQUIRE(store::fold(file));

    auto error = refusal_of(file);

    REQUIRE(error.code == Errc::protocol);
    REQUIRE_THAT(error.message, ContainsSubstring("is damaged: /marks names operation"));
    std::filesystem::remove(file);
  }
}

TEST_CASE("a part of a run is no run file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, support::example_trial(0)));

  auto error = refusal_of(store::parts_folder(file) / "trial-000000.h5");

  REQUIRE_THAT(error.message, ContainsSubstring("is of kind 'trial', not 'run'"));
}

TEST_CASE("a run does not begin over an existing run file") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(base::write_file_atomically(file, "precious"));

  auto begun = store::begin_run(file, support::example_header(1));

  REQUIRE(begun.error().code == Errc::invalid_argument);
  REQUIRE(begun.error().text() ==
          file.string() + " exists already (--force replaces it; or choose another --output)");
  REQUIRE(!std::filesystem::exists(store::parts_folder(file)));
}

TEST_CASE("a run does not begin over the parts of another") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, support::example_trial(0)));

  auto begun = store::begin_run(file, support::example_header(1));

  REQUIRE(begun.error().code == Errc::invalid_argument);
  REQUIRE_THAT(begun.error().message,
               ContainsSubstring("holds 1 finished trials of an unfinished run"));
  REQUIRE(store::read_run(file)->trials.size() == 1);
}

namespace {

// A run of one trial, with a trace beside it.
void store_old_run(const std::filesystem::path& file) {
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, support::example_trial(0)));
  REQUIRE(store::fold(file));
  std::filesystem::create_directory(store::traces_folder(file));
  REQUIRE(base::write_file_atomically(store::trace_path(file, 0), "old trace"));
}

model::RunHeader new_header() {
  model::RunHeader header = support::example_header(1);
  header.run_id = "new";
  return header;
}

} // namespace

TEST_CASE("a run that replaces another keeps it until its own file is there") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_old_run(file);

  REQUIRE(store::begin_run(file, new_header(), base::Overwrite::yes));
  const bool old_is_kept = std::filesystem::exists(store::parts_folder(file) / "replaced.h5");
  const bool old_trace_is_kept =
      std::filesystem::exists(store::parts_folder(file) / "replaced.trace" / "trial-000000.h5");
  REQUIRE(store::write_part(file, support::example_trial(1)));
  auto unfinished = store::read_run(file);
  REQUIRE(store::fold(file));
  auto folded = store::read_run(file);

  CHECK(old_is_kept);
  CHECK(old_trace_is_kept);
  for (const auto& run : {unfinished, folded}) {
    REQUIRE(run);
    CHECK(run->header.run_id == "new");
    REQUIRE(run->trials.size() == 1);
    CHECK(run->trials[0].spec.id == 1);
  }
  CHECK(support::names_in(folder.path()) == std::vector<std::string>{"run.h5"});
}

TEST_CASE("a run that replaces another replaces an unfinished one too") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(2)));
  REQUIRE(store::write_part(file, support::example_trial(0)));

  REQUIRE(store::begin_run(file, new_header(), base::Overwrite::yes));

  auto run = store::read_run(file);
  REQUIRE(run);
  CHECK(run->header.run_id == "new");
  CHECK(run->trials.empty());
}

TEST_CASE("a run that was to be replaced comes back if the new one was killed before it began") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  store_old_run(file);
  const std::string run_id = store::read_run(file)->header.run_id;
  REQUIRE(store::begin_run(file, new_header(), base::Overwrite::yes));
  std::filesystem::remove(store::parts_folder(file) / "header.h5");

  auto begun = store::begin_run(file, new_header());

  REQUIRE(begun.error().code == Errc::invalid_argument);
  CHECK(store::read_run(file)->header.run_id == run_id);
  CHECK(*base::read_file(store::trace_path(file, 0)) == "old trace");
}

TEST_CASE("a file of another run that takes the name of a run meanwhile is neither mixed with it "
          "nor replaced") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  auto other = folder / "other.h5";
  store_old_run(other);
  const std::string others_bytes = *base::read_file(other);
  REQUIRE(store::begin_run(file, new_header()));
  REQUIRE(store::write_part(file, support::example_trial(1)));
  std::filesystem::rename(other, file);

  const auto folding = store::fold(file).error();
  const auto reading = store::read_run(file).error();
  const auto streaming = store::read_trials(file, {[](auto&&, std::size_t) {}, {}}).error();

  for (const base::Error& error : {folding, reading, streaming}) {
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.message, ContainsSubstring("is of another run than"));
  }
  CHECK(*base::read_file(file) == others_bytes);
  std::filesystem::remove(file);
  CHECK(store::read_run(file)->trials.size() == 1);
}

TEST_CASE("a run does not begin in a folder that is not there") {
  ScratchFolder folder;

  auto begun = store::begin_run(folder / "nowhere/run.h5", support::example_header(1));

  REQUIRE(begun.error().code == Errc::io);
  REQUIRE_THAT(begun.error().message, ContainsSubstring("No such file or directory"));
  REQUIRE_THAT(begun.error().hint, ContainsSubstring("create the folder"));
}

TEST_CASE("a run does not begin where nothing can be written") {
  auto begun = store::begin_run("/proc/run.h5", support::example_header(1));

  REQUIRE(begun.error().code == Errc::io);
  REQUIRE_THAT(begun.error().text(), ContainsSubstring("cannot write /proc/run.h5"));
}

TEST_CASE("a finished trial is never written over") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(1)));
  REQUIRE(store::write_part(file, support::example_trial(0)));

  REQUIRE(store::write_part(file, support::example_trial(0)).error().code ==
          Errc::invalid_argument);
}

TEST_CASE("a trial without a record for each cell is refused") {
  ScratchFolder folder;
  auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, support::example_header(1)));
  model::TrialRecord trial = support::example_trial(0);
  trial.cells.pop_back();

  auto written = store::write_part(file, trial);

  REQUIRE(written.error().code == Errc::invalid_argument);
  REQUIRE(written.error().message == "trial 0 has 3 cell records for 4 cells");
}
