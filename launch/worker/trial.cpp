// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/trial.h"

#include "system/mapped_libraries.h"

#include "backend/synthetic/synthetic_backend.h"
#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "base/version.h"
#include "host/host_backend.h"
#include "launch/worker/evidence.h"
#include "launch/worker/loaded_libraries.h"
#include "launch/worker/schedule_runner.h"
#include "nvidia/factory.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::worker {
namespace {

std::unique_ptr<backend::Backend> make_backend(const std::string& name,
                                               const backend::Options& options) {
  if (name == "nvidia")
    return nvidia::make_backend(options);
  if (name == "host")
    return host::make_backend(options);
  if (name == "synthetic")
    return backend::make_synthetic_backend(options);
  raise(Errc::unsupported, "there is no backend '{}'", name);
}

bool needs_world(const wire::Start& start) {
  return static_cast<int>(start.ranks.size()) < start.spec.ranks ||
         std::ranges::any_of(start.spec.cells, [](const model::Cell& cell) {
           return !cell.schedule.communicators.empty();
         });
}

// Destroyed in this order: the runner's communicators and buffers before the backend that created
// them.
struct Library {
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<ScheduleRunner> runner;
};

} // namespace

void run_trial(const wire::Start& start, const std::map<std::string, std::string>& environment,
               SupervisorLink& link, ProgressBoard& board, int& last_cell) {
  auto tell_phase = [&](wire::WorkerPhase phase, int cell = -1) {
    for (const wire::RankDevice& one : start.ranks)
      link.send({one.rank, wire::Phase{phase, cell}});
  };
  const model::TrialSpec& spec = start.spec;
  EvidenceCollector evidence(spec, environment);
  backend::Options options{environment, spec.libraries, start.host_of_rank,
                           spec.seed,   spec.id,        spec.replicate};
  auto library = std::make_unique<Library>();
  library->backend = make_backend(spec.backend, options);
  std::map<int, int> rank_of_device;
  for (const wire::RankDevice& one : start.ranks)
    rank_of_device[one.device] = one.rank;
  auto trace = spec.trace == model::TraceLevel::off
                   ? std::make_unique<TraceRecorder>()
                   : std::make_unique<TraceRecorder>(*library->backend, spec.trace, start.spool,
                                                     std::move(rank_of_device));
  // All ranks pass two barriers before they launch anything: the supervisors let them continue only
  // when nothing else of the run disturbs.
  std::vector<int> everybody(spec.ranks);
  std::iota(everybody.begin(), everybody.end(), 0);
  std::map<int, std::string> present;
  for (const wire::RankDevice& one : start.ranks)
    present[one.rank] = "";
  link.exchange(wire::k_turn_key, everybody, present);
  std::vector<model::MemoryUse> memory;
  auto note_memory = [&](model::MemoryUse::What what) {
    for (const wire::RankDevice& one : start.ranks)
      if (auto bytes = library->backend->memory_used(one.device))
        memory.push_back({one.rank, what, *bytes});
  };
  note_memory(model::MemoryUse::What::before);
  std::vector<LocalRank> local_ranks;
  for (const wire::RankDevice& one : start.ranks)
    local_ranks.push_back({one.rank, library->backend->open_device(one.device)});
  note_memory(model::MemoryUse::What::opened);
  tell_phase(wire::WorkerPhase::ready);
  library->runner = std::make_unique<ScheduleRunner>(*library->backend, std::move(local_ranks),
                                                     spec.ranks, spec.seed, link, board, *trace);
  tell_phase(wire::WorkerPhase::communicator_init);
  if (needs_world(start))
    library->runner->connect_world();
  wire::Loaded told;
  auto tell_what_is_used = [&] {
    auto loaded =
        loaded_libraries(library->backend->libraries(), spec.libraries, system::mapped_libraries());
    loaded.push_back(this_program(spec.libraries));
    if (loaded == told.libraries && memory == told.memory)
      return;
    told = {std::move(loaded), base::format_number_list(base::allowed_cpus()), memory};
    link.send({-1, told});
  };
  tell_what_is_used();
  trace->note("ncclprobe", base::version());
  for (const model::Library& one : told.libraries)
    trace->note(one.name + "_library", fmt::format("{} {}", one.version, one.path));
  tell_phase(wire::WorkerPhase::connected);
  link.exchange(wire::k_measure_key, everybody, present);
  note_memory(model::MemoryUse::What::connected); // no other process uses any of them now
  for (int cell = 0; cell < std::ssize(spec.cells); ++cell) {
    last_cell = cell;
    tell_phase(wire::WorkerPhase::cell, cell);
    evidence.enter_cell(cell);
    trace->enter_cell(cell);
    std::optional<double> estimate_us;
    std::vector<model::CellRecord> results = library->runner->run(
        spec.cells[cell], spec.purpose == model::Purpose::companion ? &estimate_us : nullptr);
    evidence.leave_cell(estimate_us);
    trace->end_cell();
    for (std::size_t local_rank = 0; local_rank < results.size(); ++local_rank)
      link.send(
          {start.ranks[local_rank].rank, wire::CellEnd{cell, std::move(results[local_rank])}});
  }
  last_cell = -1;
  evidence.enter_cell(-1);
  trace->finish();
  note_memory(model::MemoryUse::What::finished);
  if (!memory.empty())
    for (std::size_t local_rank = 0; local_rank < start.ranks.size(); ++local_rank)
      memory.push_back({start.ranks[local_rank].rank, model::MemoryUse::What::buffers,
                        library->runner->buffer_bytes(local_rank)});
  tell_what_is_used(); // some libraries are opened when a cell needs them
  std::vector<int> ranks;
  for (const wire::RankDevice& one : start.ranks)
    ranks.push_back(one.rank);
  for (model::Evidence& one : evidence.collect(ranks, spec.ranks, library->backend->words()))
    link.send({one.rank, wire::Evidence{std::move(one)}});
  for (const wire::RankDevice& one : start.ranks)
    link.send({one.rank, wire::Done{}});
  if (spec.purpose == model::Purpose::companion)
    return; // shows that the library's own teardown works
  // The driver cleans up after an ended process in a quarter of the time of the library's own
  // teardown (0.15 s against 0.6 s on 2 GPUs). The next trial waits for it. But no process leaves
  // while another rank's kernels may still read from its memory.
  link.exchange(wire::k_leave_key, everybody, present);
  (void)library.release();
  (void)trace.release(); // its backend is not torn down
}

} // namespace ncclprobe::worker
