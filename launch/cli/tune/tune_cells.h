// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launch/cli/job/session.h"
#include "launch/cli/tune/tune_command.h"
#include "workload/tuning_space.h"

#include <map>
#include <utility>
#include <vector>

namespace ncclprobe::cli {

// The cells that are made faster: one for each target.
class TuneCells {
public:
  // Errors: those of the options, of a plan file and of the machine; invalid_argument without any
  // cell.
  static Result<TuneCells> make(const World& world, const Session& session,
                                const TuneOptions& options);

  std::vector<model::Cell> all() const;
  std::vector<model::CellLabel> labels() const; // of all
  std::vector<workload::TuningTarget> targets() const;
  std::vector<double> weights() const; // search::Target::weight
  const std::vector<model::CapturedStep>& captured() const { return captured_; } // replayed

  // The cell of a target under these options of training steps ("bucket", "50M"). Errors: as above,
  // if the step is not possible with them.
  Result<model::Cell> with(std::size_t target, const std::vector<model::Setting>& step_options);

private:
  struct Target {
    RunOptions run; // measures it, perhaps among others
    model::Cell cell;
    double weight = 1;
  };
  TuneCells(const World& world, const Session& session) : world_(&world), session_(&session) {}
  Result<std::vector<model::Cell>> cells_of(const RunOptions& run) const;
  Result<void> add(RunOptions run, double weight);
  // The replayed step, and its collectives alone, which a tuner table needs.
  Result<void> add_job(const JobToTune& job, const RunOptions& options);

  const World* world_;
  const Session* session_;
  std::vector<Target> targets_;
  std::vector<model::CapturedStep> captured_;
  std::map<std::pair<std::size_t, std::string>, Result<model::Cell>> made_; // by what was asked
};

} // namespace ncclprobe::cli
