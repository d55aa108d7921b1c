// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/doctor_survey.h"

#include "base/clock.h"
#include "base/name_ranks.h"
#include "base/version.h"
#include "model/document.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

model::Survey survey_here(const World& world, const DoctorOptions& options,
                          const SurveyedJob& job) {
  launch::WorkerProgram program = with_libraries(job.worker, options.libraries);
  if (options.backend == "host")
    program.arguments.push_back("--no-gpus");
  if (!options.python.empty())
    program.arguments.insert(program.arguments.end(), {"--python", options.python});
  model::SurveyScope scope = job.first_here ? model::SurveyScope::host : model::SurveyScope::rank;
  Result<model::Survey> survey = launch::take_survey(program, scope, k_survey_patience);
  std::string problem;
  if (!survey) {
    problem = survey.error().text();
    program.arguments.push_back("--no-gpus");
    survey = launch::take_survey(program, scope, k_survey_patience);
  }
  model::Survey found = survey ? std::move(*survey) : model::Survey{};
  launch::SupervisorReport self = report_of_this_host(world);
  if (!survey) {
    found.inventory.hostname = self.hostname;
    found.inventory.boot_id = self.boot_id;
    found.taken_utc = base::utc_now();
    // It was not the GPUs that silenced it.
    found.worker_problem = survey.error().text();
    found.worker_mismatch = survey.error().code == base::Errc::protocol;
  } else if (!problem.empty()) {
    found.inventory.nvidia_problem = problem;
    found.problem = problem;
  }
  found.mpi = started_by_launcher(world) ? job.fleet->description() : "";
  found.ncclprobe = base::version_and_build();
  if (!job.worker.chosen_because.empty() && program.path == job.worker.path) {
    found.worker_program = program.path.filename();
    found.worker_chosen_because = job.worker.chosen_because;
  }
  found.ranks = {job.fleet->rank()};
  return found;
}

Result<void> same_arguments(const std::vector<launch::SupervisorReport>& reports) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    if (reports[rank].arguments != reports.front().arguments)
      ranks.push_back(static_cast<int>(rank));
  if (ranks.empty())
    return {};
  return base::fail(
      base::Error{base::Errc::mismatch,
                  fmt::format("the arguments of {} differ from rank 0's", base::name_ranks(ranks)),
                  "give every rank of the mpirun line the same arguments"});
}

} // namespace

Result<std::vector<model::Survey>> gather(launch::Fleet& fleet, const model::Survey& own) {
  std::vector<model::Survey> all;
  NCCLPROBE_TRY_ASSIGN(const auto texts, fleet.all_gather(model::write_json(own)));
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(model::Survey one, model::parse_json<model::Survey>(text));
    all.push_back(std::move(one));
  }
  return all;
}

Result<void> survey_all(const World& world, const DoctorOptions& options, SurveyedJob& job) {
  NCCLPROBE_TRY_ASSIGN(job.fleet, join_fleet(world));
  launch::Fleet& fleet = *job.fleet;
  NCCLPROBE_TRY_ASSIGN(const auto texts,
                       fleet.all_gather(encode_report(report_of_this_host(world))));
  for (const std::string& text : texts) {
    NCCLPROBE_TRY_ASSIGN(auto report, launch::decode_report(text));
    job.reports.push_back(std::move(report));
  }
  NCCLPROBE_TRY(same_arguments(job.reports));
  if (auto checked = launch::check_launcher(world.environment_by_name, fleet.size()); !checked)
    job.launcher_problem = checked.error().message;

  job.worker = worker_program(world);
  std::vector<int> numbers = launch::host_numbers(job.reports);
  auto me = static_cast<std::size_t>(fleet.rank());
  job.first_here =
      std::find(numbers.begin(), numbers.end(), numbers[me]) == numbers.begin() + fleet.rank();
  NCCLPROBE_TRY_ASSIGN(job.surveys, gather(fleet, survey_here(world, options, job)));
  for (std::size_t i = 0; i < job.surveys.size(); ++i)
    if (numbers[i] == static_cast<int>(job.hosts.size()))
      job.hosts.push_back(job.surveys[i].inventory);
  return {};
}

} // namespace ncclprobe::cli
