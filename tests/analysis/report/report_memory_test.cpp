// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"
#include "support/catch.h"
#include "support/paths.h"
#include "support/run_builder.h"
#include "support/scratch_folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace ncclprobe;
using namespace ncclprobe::support;

namespace {

constexpr int k_ranks = 64;
constexpr std::int64_t k_bytes_of_sample = sizeof(model::Sample);

struct Shape {
  int trials = 1;
  int cells = 1; // of each trial
};

std::filesystem::path stored_run(const support::ScratchFolder& folder, Shape shape, int batches) {
  auto file = folder / fmt::format("{}-{}.h5", shape.trials, batches);
  auto run = RunBuilder::on_cpus(k_ranks);
  REQUIRE(store::begin_run(file, run.header));
  for (int id = 0; id < shape.trials; ++id) {
    auto trial = run.trial();
    for (int cell = 0; cell < shape.cells; ++cell)
      trial.cell("all_reduce", std::uint64_t{1024} << cell, 5'000 + id,
                 {.step_ns = 3, .batches = batches});
    REQUIRE(store::write_part(file, *trial));
    trial->cells.clear();
  }
  REQUIRE(store::fold(file));
  return file;
}

// Peak memory of `ncclprobe-report FILE --format FORMAT`, whose exit code must be 0.
std::int64_t most_memory_bytes(const std::filesystem::path& file, const char* format) {
  const std::string program = support::bin_dir() + "/ncclprobe-report";
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execl(program.c_str(), "ncclprobe-report", file.c_str(), "--format", format, nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage used{};
  REQUIRE(::wait4(child, &status, 0, &used) == child);
  REQUIRE(status == 0);
  return std::int64_t{used.ru_maxrss} << 10;
}

} // namespace

TEST_CASE("ten times the samples of the same results take hardly more memory") {
#if defined(__SANITIZE_ADDRESS__)
  NCCLPROBE_SKIP("AddressSanitizer keeps what was freed");
#else
  support::ScratchFolder folder;
  for (const Shape shape : {Shape{.trials = 60}, Shape{.cells = 20}}) {
    const int few_batches = 3'000 / (shape.trials * shape.cells);
    const auto few = stored_run(folder, shape, few_batches);
    const auto many = stored_run(folder, shape, 10 * few_batches);
    const std::int64_t more_samples_bytes =
        k_bytes_of_sample * 9 * few_batches * k_ranks * shape.trials * shape.cells;

    for (const char* format : {"table", "csv", "json"}) {
      const std::int64_t growth_bytes =
          most_memory_bytes(many, format) - most_memory_bytes(few, format);
      INFO(shape.trials << " trials, " << format << ": " << (growth_bytes >> 20) << " MiB more for "
                        << (more_samples_bytes >> 20) << " MiB of samples");
      CHECK(growth_bytes < more_samples_bytes / 3);
    }
  }
#endif
}
