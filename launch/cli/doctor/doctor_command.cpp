// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_command.h"

#include "analysis/doctor/check_results.h"
#include "analysis/doctor/doctor_report.h"
#include "analysis/doctor/library_code.h"
#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/file_kind.h"
#include "launch/cli/doctor/doctor_connections.h"
#include "launch/cli/doctor/doctor_python.h"
#include "launch/cli/doctor/doctor_questions.h"
#include "launch/cli/doctor/doctor_smoke_tests.h"
#include "launch/cli/job/stop_on_signal.h"

#include <csignal>

namespace ncclprobe::cli {
namespace {

namespace doctor = analysis::doctor;

int exit_code_of_worst(const std::vector<doctor::CheckResult>& findings) {
  switch (doctor::worst(findings)) {
  case doctor::CheckStatus::fail:
    return base::k_exit_failures;
  case doctor::CheckStatus::warn:
    return base::k_exit_warnings;
  default:
    return base::k_exit_ok;
  }
}

int present(const doctor::Case& one, const DoctorOptions& options) {
  const std::vector<doctor::CheckResult> findings = doctor::examine(one);
  return deliver(doctor::doctor_report(one, findings), options, exit_code_of_worst(findings));
}

int answer(const World& world, const DoctorOptions& options) {
  const Result<DoctorAnswer> answered = answer_question(world, options.questions);
  if (!answered) {
    const DoctorQuestions& asked = options.questions;
    give_up(with_right_command(answered.error(), asked.binary + asked.policy)); // never both
    return base::k_exit_usage;
  }
  return deliver(answered->report, options, answered->exit_code);
}

int judge_offline(const DoctorOptions& options) {
  Result<std::string> text = base::read_text(options.offline);
  if (!text) {
    give_up(with_right_command(text.error(), options.offline));
    return base::k_exit_usage;
  }
  Result<doctor::Case> one = doctor::read_case(*text);
  if (!one) {
    give_up(with_right_command(
        {base::Errc::invalid_argument,
         fmt::format("{} is not an examination: {}", options.offline, one.error().message),
         "give a file that `ncclprobe doctor --format json` wrote"},
        options.offline));
    return base::k_exit_usage;
  }
  return present(*one, options);
}

// Without mpirun one process stands for all ranks that a run would have.
void spread_ranks(const launch::Layout& layout, doctor::Case& one) {
  if (one.surveys.size() != 1)
    return;
  one.surveys.front().ranks.clear();
  for (const launch::RankPlacement& placement : layout.placements)
    one.surveys.front().ranks.push_back(placement.rank);
}

Result<doctor::Case> examine_here(const World& world, const DoctorOptions& options,
                                  SurveyedJob& job) {
  NCCLPROBE_TRY(survey_all(world, options, job));
  doctor::Case one;
  one.ncclprobe = base::version_and_build();
  one.launcher_problem = job.launcher_problem;
  one.surveys = job.surveys;
  if (!one.looked_at()) {
    one.not_tested = "the worker program does not answer";
    return one;
  }
  if (job.fleet->rank() == 0)
    one.code = doctor::read_library_code(job.surveys.front());
  if (job.fleet->rank() == 0 && !options.python.empty())
    one.torch = {ask_python(options.python, world.environment)};
  one.deep = options.deep;
  Result<TestSetup> setup = make_test_setup(world, options, job);
  if (options.deep || job.hosts.size() > 1) {
    NCCLPROBE_TRY_ASSIGN(one.connections, connect_ranks(job, setup ? setup->backend.name : ""));
  }
  if (!setup) {
    one.not_tested = setup.error().text();
    if (options.backend && *options.backend != "auto")
      one.backend = *options.backend;
    return one;
  }
  one.backend = setup->backend.name;
  one.backend_reason = setup->backend.reason;
  spread_ranks(setup->layout, one);
  if (options.no_run) {
    one.not_tested = "--no-run";
    return one;
  }
  NCCLPROBE_TRY(run_smoke_tests(world, options, job, *setup, one));
  return one;
}

} // namespace

int doctor_command(const World& world, const DoctorOptions& options) {
  if (auto possible = world.speaks ? check_destination(options.output) : Result<void>(); !possible)
    return give_up(possible.error());
  if (options.questions.any())
    return world.speaks ? answer(world, options) : base::k_exit_ok;
  if (!options.offline.empty())
    return world.speaks ? judge_offline(options) : base::k_exit_ok;
  SurveyedJob job;
  Result<doctor::Case> one = examine_here(world, options, job);
  bool leader = job.fleet ? job.fleet->rank() == 0 : world.speaks;
  if (!one)
    return leader ? give_up(one.error()) : exit_code_of(one.error());
  if (stop_signal() != 0)
    return base::k_exit_interrupted;
  return leader ? present(*one, options) : base::k_exit_ok;
}

} // namespace ncclprobe::cli
