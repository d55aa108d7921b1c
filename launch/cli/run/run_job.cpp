// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/run/run_job.h"

#include "analysis/report/report.h"
#include "analysis/report_value/report_writers.h"
#include "base/clock.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/name_ranks.h"
#include "base/number_list.h"
#include "base/output_file.h"
#include "base/secrets.h"
#include "base/shell_word.h"
#include "base/stored_variables.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/files/traced_steps.h"
#include "launch/cli/job/compared_libraries.h"
#include "launch/cli/job/named_again.h"
#include "launch/cli/job/nccl_places.h"
#include "launch/cli/job/resume.h"
#include "launch/cli/job/stop_on_signal.h"
#include "launch/cli/run/preflight.h"
#include "launch/cli/run/preparation.h"
#include "launch/cli/run/progress.h"
#include "launch/supervisor/trace_keeper.h"
#include "store/run_file.h"
#include "workload/expected_time.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <random>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

std::string random_uuid() {
  std::random_device device;
  std::uint32_t words[4];
  for (std::uint32_t& word : words)
    word = device();
  words[1] = (words[1] & 0xFFFF0FFF) | 0x4000; // version 4
  words[2] = (words[2] & 0x3FFFFFFF) | 0x80000000;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", words[0], words[1] >> 16,
                     words[1] & 0xFFFF, words[2] >> 16, words[2] & 0xFFFF, words[3]);
}

std::string default_output() {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char stem[64];
  std::strftime(stem, sizeof stem, "ncclprobe-%Y%m%d-%H%M%S", &parts);
  std::string name = fmt::format("{}.h5", stem);
  for (int again = 2; std::filesystem::exists(name);
       ++again) // another run began in the same second
    name = fmt::format("{}-{}.h5", stem, again);
  return name;
}

model::RunHeader make_header(const World& world, const Session& session, const Job& job,
                             const workload::Plan& plan) {
  const RunOptions& options = job.options;
  model::RunHeader header;
  header.run_id = random_uuid();
  header.started_utc = base::utc_now();
  header.ncclprobe_version = base::version_and_build();
  header.mpi_version = session.fleet->description();
  const std::vector<std::string> secrets = base::secrets_of(world.environment);
  for (const std::string& argument : world.arguments)
    header.argv.push_back(base::without_secrets(argument, secrets));
  header.seed = *options.seed;
  header.note = base::without_secrets(options.note, secrets);
  header.backend = session.backend.name;
  header.backend_reason = session.backend.reason;
  header.synthetic = session.backend.name == "synthetic";
  header.hosts = session.hosts;
  for (const launch::RankPlacement& placement : session.layout.placements)
    header.ranks.push_back({placement.rank, placement.host, placement.device});
  for (const model::Setting& one : session.reports.front().environment)
    header.environment.push_back({one.name, base::stored_value(one.name, one.value)});
  header.environment_of_ranks = launch::environment_of_ranks(session.reports, session.layout);
  header.pinned = plan.pinned;
  header.captured = plan.captured;
  header.files = contents_of_files(options);
  if (!job.more) // otherwise nobody knows
    header.planned_trials = static_cast<int>(plan.trials.size());
  if (job.can_be_resumed) {
    RunOptions stored = options;
    stored.note = header.note;
    header.plan = plan_to_store(std::move(stored), header.ranks, started_by_launcher(world));
  }
  return header;
}

void say_what_is_coming(const Session& session, const workload::Plan& plan) {
  spdlog::info("{} backend: {}", session.backend.name, session.backend.reason);
  spdlog::info("{} on {}, {} of {}, about {}",
               base::count_of(static_cast<std::size_t>(session.layout.ranks()), "rank", "ranks"),
               base::count_of(session.layout.hosts.size(), "host", "hosts"),
               base::count_of(plan.trials.size(), "trial", "trials"),
               base::count_of(plan.trials.front().cells.size(), "cell", "cells"),
               workload::expected_text(workload::expected_ns(plan)));
  for (const model::Setting& pinned : plan.pinned)
    spdlog::warn(
        "{}={} is set in the environment and stays so in every trial; --override {} sweeps it",
        pinned.name, pinned.value, pinned.name);
  for (const std::string& note : plan.notes)
    spdlog::info("left out: {}", note);
  for (const std::string& warning : plan.warnings)
    spdlog::warn("{}", warning);
}

// mpirun passes environment variables on only if asked to.
void warn_of_other_environments(const Session& session) {
  for (const model::RankVariable& variable :
       launch::environment_of_ranks(session.reports, session.layout))
    if (!model::may_differ_between_ranks(variable.name) && !variable.name.starts_with("LD_"))
      spdlog::warn("{} is {} on {}, unlike on rank 0, in every trial: mpirun -x {} gives it "
                   "to all",
                   variable.name, variable.value ? "'" + *variable.value + "'" : "not set",
                   base::name_ranks(variable.ranks), variable.name);
}

