// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"
#include "workload/collective_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

// Writes a run of any size with the store's own writer, to measure the cost of reports. Its values
// are synthetic, and the run says so.
namespace {

using namespace ncclprobe;

struct Shape {
  int trials = 0;
  int cells = 0; // of a trial
  int ranks = 0;
  int batches = 5; // of a cell, each with a sample of each rank
  bool readings = false;
};

constexpr int k_processes = 20; // of each setting; of the default twice as many
constexpr int k_ranks_of_host = 8;

model::RunHeader header_of(const Shape& shape) {
  model::RunHeader header;
  header.run_id = "00000000-0000-4000-8000-000000000000";
  header.started_utc = "2026-01-01T00:00:00Z";
  header.ncclprobe_version = "synthetic";
  header.argv = {"large_run"};
  header.backend = "synthetic";
  header.backend_reason = "written by large_run, not measured";
  header.synthetic = true;
  header.planned_trials = shape.trials;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const int index = rank % k_ranks_of_host;
    if (index == 0)
      header.hosts.emplace_back().hostname = fmt::format("node-{:03}", rank / k_ranks_of_host);
    model::CudaDevice& gpu = header.hosts.back().gpus.emplace_back();
    gpu.index = index;
    gpu.name = "synthetic";
    gpu.pci_bus_id = fmt::format("00000000:{:02X}:00.0", 16 + index);
    header.ranks.push_back({rank, rank / k_ranks_of_host, index});
  }
  return header;
}

std::vector<model::Cell> cells_of(const Shape& shape) {
  using enum model::Collective;
  constexpr std::array k_collectives{all_reduce, all_gather, reduce_scatter, broadcast};
  std::vector<model::Cell> cells;
  for (int i = 0; i < shape.cells; ++i) {
    workload::CollectiveRequest request;
    request.collective = k_collectives[static_cast<std::size_t>(i) % k_collectives.size()];
    request.bytes = (std::uint64_t{16} * static_cast<std::uint64_t>(shape.ranks))
                    << (i / k_collectives.size() % 20);
    request.type = i / (20 * static_cast<int>(k_collectives.size())) % 2 == 0
                       ? model::DataType::f32
                       : model::DataType::bf16;
    request.ranks = shape.ranks;
    cells.push_back(base::value_or_throw(workload::make_collective_cell(request, {})));
  }
  return cells;
}

class Values {
public:
  explicit Values(int trial) : random_(static_cast<std::uint64_t>(trial)) {}
  // About that much, within 2%.
  std::int64_t near(std::int64_t value) {
    return value + value * static_cast<std::int64_t>(random_() % 4001) / 100'000;
  }

private:
  std::mt19937_64 random_;
};

model::CellRecord record_of(const Shape& shape, int cell, Values& values) {
  model::CellRecord record;
  record.check = {.checked = true,
                  .elements = 1024,
                  .wrong = 0,
                  .first_wrong = {},
                  .why_unchecked = {},
                  .launches = static_cast<std::uint64_t>(shape.batches),
                  .method = "last launch of every batch"};
  const std::int64_t time_ns = 20'000 + 10'000LL * cell;
  for (int batch = 0; batch < shape.batches; ++batch)
    for (int rank = 0; rank < shape.ranks; ++rank)
      record.samples.push_back({rank, batch, 20, values.near(20 * time_ns), values.near(90'000)});
  if (!shape.readings)
    return record;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (auto when : {model::Condition::When::before, model::Condition::When::after}) {
      model::Condition& one = record.conditions.emplace_back();
      one.rank = rank;
      one.when = when;
      one.at_ns = when == model::Condition::When::before ? 0 : 200 * time_ns;
      one.sm_clock_mhz = static_cast<std::int32_t>(values.near(1900));
      one.memory_clock_mhz = 2619;
      one.temperature_c = static_cast<std::int32_t>(values.near(60));
      one.power_mw = static_cast<std::int32_t>(values.near(400'000));
      one.throttle_reasons = 0;
      one.memory_used_bytes = std::uint64_t{4} << 30;
      one.processes = 1;
      one.corrected_errors = 0;
      one.uncorrected_errors = 0;
    }
  return record;
}

model::WorkerRecord worker_of(const Shape& shape, int rank) {
  using enum model::MemoryUse::What;
  model::WorkerRecord worker;
  worker.ranks = {rank};
  worker.host = fmt::format("node-{:03}", rank / k_ranks_of_host);
  worker.pid = 4000 + rank;
  worker.last_phase = "done";
  worker.last_cell = shape.cells - 1;
  worker.exit = "exit 0";
  worker.cpus = fmt::format("{}-{}", rank % k_ranks_of_host * 8, rank % k_ranks_of_host * 8 + 7);
  worker.libraries = {{"nccl", "2.28.9", "/opt/synthetic/lib/libnccl.so.2.28.9", ""},
                      {"worker", "synthetic", "/opt/synthetic/bin/ncclprobe-worker", ""}};
  for (auto what : {before, opened, connected, finished, buffers})
    worker.memory.push_back({rank, what, std::uint64_t{1} << 30});
  return worker;
}

// As a plan orders them: blocks, each with the default twice and every other setting once.
void write_trials(const std::filesystem::path& file, const Shape& shape) {
  const std::vector<model::Cell> cells = cells_of(shape);
  const int block = std::max(3, shape.trials / k_processes);
  for (int id = 0; id < shape.trials; ++id) {
    const int setting = std::max(0, id % block - 1);
    model::TrialRecord trial;
    trial.spec.id = id;
    trial.spec.replicate = setting == 0 ? 2 * (id / block) + id % block : id / block;
    trial.spec.backend = "synthetic";
    trial.spec.ranks = shape.ranks;
    if (setting > 0)
      trial.spec.process.common = {{"NCCL_MIN_NCHANNELS", std::to_string(setting)}};
    trial.spec.name = model::label_of(trial.spec.process.common);
    trial.spec.cells = cells;
    trial.started_utc = "2026-01-01T00:00:00Z";
    Values values(id);
    for (int cell = 0; cell < shape.cells; ++cell)
      trial.cells.push_back(record_of(shape, cell, values));
    for (int rank = 0; rank < shape.ranks; ++rank)
      trial.workers.push_back(worker_of(shape, rank));
    base::value_or_throw(store::write_part(file, trial));
  }
}

int number(const char* text) {
  const int value = std::atoi(text);
  if (value < 1)
    base::raise(base::Errc::invalid_argument, "'{}' is no count", text);
  return value;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "Usage: large_run RUN.h5 TRIALS CELLS RANKS BATCHES [--readings] [--fold]\n"
                       "Writes a run with synthetic values, in parts unless it is folded.\n");
    return 2;
  }
  try {
    const std::filesystem::path file = argv[1];
    Shape shape{number(argv[2]), number(argv[3]), number(argv[4]), number(argv[5])};
    bool fold = false;
    for (int i = 6; i < argc; ++i) {
      shape.readings = shape.readings || std::strcmp(argv[i], "--readings") == 0;
      fold = fold || std::strcmp(argv[i], "--fold") == 0;
    }
    base::value_or_throw(store::begin_run(file, header_of(shape)));
    write_trials(file, shape);
    if (fold)
      base::value_or_throw(store::fold(file));
    fmt::print("{}: {} synthetic samples\n", file.string(),
               std::int64_t{shape.trials} * shape.cells * shape.ranks * shape.batches);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "large_run: {}\n", error.what());
    return 1;
  }
}
