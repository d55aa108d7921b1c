// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_cells.h"

#include "launch/cli/common/workload_options.h"
#include "launch/cli/job/default_job.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

// A collective, or a whole step on all ranks.
bool is_target(const model::Cell& cell, int ranks) {
  const model::StepLabel* step = cell.label.step();
  return !step || (step->parts == model::StepParts::all &&
                   step->ranks.size() == static_cast<std::size_t>(ranks));
}

} // namespace

Result<std::vector<model::Cell>> TuneCells::cells_of(const RunOptions& given) const {
  RunOptions run = given;
  fill_defaults(run, session_->backend.name, session_->hosts, session_->layout.ranks());
  NCCLPROBE_TRY_ASSIGN(workload::PlanRequest request, make_request(run, *session_, *world_));
  request.proof = workload::Proof::off;
  NCCLPROBE_TRY_ASSIGN(workload::Plan plan, workload::make_plan(request));
  std::vector<model::Cell> cells = std::move(plan.trials.front().cells);
  std::erase_if(cells,
                [&](const model::Cell& one) { return !is_target(one, session_->layout.ranks()); });
  return cells;
}

Result<TuneCells> TuneCells::make(const World& world, const Session& session,
                                  const TuneOptions& options) {
  std::vector<RunOptions> runs;
  for (const TuneTarget& target : options.targets)
    runs.push_back(run_of(target, options, session.backend.name));
  if (!options.plan_file.empty())
    runs.push_back(options);
  if (runs.empty())
    runs.push_back(run_of(SizesToTune{}, options, session.backend.name));
  TuneCells made(world, session);
  for (RunOptions& run : runs) {
    run.no_sweep = true;
    NCCLPROBE_TRY_ASSIGN(std::vector<model::Cell> cells, made.cells_of(run));
    for (model::Cell& cell : cells)
      if (std::ranges::none_of(made.targets_,
                               [&](const Target& one) { return one.cell.label == cell.label; }))
        made.targets_.push_back({run, std::move(cell)});
  }
  if (made.targets_.empty())
    return fail({Errc::invalid_argument, "there is nothing to tune: no cell has all ranks",
                 "name a collective or a training step with --for"});
  return made;
}

std::vector<model::Cell> TuneCells::all() const {
  std::vector<model::Cell> cells;
  for (const Target& one : targets_)
    cells.push_back(one.cell);
  return cells;
}

std::vector<model::CellLabel> TuneCells::labels() const {
  std::vector<model::CellLabel> labels;
  for (const Target& one : targets_)
    labels.push_back(one.cell.label);
  return labels;
}

std::vector<workload::TuningTarget> TuneCells::targets() const {
  std::vector<workload::TuningTarget> all;
  for (const Target& one : targets_) {
    workload::TuningTarget target;
    if (const auto* collective = one.cell.label.collective())
      target.collective = collective->collective;
    if (const auto* step = one.cell.label.step())
      target.step = step->options.pattern;
    all.push_back(target);
  }
  return all;
}

Result<model::Cell> TuneCells::with(std::size_t target,
                                    const std::vector<model::Setting>& step_options) {
  if (step_options.empty())
    return targets_.at(target).cell;
  auto [place, is_new] =
      made_.try_emplace({target, model::label_of(step_options)}, targets_.at(target).cell);
  if (!is_new)
    return place->second;
  RunOptions run = targets_[target].run;
  const Options known = workload_options(run.workload);
  for (const model::Setting& one : step_options)
    if (auto read = find_option(known, one.name)->read(one.value); !read)
      return place->second = fail(read.error());
  place->second = cells_of(run).and_then([](std::vector<model::Cell> cells) -> Result<model::Cell> {
    if (cells.empty())
      return fail(Errc::unsupported, "the step is not possible with these options");
    return std::move(cells.front());
  });
  return place->second;
}

} // namespace ncclprobe::cli
