// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"
#include "support/catch.h"
#include "support/run_builder.h"
#include "support/scratch_folder.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::support;

namespace {

constexpr int k_ranks = 64;

model::TrialRecord trial_of(RunBuilder& run, int id, int batches) {
  auto trial =
      run.trial().cell("all_reduce", 1 << 20, 5'000 + id, {.step_ns = 3, .batches = batches});
  return *trial;
}

// In a process of its own, whose peak memory it returns.
std::int64_t most_memory_bytes(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  rusage used{};
  REQUIRE(::wait4(child, &status, 0, &used) == child);
  REQUIRE(status == 0);
  return std::int64_t{used.ru_maxrss} << 10;
}

std::int64_t memory_of_fold(const ScratchFolder& folder, int trials, int batches) {
  const auto file = folder / fmt::format("{}.h5", batches);
  most_memory_bytes([&] {
    auto run = RunBuilder::on_cpus(k_ranks);
    base::value_or_throw(store::begin_run(file, run.header));
    for (int id = 0; id < trials; ++id) {
      base::value_or_throw(store::write_part(file, trial_of(run, id, batches)));
      run.trials.back().cells.clear();
    }
  });
  return most_memory_bytes([&] { base::value_or_throw(store::fold(file)); });
}

} // namespace

TEST_CASE("a fold with ten times the samples takes hardly more memory") {
#if defined(__SANITIZE_ADDRESS__)
  NCCLPROBE_SKIP("AddressSanitizer keeps what was freed");
#else
  constexpr int k_trials = 40;
  constexpr int k_few = 100;
  constexpr int k_many = 1'000;
  ScratchFolder folder;
  const std::int64_t few_bytes = memory_of_fold(folder, k_trials, k_few);
  const std::int64_t many_bytes = memory_of_fold(folder, k_trials, k_many);

  const std::int64_t more_samples_bytes =
      std::int64_t{sizeof(model::Sample)} * (k_many - k_few) * k_ranks * k_trials;
  INFO((few_bytes >> 20) << " and " << (many_bytes >> 20) << " MiB, for "
                         << (more_samples_bytes >> 20) << " MiB more of samples");
  CHECK(many_bytes - few_bytes < more_samples_bytes / 3);
#endif
}

TEST_CASE("columns that a fold puts together on the disk are read back as they were stored") {
  constexpr int k_batches = 3'000; // 192,000 samples: 1.5 MiB of times
  ScratchFolder folder;
  const auto file = folder / "run.h5";
  auto run = RunBuilder::on_cpus(k_ranks);
  REQUIRE(store::begin_run(file, run.header));
  for (int id = 0; id < 3; ++id)
    REQUIRE(store::write_part(file, trial_of(run, id, k_batches)));
  REQUIRE(store::fold(file));
  const bool as_stored = *store::read_run(file) == run;

  REQUIRE(store::resume_run(file));
  run.trials[1].cells[0] = make_record(k_ranks, 6'000, 1, 5);
  REQUIRE(store::write_part(file, run.trials[1], store::Replace::yes));
  REQUIRE(store::fold(file)->trials == 1);

  CHECK(as_stored);
  model::Run read = *store::read_run(file);
  const bool as_replaced = read == run;
  CHECK(as_replaced);
}
