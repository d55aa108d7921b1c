// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/doctor/doctor_command.h"
#include "launch/cli/job/session.h"
#include "model/survey.h"

#include <chrono>

namespace ncclprobe::cli {

// A driver that hangs does not hold the examination: the rest can be reported without it.
constexpr std::chrono::seconds k_survey_patience{60};

// Everybody's survey, the same on all supervisors, and what a trial needs to be run on them.
struct SurveyedJob {
  std::unique_ptr<launch::Fleet> fleet;
  std::vector<launch::SupervisorReport> reports; // by supervisor
  std::vector<model::Survey> surveys;            // by supervisor
  std::vector<model::HostInventory> hosts;       // by number of the host
  bool first_here = true;                        // of this host's supervisors
  std::string launcher_problem;
  launch::WorkerProgram worker;
};

// Joins the fleet and surveys every rank. Nothing that is wrong with the machine is an error.
// Errors: mismatch, if the ranks were started with different arguments.
base::Result<void> survey_all(const World& world, const DoctorOptions& options, SurveyedJob& job);

// Everybody's `own`, by supervisor. Errors: protocol.
base::Result<std::vector<model::Survey>> gather(launch::Fleet& fleet, const model::Survey& own);

} // namespace ncclprobe::cli
