// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "store/guarded_read.h"
#include "store/mutate.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

using namespace ncclprobe;

namespace {

constexpr int k_mutants = 300;

} // namespace

TEST_CASE("no damaged file brings the reading process down") {
  support::ScratchFolder folder;
  auto file = folder / "run.h5";
  model::Run run = support::example_run(3);
  REQUIRE(store::begin_run(file, run.header));
  for (const model::TrialRecord& trial : run.trials)
    REQUIRE(store::write_part(file, trial));
  REQUIRE(store::fold(file));
  std::string good = *base::read_file(file);
  std::mt19937 random(7);
  std::vector<store::FileToRead> files;
  for (int i = 0; i < k_mutants; ++i) {
    files.push_back({folder / fmt::format("mutant-{}.h5", i), store::FileKind::run});
    REQUIRE(base::write_file_atomically(files.back().path, support::mutate(good, random)));
  }
  store::ReadLimits limits;
  limits.cpu_s = 1;

  auto results = store::read_guarded(files, limits);

  int refused = 0;
  int died = 0;
  for (const auto& result : results) {
    if (result)
      continue;
    ++refused;
    CHECK(result.error().code == base::Errc::protocol);
    if (result.error().message.find("a process that tried to read it") != std::string::npos)
      ++died;
  }
  WARN(refused << " of " << k_mutants << " refused, of these " << died << " by losing the child");
  REQUIRE(refused > k_mutants / 2);
}
