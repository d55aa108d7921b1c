// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/guarded_read.h"
#include "store/mutate.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/cpu_seconds.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;

namespace {

constexpr int k_mutants = 300;

std::string good_run_file(const support::ScratchFolder& folder) {
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
  REQUIRE(store::fold(file));
  return *base::read_file(file);
}

} // namespace

TEST_CASE("no damaged file costs more than two seconds of processor time") {
  support::ScratchFolder folder;
  std::string bad = good_run_file(folder);
  // In the heap in which HDF5 keeps texts, the first object becomes free space of no size: HDF5
  // 1.10 goes on from there, to there.
  bad.replace(bad.find("GCOL") + 16, 16, 16, '\0');
  REQUIRE(base::write_file_atomically(folder / "bad.h5", bad));
  const std::vector<store::FileToRead> files{{folder / "bad.h5", store::FileKind::run}};
  const double before = support::cpu_seconds_of_children();

  auto results = store::check_guarded(files);
  const double between = support::cpu_seconds_of_children();
  auto outlines = store::read_outlines_guarded(files);

  CHECK_FALSE(results[0]);
  CHECK(between - before < 2);
  CHECK_FALSE(outlines[0]);
  CHECK(support::cpu_seconds_of_children() - between < 2);
}

TEST_CASE("no damaged file brings the reading process down") {
  support::ScratchFolder folder;
  const std::string good = good_run_file(folder);
  std::mt19937 random(7);
  std::vector<store::FileToRead> files;
  for (int i = 0; i < k_mutants; ++i) {
    files.push_back({folder / fmt::format("mutant-{}.h5", i), store::FileKind::run});
    REQUIRE(base::write_file_atomically(files.back().path, support::mutate(good, random)));
  }

  auto results = store::check_guarded(files);

  int refused = 0;
  int died = 0;
  for (const auto& result : results) {
    if (result)
      continue;
    ++refused;
    CHECK((result.error().code == base::Errc::protocol ||
           result.error().code == base::Errc::timed_out));
    if (result.error().message.find("a process that tried to read it") != std::string::npos)
      ++died;
  }
  WARN(refused << " of " << k_mutants << " refused, of these " << died << " by losing the child");
  REQUIRE(refused > k_mutants / 2);
}
