// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Steps of a captured job: tensor groups of four ranks and data groups of two, 134 operations in a
// step. Beside it the reading of the same rows into the analysis's own form.

#include "analysis/job/found_steps.h"
#include "analysis/job/made_job.h"

#include <benchmark/benchmark.h>

using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::job;

namespace {

constexpr int k_ranks = 8;

timeline::TraceSource training(std::int64_t steps) {
  MadeJob job(k_ranks);
  std::vector<int> tensor, data;
  for (int first = 0; first < k_ranks; first += 4)
    tensor.push_back(job.communicator({first, first + 1, first + 2, first + 3}));
  for (int first = 0; first < 4; ++first)
    data.push_back(job.communicator({first, first + 4}));
  for (std::int64_t step = 0; step < steps; ++step) {
    job.compute(10 * k_ms);
    for (int layer = 0; layer < 128; ++layer)
      for (int group : tensor)
        job.collective(group, "AllReduce", 16 * k_mib);
    for (std::uint64_t bucket = 0; bucket < 6; ++bucket)
      for (int group : data)
        job.collective(group, "AllReduce", (100 + bucket) * k_mib);
  }
  return job.source();
}

void count(benchmark::State& state) { // operations
  state.SetItemsProcessed(state.iterations() * state.range(0) * 134 * k_ranks);
}

void find(benchmark::State& state) {
  const timeline::TraceSource source = training(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(find_steps(source));
  count(state);
}
BENCHMARK(find)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

void read(benchmark::State& state) {
  const timeline::TraceSource source = training(state.range(0));
  for (auto _ : state)
    for (const timeline::RankHead& head : source.ranks)
      benchmark::DoNotOptimize(
          job_operations(*source.load(head.rank, timeline::Pass::collectives), source.texts));
  count(state);
}
BENCHMARK(read)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
