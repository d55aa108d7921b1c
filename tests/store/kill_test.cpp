// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_process.h"
#include "store/run_file.h"
#include "support/catch.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <random>
#include <time.h>

using namespace ncclprobe;

namespace {

constexpr int k_kills = 25;
constexpr int k_example_trials = 5; // the records are made before the fork; only ids differ

void write_until_killed(const std::filesystem::path& file, std::vector<model::TrialRecord> trials,
                        int to_parent) {
  if (!store::begin_run(file, support::example_header(0)))
    ::_exit(2);
  for (int id = 0;; ++id) {
    model::TrialRecord& trial = trials[static_cast<std::size_t>(id % k_example_trials)];
    trial.spec.id = id;
    if (!store::write_part(file, trial))
      ::_exit(2);
    support::say(to_parent, '.');
  }
}

} // namespace

TEST_CASE("no trial that was finished before a SIGKILL is lost") {
  std::vector<model::TrialRecord> trials = support::example_run(k_example_trials).trials;
  std::mt19937 random(20260301);
  std::uniform_int_distribution<int> trials_before(0, 8); // 0: also while the run begins
  std::uniform_int_distribution<long> moment_ns(0, 8'000'000);
  int killed_before_the_header = 0;

  for (int round = 0; round < k_kills; ++round) {
    support::ScratchFolder folder;
    auto file = folder / "run.h5";
    support::ChildProcess writer(
        [&](int to_parent) { write_until_killed(file, trials, to_parent); });
    int finished = 0;
    for (int left = trials_before(random); left > 0 && writer.hear() == '.'; --left)
      ++finished;
    timespec moment{0, moment_ns(random)}; // where in its work to hit it, not a synchronisation
    ::nanosleep(&moment, nullptr);
    int status = writer.kill();
    REQUIRE(WIFSIGNALED(status)); // otherwise it failed to write
    while (writer.hear() == '.')
      ++finished;

    auto unfolded = store::read_run(file);
    auto folded = store::fold(file);
    auto read = store::read_run(file);

    if (!unfolded && finished == 0) {
      ++killed_before_the_header;
      REQUIRE(unfolded.error().code == base::Errc::not_found);
      REQUIRE(store::begin_run(file, support::example_header(0))); // nothing is in the way
      continue;
    }
    REQUIRE(unfolded);
    REQUIRE(folded);
    REQUIRE(folded->damaged.empty());
    REQUIRE(read);
    // The last one may be there without the child having been able to say so.
    int stored = static_cast<int>(read->trials.size());
    REQUIRE((stored == finished || stored == finished + 1));
    for (int id = 0; id < stored; ++id) {
      model::TrialRecord expected = trials[static_cast<std::size_t>(id % k_example_trials)];
      expected.spec.id = id;
      bool equal = read->trials[static_cast<std::size_t>(id)] == expected;
      REQUIRE(equal);
    }
  }

  REQUIRE(killed_before_the_header < k_kills / 2);
}
