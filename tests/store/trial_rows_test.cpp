// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"
#include "store/trial_rows.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/run_builder.h"
#include "support/scratch_folder.h"

#include <algorithm>
#include <iterator>

using namespace ncclprobe;

namespace {

template <typename T>
std::vector<T> of_rank(const std::vector<T>& rows, int rank) {
  std::vector<T> some;
  std::ranges::copy_if(rows, std::back_inserter(some),
                       [&](const T& row) { return row.rank == rank; });
  return some;
}

// As supervisors report them: rank by rank, the last one first.
void take_rows(store::TrialRows& rows, model::TrialRecord& trial) {
  const std::vector<model::CellRecord> whole = trial.cells;
  for (int rank = trial.spec.ranks - 1; rank >= 0; --rank)
    for (std::size_t c = 0; c < whole.size(); ++c) {
      model::CellRecord part;
      part.samples = of_rank(whole[c].samples, rank);
      part.conditions = of_rank(whole[c].conditions, rank);
      part.marks = of_rank(whole[c].marks, rank);
      rows.add(static_cast<int>(c), part);
      CHECK((part.samples.empty() && part.conditions.empty() && part.marks.empty()));
    }
  for (model::CellRecord& cell : trial.cells) {
    cell.samples.clear();
    cell.conditions.clear();
    cell.marks.clear();
  }
}

// The trial as it is read back.
model::TrialRecord stored(const model::Run& run, model::TrialRecord trial, std::set<int> left_out) {
  support::ScratchFolder folder;
  const auto file = folder / "run.h5";
  REQUIRE(store::begin_run(file, run.header));
  store::TrialRows rows(store::parts_folder(file));
  take_rows(rows, trial);
  rows.leave_out(std::move(left_out));
  REQUIRE(store::write_part(file, trial, store::Replace::no, &rows));
  REQUIRE(store::fold(file));
  return store::read_run(file).value().trials.at(0);
}

} // namespace

TEST_CASE("rows that ranks report one after the other are stored in the order of the record") {
  model::Run run = support::example_run(1);
  model::TrialRecord& trial = run.trials[0];
  REQUIRE(trial.cells.size() > 1);
  const bool as_reported = stored(run, trial, {}) == trial;
  CHECK(as_reported);

  const bool without = stored(run, trial, {0}).cells[0].samples.empty();
  trial.cells[0].samples.clear();
  trial.cells[0].conditions.clear();
  trial.cells[0].marks.clear();
  const bool others_stay = stored(run, trial, {0}).cells == trial.cells;
  CHECK((without && others_stay));
}

TEST_CASE("more rows than there may be in memory are stored in the order of the record") {
  auto run = support::RunBuilder::on_cpus(64);
  auto trial = run.trial()
                   .cell("all_reduce", 1 << 10, 5'000, {.step_ns = 3, .batches = 3})
                   .cell("all_reduce", 1 << 20, 5'000, {.step_ns = 3, .batches = 2'500});
  const bool as_reported = stored(run, *trial, {}) == *trial;
  CHECK(as_reported);
}

TEST_CASE("a cell that cannot be is refused") {
  support::ScratchFolder folder;
  store::TrialRows rows(folder.path());
  model::CellRecord cell;
  CHECK_THROWS_AS(rows.add(-1, cell), base::Exception);
  CHECK_THROWS_AS(rows.add(1 << 24, cell), base::Exception);
}