// How far the plan got.
enum class Ending {
  whole,
  interrupted, // by a signal, here or on another supervisor, before the plan was done
  broken,      // a worker or a supervisor is lost: nothing more can be run
};

Ending ending_of(const launch::Supervisor& supervisor, bool all_done) {
  if (stop_signal() == 0 && supervisor.stopped() && !supervisor.interrupted())
    return Ending::broken;
  return stop_signal() != 0 || (supervisor.stopped() && !all_done) ? Ending::interrupted
                                                                   : Ending::whole;
}

// Runs the trials that are not stored yet, and those that they call for, and stores each as it
// ends: `stored` grows. Returns the first error of storing.
Result<Ending> measure(launch::Supervisor& supervisor, const Job& job, const workload::Plan& plan,
                       const std::filesystem::path& output, const std::string& run_id,
                       Stored& stored, Progress& progress) {
  std::vector<model::TrialSpec> missing;
  std::ranges::copy_if(plan.trials, std::back_inserter(missing), [&](const model::TrialSpec& spec) {
    return !stored.done.contains(spec.id);
  });
  for (model::TrialSpec& spec : missing)
    launch::keep_trace_with(output, run_id, spec);
  // Jobs that call for more trials decide by the samples in the records.
  supervisor.keep_rows_in(job.more ? std::filesystem::path() : store::parts_folder(output));
  bool all_done = true;
  for (std::size_t next = 0; next < missing.size(); ++next) {
    const model::TrialSpec spec = missing[next]; // a copy: more trials may be added
    progress.begin_trial(spec);
    model::TrialRecord record = supervisor.run(spec, std::span(missing).subspan(next + 1));
    if (stored.wants(record)) {
      const auto rows = supervisor.take_rows();
      NCCLPROBE_TRY(store::write_part(output, record, store::Replace::yes, rows.get()));
      stored.done.insert(spec.id);
    }
    stored.tally.add(record);
    if (job.more)
      for (model::TrialSpec& further : job.more(record)) {
        progress.expect(further);
        missing.push_back(std::move(further));
      }
    progress.end_trial(record);
    if (supervisor.stopped()) {
      all_done = next + 1 == missing.size() && standing_of(record) != Standing::missing;
      if (stop_signal() == 0)
        spdlog::error("the run ends here: {}", supervisor.why_stopped());
      break;
    }
  }
  return ending_of(supervisor, all_done);
}

// The content of the folded run file, and what is missing in it.
struct Folded {
  analysis::RunSummary run;
  bool whole = true;
};

Result<Folded> fold(const std::filesystem::path& output, const std::set<int>& stored) {
  NCCLPROBE_TRY(fold_parts(output));
  NCCLPROBE_TRY_ASSIGN(analysis::RunSummary run, read_summary(output));
  std::vector<int> lost(stored.begin(), stored.end());
  for (const model::TrialRecord& trial : run.trials)
    std::erase(lost, trial.spec.id);
  if (!lost.empty())
    spdlog::error("of the trials that were stored, {} is not in the run file: somebody removed or "
                  "changed parts of the run in {}",
                  base::format_number_list(lost), store::parts_folder(output).string());
  return Folded{std::move(run), lost.empty()};
}

std::string report_of(const analysis::RunSummary& run, const std::filesystem::path& output,
                      std::optional<analysis::Format> format) {
  const std::string report =
      written(analysis::run_report(run, {}, traced_steps(output, run)),
              format.value_or(analysis::Format::table), base::text_columns());
  return format ? report : fmt::format("{}\nrun file: {}\n", report, output.string());
}

// Advice on how to complete a run that was cut short.
std::string way_on(const Job& job, const std::filesystem::path& output) {
  return job.can_be_resumed
             ? fmt::format("`ncclprobe --resume {}{}` resumes it",
                           base::shell_word(output.string()), options_to_name(job.options))
             : "start it again for the rest";
}

