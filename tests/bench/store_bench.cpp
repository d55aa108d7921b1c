// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"
#include "base/clock.h"
#include "model/document.h"
#include "store/guarded_read.h"
#include "store/run_file.h"
#include "store/run_parts.h"
#include "support/example_run.h"
#include "support/scratch_folder.h"

#include <benchmark/benchmark.h>

// The cost of storing and reading runs, compared with a plain JSON file of the same data, which has
// no columns, no checksums and no schema history.
namespace {

using namespace ncclprobe;

// As long as a real one: 20 sizes, 8 ranks, 5 batches.
model::TrialRecord trial_of(int id) {
  model::TrialRecord trial = support::example_trial(5 * id);
  trial.spec.id = id;
  while (trial.cells.size() < 20) {
    trial.spec.cells.push_back(trial.spec.cells[trial.cells.size() % 4]);
    trial.spec.cells.back().label.bytes += trial.cells.size();
    trial.cells.push_back(trial.cells[0]);
    for (int i = 0; i < 16; ++i)
      trial.cells.back().samples.push_back({i % 8, 3 + i / 8, 20, 1'234'567 + 7'919 * i});
  }
  return trial;
}

// A run of `trials` trials in parts.
std::filesystem::path stored_run(const support::ScratchFolder& folder, int trials) {
  auto file = folder / "run.h5";
  base::value_or_throw(store::begin_run(file, support::example_header(trials)));
  for (int id = 0; id < trials; ++id)
    base::value_or_throw(store::write_part(file, trial_of(id)));
  return file;
}

// Both in turn, so that a busy disk affects both equally. The counter is part time / JSON time.
void write_part(benchmark::State& state) {
  support::ScratchFolder folder;
  auto file = stored_run(folder, 0);
  model::TrialRecord trial = trial_of(0);
  std::int64_t json_ns = 0;
  std::int64_t part_ns = 0;
  for (auto _ : state) {
    std::int64_t begin_ns = base::monotonic_ns();
    base::value_or_throw(store::write_part(file, trial));
    std::int64_t middle_ns = base::monotonic_ns();
    base::value_or_throw(
        base::write_file_atomically(folder / "trial.json", base::write_json(trial)));
    std::int64_t end_ns = base::monotonic_ns();
    state.SetIterationTime(static_cast<double>(middle_ns - begin_ns) / 1e9);
    part_ns += middle_ns - begin_ns;
    json_ns += end_ns - middle_ns;
    auto bytes = std::filesystem::file_size(store::trial_path(file, trial.spec.id));
    state.counters["bytes"] = static_cast<double>(bytes);
    ++trial.spec.id;
  }
  state.counters["json_bytes"] = static_cast<double>(base::write_json(trial).size());
  state.counters["vs_json"] = static_cast<double>(part_ns) / static_cast<double>(json_ns);
}

void fold_100(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    support::ScratchFolder folder;
    auto file = stored_run(folder, 100);
    state.ResumeTiming();
    base::value_or_throw(store::fold(file));
    state.PauseTiming();
    state.counters["bytes"] = static_cast<double>(std::filesystem::file_size(file));
    state.ResumeTiming();
  }
}

void read_100(benchmark::State& state) {
  support::ScratchFolder folder;
  auto file = stored_run(folder, 100);
  base::value_or_throw(store::fold(file));
  for (auto _ : state)
    benchmark::DoNotOptimize(base::value_or_throw(store::read_run(file)).trials.size());
}

// The part of read_100 that is HDF5, tried in a child first.
void read_tables_guarded_100(benchmark::State& state) {
  support::ScratchFolder folder;
  auto file = stored_run(folder, 100);
  base::value_or_throw(store::fold(file));
  for (auto _ : state)
    benchmark::DoNotOptimize(
        store::read_outlines_guarded({{file, store::FileKind::run}})[0]->tables.size());
}

} // namespace

BENCHMARK(write_part)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(fold_100)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);
BENCHMARK(read_100)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_tables_guarded_100)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_MAIN();
