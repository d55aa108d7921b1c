// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trial_lab.h"

#include "processes.h"

#include "base/clock.h"

#include <cstdlib>

namespace ncclprobe::test_launch {

using namespace std::chrono_literals;

model::TrialSpec make_spec(int ranks, int cells) {
  model::TrialSpec spec;
  spec.name = "default";
  spec.backend = "test";
  spec.ranks = ranks;
  spec.startup_deadline_ns = 20'000'000'000;
  spec.teardown_deadline_ns = 20'000'000'000;
  for (int i = 0; i < cells; ++i) {
    model::Cell cell;
    cell.label.bytes = 1024;
    cell.deadline_ns = 20'000'000'000;
    spec.cells.push_back(cell);
  }
  return spec;
}

model::TrialSpec make_spec(int ranks, int cells, int bad_rank, const std::string& how) {
  model::TrialSpec spec = make_spec(ranks, cells);
  spec.process.per_rank[bad_rank] = {{"MISBEHAVE", how}};
  return spec;
}

launch::Layout make_layout(int ranks, int supervisors) {
  launch::Layout layout;
  layout.hosts = {"node1"};
  for (int rank = 0; rank < ranks; ++rank)
    layout.placements.push_back({rank, rank * supervisors / ranks, 0, rank});
  return layout;
}

launch::SupervisorOptions make_options(const std::string& worker,
                                       std::vector<std::string> environment) {
  launch::SupervisorOptions options;
  options.program = {NCCLPROBE_TEST_WORKERS "/" + worker, {}, std::move(environment)};
  options.stop_wait = 100ms;
  options.term_wait = 100ms;
  return options;
}

LocalRun run_locally(const std::string& worker, const model::TrialSpec& spec,
                     int devices_per_worker) {
  std::string token = make_token();
  auto fleet = launch::make_local_fleet();
  std::vector<std::string> environment{token};
  if (const char* sanitizer = std::getenv("TSAN_OPTIONS")) // workers are built with it too
    environment.push_back(std::string("TSAN_OPTIONS=") + sanitizer);
  launch::SupervisorOptions options = make_options(worker, environment);
  options.devices_per_worker = devices_per_worker;
  launch::Supervisor supervisor(*fleet, make_layout(spec.ranks), options);
  std::int64_t start_ns = base::monotonic_ns();
  LocalRun run{supervisor.run(spec)};
  run.seconds = static_cast<double>(base::monotonic_ns() - start_ns) / 1e9;
  run.processes_left = processes_with(token).size();
  return run;
}

} // namespace ncclprobe::test_launch