int finish(const Job& job, const std::filesystem::path& output, const Result<Ending>& ending,
           const Stored& stored) {
  if (!ending) {
    spdlog::error("{}; the trials stored before are in {}: once it can be written again, {}",
                  ending.error().text(), store::parts_folder(output).string(), way_on(job, output));
    return exit_code_of(ending.error());
  }
  if (stop_signal() == SIGTERM) { // under mpirun less than a second is left: folding can wait
    spdlog::warn("stopped by a signal; `ncclprobe report {}` shows the trials that were "
                 "finished, {}",
                 base::shell_word(output.string()), way_on(job, output));
    return base::k_exit_interrupted;
  }
  const std::string left =
      fmt::format("`ncclprobe report {}` shows the report", base::shell_word(output.string()));
  LeaveOnSignal leaver(fmt::format("\nncclprobe: warning: stopped; {}\n", left));
  auto folded = fold(output, stored.done);
  if (!folded) {
    spdlog::error("{}", folded.error().text());
    return base::k_exit_output;
  }
  leaver.file_is_whole();
  if (*ending == Ending::whole && stop_signal() != 0) { // after the last trial
    spdlog::warn("stopped; {}", left);
    return base::k_exit_interrupted;
  }
  int exit_code = stored.tally.exit_code();
  if (!folded->whole)
    exit_code = std::max<int>(exit_code, base::k_exit_output);
  if (*ending == Ending::interrupted) {
    spdlog::warn("stopped; {}", way_on(job, output));
    exit_code = base::k_exit_interrupted;
  } else if (*ending == Ending::broken) {
    spdlog::warn("the run is incomplete; {}", way_on(job, output));
    exit_code = std::max<int>(exit_code, base::k_exit_some_failed);
  }
  if (job.conclude)
    return job.conclude(folded->run, output, exit_code);
  const base::Destination to = report_file(job.options);
  if (!to.file.empty())
    spdlog::info("run file: {}", output.string());
  return deliver(report_of(folded->run, output, job.options.format), to, exit_code);
}

// Follows symbolic links, because parts and traces lie beside the real file.
Result<std::filesystem::path> run_file_of(const RunOptions& options) {
  if (!options.resume_file.empty())
    return options.resume_file;
  return base::regular_output_path(
      {report_file(options).file.empty() ? options.output.value_or(default_output())
                                         : default_output(),
       options.force ? base::Overwrite::yes : base::Overwrite::no},
      "the parts that a run file is made from lie in a folder beside it");
}

// Creates the run file, or resumes one. Returns what is stored in it.
Result<Stored> begin(const std::filesystem::path& output, const RunOptions& options,
                     const model::RunHeader& header, const workload::Plan& plan,
                     Progress& progress) {
  if (options.resume_file.empty()) {
    NCCLPROBE_TRY(store::begin_run(output, header,
                                   options.force ? base::Overwrite::yes : base::Overwrite::no));
    return Stored{};
  }
  NCCLPROBE_TRY_ASSIGN(Stored stored, resume(output, options, header, plan));
  double left_ns = 0;
  for (const model::TrialSpec& trial : plan.trials)
    if (!stored.done.contains(trial.id))
      left_ns += workload::expected_trial_ns(trial);
  if (options.verbosity != base::Verbosity::quiet)
    spdlog::info("continuing {}: {} of {} trials are done, about {} left", output.string(),
                 stored.done.size(), plan.trials.size(), workload::expected_text(left_ns));
  progress.skip(static_cast<int>(stored.done.size()), left_ns);
  return stored;
}

// A job whose trials have run as far as they could.
struct Measured {
  std::filesystem::path output;
  Stored stored;
  Result<Ending> ending;
};

Result<Measured> begin_and_measure(const World& world, const Session& session, const Job& job,
                                   const workload::Plan& plan, launch::Supervisor& supervisor,
                                   Progress& progress) {
  const model::RunHeader header = make_header(world, session, job, plan);
  NCCLPROBE_TRY(check_destination(report_file(job.options)));
  NCCLPROBE_TRY_ASSIGN(std::filesystem::path output, run_file_of(job.options));
  NCCLPROBE_TRY_ASSIGN(Stored stored, begin(output, job.options, header, plan, progress));
  const std::string run_id = stored.run_id.empty() ? header.run_id : stored.run_id;
  Result<Ending> ending = measure(supervisor, job, plan, output, run_id, stored, progress);
  return Measured{std::move(output), std::move(stored), std::move(ending)};
}

// The job that follows a whole one, if there is one. The file of the one that is over is folded
// first: nobody comes back to it.
Result<std::optional<Job>> job_after(const Job& job, const Measured& measured) {
  if (!job.next || !measured.ending || *measured.ending != Ending::whole || stop_signal() != 0)
    return std::nullopt;
  std::optional<Job> next = job.next();
  if (next)
    NCCLPROBE_TRY(fold(measured.output, measured.stored.done));
  return next;
}

Progress progress_of(const Job& job, const Result<workload::Plan>& plan) {
  return Progress(Progress::style_for(job.options.verbosity == base::Verbosity::quiet),
                  plan ? static_cast<int>(plan->trials.size()) : 0,
                  plan ? workload::expected_ns(*plan) : 0);
}

