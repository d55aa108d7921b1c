// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_smoke_tests.h"

#include "launch/cli/job/stop_on_signal.h"
#include "workload/collective_benchmark.h"
#include "workload/companions.h"
#include "workload/p2p_plan.h"

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>

namespace ncclprobe::cli {
namespace {

using analysis::doctor::Case;
using analysis::doctor::smoke_test_of;

model::Timing once() {
  model::Timing timing;
  timing.warmups = 0;
  timing.iterations = 1;
  timing.batches = 1;
  return timing;
}

// One launch of each: nothing is measured.
model::TrialSpec quick_trial(const TestSetup& setup, int ranks) {
  bool on_gpus = setup.backend.name == "nvidia";
  model::TrialSpec spec;
  spec.name = "default";
  spec.backend = setup.backend.name;
  spec.ranks = ranks;
  spec.seed = 1;
  spec.startup_deadline_ns = 60 * k_second_ns;
  spec.teardown_deadline_ns = 10 * k_second_ns;
  auto add = [&](model::DataType type, std::uint64_t bytes, model::Launch launch) {
    workload::CollectiveRequest request;
    request.bytes = bytes;
    request.type = type;
    request.ranks = ranks;
    request.launch = launch;
    if (auto cell = workload::make_collective_cell(request, once()))
      spec.cells.push_back(std::move(*cell));
  };
  add(model::DataType::f32, on_gpus ? 8 << 20 : 1 << 20, model::Launch::direct);
  add(model::DataType::bf16, 64 << 10, model::Launch::direct);
  add(model::DataType::f8e4m3, 64 << 10, model::Launch::direct);
  if (on_gpus)
    add(model::DataType::f32, 1 << 20, model::Launch::graph);
  return spec;
}

// NCCL's log and our profiler plugin, which the large messages that are measured do not feel. A
// user who asked for NCCL's log gets it where it was to go: should the trial fail, it says why.
void look_inside(const World& world, model::TrialSpec& trial) {
  if (!world.environment_by_name.contains("NCCL_DEBUG"))
    workload::make_companion(trial, world.environment_by_name);
  model::Timing timing;
  timing.warmups = 2;
  timing.iterations = 10;
  timing.batches = 5;
  timing.budget_ns = k_second_ns / 2; // over PCIe a launch takes as long
  workload::CollectiveRequest request;
  request.bytes = analysis::doctor::k_measured_bytes;
  request.ranks = trial.ranks;
  if (auto cell = workload::make_collective_cell(request, timing); cell && trial.ranks > 1)
    trial.cells.push_back(std::move(*cell));
}

model::TrialSpec load_trial(const TestSetup& setup, std::int64_t load_ns) {
  model::TrialSpec spec = quick_trial(setup, setup.layout.ranks());
  spec.id = 2;
  model::Timing timing;
  timing.warmups = 1;
  timing.batches = 1'000'000; // the budget cuts them
  timing.budget_ns = load_ns;
  workload::CollectiveRequest request;
  request.bytes = setup.backend.name == "nvidia" ? 256 << 20 : 4 << 20;
  request.ranks = spec.ranks;
  spec.cells.clear();
  if (auto cell = workload::make_collective_cell(request, timing)) {
    cell->deadline_ns = load_ns + 60 * k_second_ns;
    spec.cells.push_back(std::move(*cell));
  }
  return spec;
}

// No trial is prepared while another one runs: what a rank's GPU had in use before its own trial
// has to be read without the other's share, and a rank may be in one of the trials only.
launch::SupervisorOptions supervisor_options(const World& world, const SurveyedJob& job,
                                             const TestSetup& setup, int devices_per_worker) {
  launch::SupervisorOptions how;
  how.devices_per_worker = devices_per_worker;
  how.program = job.worker;
  if (setup.backend.name == "nvidia" && !bound_by_user(world))
    how.cpus_of_rank = cpus_near_gpus(setup.layout, job.hosts, job.fleet->rank());
  return how;
}

// Runs the trials on all supervisors; the leader gets the records. With supervisors that are lost
// nothing more is shared.
std::vector<model::TrialRecord> run_trials(const World& world, SurveyedJob& job,
                                           const TestSetup& setup,
                                           const std::vector<model::TrialSpec>& trials,
                                           int devices_per_worker = 1) {
  launch::Supervisor supervisor(*job.fleet, setup.layout,
                                supervisor_options(world, job, setup, devices_per_worker));
  StopOnSignal stopper(supervisor);
  std::vector<model::TrialRecord> records;
  if (job.fleet->rank() != 0) {
    supervisor.follow();
  } else {
    for (std::size_t i = 0; i < trials.size(); ++i)
      records.push_back(supervisor.run(trials[i], std::span(trials).subspan(i + 1)));
    supervisor.release();
  }
  if (supervisor.others_lost())
    job.fleet->leave_alone();
  return records;
}

// Looks at this host's GPUs once, some time from now, while the main thread is busy with a trial.
class LaterLook {
public:
  LaterLook(launch::WorkerProgram program, std::chrono::nanoseconds wait)
      : look_(std::async(std::launch::async, [this, program = std::move(program), wait] {
          std::unique_lock lock(mutex_);
          if (given_up_.wait_for(lock, wait, [this] { return give_up_; }))
            return model::Survey{};
          lock.unlock();
          return launch::take_survey(program, model::SurveyScope::health, k_survey_patience)
              .value_or(model::Survey{});
        })) {}
  // What it saw; nothing if it is too early now.
  model::Survey finish() {
    {
      std::lock_guard lock(mutex_);
      give_up_ = true;
    }
    given_up_.notify_all();
    return look_.get();
  }

private:
  std::mutex mutex_;
  std::condition_variable given_up_;
  bool give_up_ = false;
  std::future<model::Survey> look_; // last: the thread uses the others
};

// A few MiB from every GPU to every other one of its host, as NCCL's ranks would reach them.
void test_copies(const World& world, const DoctorOptions& options, SurveyedJob& job,
                 const TestSetup& setup, Case& into) {
  bool direct = one_supervisor_a_host(setup.layout);
  workload::P2pRequest request;
  request.backend = setup.backend.name;
  request.host_of_rank = setup.layout.host_of_rank();
  request.mode = direct ? model::P2pMode::direct : model::P2pMode::ipc;
  request.methods = {model::P2pMethod::ce};
  request.directions = {model::P2pDirection::uni};
  request.sizes = {4 << 20};
  request.seed = 1;
  request.libraries = options.libraries;
  request.cell_deadline_ns = 10 * k_second_ns;
  request.startup_deadline_ns = 60 * k_second_ns;
  auto plan = workload::make_p2p_plan(request);
  if (!plan) // no host has two of the GPUs
    return;
  for (model::TrialSpec& trial : plan->trials)
    for (model::Cell& cell : trial.cells) {
      model::TimingMode mode = cell.timing.mode;
      cell.timing = once();
      cell.timing.mode = mode;
    }
  for (const model::TrialRecord& record :
       run_trials(world, job, setup, plan->trials, direct ? setup.layout.ranks() : 1))
    into.smoke_tests.push_back(smoke_test_of(record, analysis::doctor::k_copies));
}

// All supervisors must agree to continue. If one stops responding, the examination ends and shows
// what it has found.
bool all_go_on(launch::Fleet& fleet, bool willing) {
  const auto answers = fleet.all_gather(stop_signal() == 0 && willing ? "go on" : "stop");
  return answers && std::all_of(answers->begin(), answers->end(),
                                [](const std::string& answer) { return answer == "go on"; });
}

Result<void> test_load(const World& world, const DoctorOptions& options, SurveyedJob& job,
                       const TestSetup& setup, Case& into) {
  model::TrialSpec spec = load_trial(setup, options.load_ns);
  std::optional<LaterLook> look;
  if (job.first_here && setup.backend.name == "nvidia")
    look.emplace(job.worker, std::chrono::nanoseconds(options.load_ns / 2 + 3 * k_second_ns));
  std::vector<model::TrialRecord> records = run_trials(world, job, setup, {spec});
  for (const model::TrialRecord& record : records)
    into.smoke_tests.push_back(smoke_test_of(record, analysis::doctor::k_load));
  model::Survey seen = look ? look->finish() : model::Survey{};
  if (look)
    seen.inventory.hostname =
        job.surveys[static_cast<std::size_t>(job.fleet->rank())].inventory.hostname;
  NCCLPROBE_TRY_ASSIGN(std::vector<model::Survey> all, gather(*job.fleet, seen));
  for (model::Survey& one : all)
    if (!one.health.empty())
      into.under_load.push_back(std::move(one));
  return {};
}

} // namespace

Result<TestSetup> make_test_setup(const World& world, const DoctorOptions& options,
                                  const SurveyedJob& job) {
  for (const launch::SupervisorReport& report : job.reports)
    if (report.version != job.reports.front().version)
      return base::fail(base::Errc::mismatch, "the ranks run different builds of ncclprobe");
  NCCLPROBE_TRY_ASSIGN(launch::BackendChoice backend,
                       launch::choose_backend(options.backend.value_or("auto"), job.hosts));
  std::optional<int> ranks = options.ranks;
  if (!ranks && started_by_launcher(world) && job.fleet->size() == 1)
    ranks = 1;
  NCCLPROBE_TRY_ASSIGN(launch::Layout layout,
                       launch::make_layout(job.reports, job.hosts, backend.name, ranks));
  return TestSetup{std::move(backend), std::move(layout)};
}

Result<void> run_smoke_tests(const World& world, const DoctorOptions& options, SurveyedJob& job,
                             const TestSetup& setup, Case& into) {
  int ranks = setup.layout.ranks();
  bool on_gpus = setup.backend.name == "nvidia";
  std::vector<model::TrialSpec> trials;
  if (ranks > 2)
    trials.push_back(quick_trial(setup, 2));
  trials.push_back(quick_trial(setup, ranks));
  if (on_gpus)
    look_inside(world, trials.back());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].id = static_cast<int>(i);
    trials[i].libraries = options.libraries;
  }
  const std::vector<model::TrialRecord> records = run_trials(world, job, setup, trials);
  for (const model::TrialRecord& record : records)
    into.smoke_tests.push_back(
        smoke_test_of(record, record.spec.ranks == ranks ? "all ranks" : "2 ranks"));
  bool ok = into.smoke_tests.empty() ||
            into.smoke_tests.back().outcome.kind <= model::OutcomeKind::skipped;
  // Also after a failure: a pair that fails says where.
  if (on_gpus && ranks > 1 && all_go_on(*job.fleet, true))
    test_copies(world, options, job, setup, into);
  if (!options.deep || !all_go_on(*job.fleet, ok))
    return {};
  return test_load(world, options, job, setup, into);
}

} // namespace ncclprobe::cli