// Runs the plan, and the jobs that follow. `supervisor` is released before the last file is folded
// and shown, so that the others end.
int lead(const World& world, Session& session, Job job, Result<workload::Plan> plan,
         launch::Supervisor& supervisor, std::optional<Progress>& progress) {
  while (true) {
    auto measured = plan.and_then([&](const workload::Plan& made) {
      return begin_and_measure(world, session, job, made, supervisor, *progress);
    });
    Result<std::optional<Job>> next =
        measured.and_then([&](const Measured& one) { return job_after(job, one); });
    if (!next) {
      supervisor.release();
      return give_up(next.error());
    }
    if (!*next) {
      supervisor.release();
      if (supervisor.others_lost())
        session.fleet->leave_alone();
      session.fleet->leave(); // a frozen leader would keep them while it folds and reports
      return finish(job, measured->output, measured->ending, measured->stored);
    }
    job = std::move(**next);
    plan = job.plan();
    progress.reset(); // its line goes before the next one's comes
    progress.emplace(progress_of(job, plan));
  }
}

int follow(Session& session, launch::SupervisorOptions how) {
  launch::Supervisor supervisor(*session.fleet, session.layout, std::move(how));
  StopOnSignal stopper(supervisor);
  supervisor.follow();
  if (!supervisor.others_lost())
    return base::k_exit_ok;
  spdlog::error("rank {}: the leader, rank 0 on {}, no longer answers; its workers here were "
                "stopped",
                session.fleet->rank(), session.reports.front().hostname);
  session.fleet->leave_alone();
  return base::k_exit_some_failed;
}

// Plans, and leads the followers through the plan.
int plan_and_lead(const World& world, Session& session, const Job& job,
                  launch::SupervisorOptions how) {
  const RunOptions& options = job.options;
  auto plan = check_environment(session, world, options.overrides).and_then(job.plan);
  bool quiet = options.verbosity == base::Verbosity::quiet;
  std::optional<Progress> progress(progress_of(job, plan));
  if (plan) {
    Preparation preparation =
        choose_preparation(options.prepare.value_or("auto"), session.backend.name, session.hosts,
                           session.layout, plan->trials);
    how.prepare = preparation.on;
    if (!preparation.on && options.prepare == "on")
      spdlog::warn("--prepare on is not possible: {}", preparation.reason);
    else
      spdlog::debug("trials are {}prepared: {}", preparation.on ? "" : "not ", preparation.reason);
  }
  how.on_progress = [&](const launch::TrialProgress& now) { progress->update(now); };
  launch::Supervisor supervisor(*session.fleet, session.layout, std::move(how));
  if (!plan) {
    supervisor.release();
    return give_up(plan.error());
  }
  StopOnSignal stopper(supervisor);
  if (!quiet) {
    for (const auto& finding : preflight(session.hosts, session.backend.name, world))
      spdlog::warn("{}; consequence: {} (`ncclprobe doctor` shows more)", finding.what.text,
                   finding.cost.text);
    warn_of_other_environments(session);
    say_what_is_coming(session, *plan);
  }
  return lead(world, session, job, std::move(plan), supervisor, progress);
}

} // namespace

base::Destination report_file(const RunOptions& options) {
  const std::filesystem::path file = options.output.value_or("");
  const auto overwrite = options.force ? base::Overwrite::yes : base::Overwrite::no;
  const std::string suffix = file.extension();
  return suffix == ".json" || suffix == ".csv" || suffix == ".html"
             ? base::Destination{file, overwrite}
             : base::Destination{};
}

int run_job(const World& world, Session& session, const Job& job) {
  launch::SupervisorOptions how;
  how.program = session.worker;
  how.cpus_of_rank = session.cpus_of_rank;
  how.host_cpus = session.host_cpus;
  how.devices_per_worker = *job.options.devices_per_worker;
  how.on_trace = [&](const model::TrialSpec& spec, std::span<const launch::ClockReading> clock,
                     const std::function<void()>& send_heartbeat) {
    return launch::store_traces(session.layout, session.fleet->rank(),
                                *job.options.devices_per_worker, spec, clock, send_heartbeat);
  };
  try {
    return session.fleet->rank() == 0 ? plan_and_lead(world, session, job, std::move(how))
                                      : follow(session, std::move(how));
  } catch (const std::exception& error) {
    // Leaving in order would wait for supervisors that wait for us.
    session.fleet->abort(give_up_after(error));
    throw; // g++ does not see that abort() never returns
  }
}

} // namespace ncclprobe::cli
