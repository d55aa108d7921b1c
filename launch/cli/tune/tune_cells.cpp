// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_cells.h"

#include "base/log.h"
#include "base/name_ranks.h"
#include "base/text_layout.h"
#include "launch/cli/common/workload_options.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/replay/captured_job.h"
#include "workload/replay_shapes.h"
#include "workload/replay_step.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

// Of a collective beside the step that it belongs to: the step's time decides about the settings.
constexpr double k_weight_of_a_part = 1e-4;

constexpr std::size_t k_most_named_groups = 4;

// Says which collectives of the job get no rows of their own in the tuner table.
void tell_groups_without_shape(const model::CapturedStep& step) {
  const std::vector<std::vector<int>> groups = workload::groups_without_shape(step);
  if (groups.empty())
    return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(groups.size(), k_most_named_groups); ++i)
    names.push_back(base::name_ranks(groups[i]));
  if (groups.size() > k_most_named_groups)
    names.push_back(fmt::format("{} more groups", groups.size() - k_most_named_groups));
  spdlog::warn("the tuner table gets no rows for the collectives of these groups, because their "
               "ranks are not neighbours: {}. They are tuned as part of the step only",
               base::join(names, "; "));
}

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

Result<void> TuneCells::add(RunOptions run, double weight) {
  run.no_sweep = true;
  NCCLPROBE_TRY_ASSIGN(std::vector<model::Cell> cells, cells_of(run));
  for (model::Cell& cell : cells)
    if (std::ranges::none_of(targets_,
                             [&](const Target& one) { return one.cell.label == cell.label; }))
      targets_.push_back({run, std::move(cell), weight});
  return {};
}

Result<void> TuneCells::add_job(const JobToTune& job, const RunOptions& options) {
  const int ranks = session_->layout.ranks();
  RunOptions run = run_of(job, options, session_->backend.name);
  fill_defaults(run, session_->backend.name, session_->hosts, ranks);
  NCCLPROBE_TRY_ASSIGN(const workload::PlanRequest request, make_request(run, *session_, *world_));
  NCCLPROBE_TRY_ASSIGN(model::CapturedStep step, step_to_replay({.path = job.path}, ranks));
  if (step.replayed.size() != static_cast<std::size_t>(ranks))
    return fail(
        {Errc::invalid_argument,
         fmt::format("{} has {} ranks, and {} would be tuned", job.path.string(),
                     step.replayed.size(), ranks),
         fmt::format("start it with --ranks {0}, or mpirun -np {0}", step.replayed.size())});
  NCCLPROBE_TRY_ASSIGN(std::vector<model::Cell> cells,
                       workload::make_replay_cells(step, step.replayed, ranks, request.timing,
                                                   request.cell_deadline_ns,
                                                   free_device_bytes(*session_)));
  targets_.push_back({run, std::move(cells.front()), 1});
  for (const workload::ReplayedShape& shape : workload::replayed_shapes(step)) {
    RunOptions part = run_of(SizesToTune{shape.collective, {}}, options, session_->backend.name);
    part.sizes = std::vector<std::uint64_t>{};
    part.counts = std::vector{shape.count};
    part.types = std::vector{shape.type};
    part.splits = std::vector{shape.split};
    NCCLPROBE_TRY(add(std::move(part), k_weight_of_a_part));
  }
  tell_groups_without_shape(step);
  captured_.push_back(std::move(step));
  return {};
}

Result<TuneCells> TuneCells::make(const World& world, const Session& session,
                                  const TuneOptions& options) {
  TuneCells made(world, session);
  for (const TuneTarget& target : options.targets)
    if (const auto* job = std::get_if<JobToTune>(&target)) {
      NCCLPROBE_TRY(made.add_job(*job, options));
    } else {
      NCCLPROBE_TRY(made.add(run_of(target, options, session.backend.name), 1));
    }
  if (!options.plan_file.empty())
    NCCLPROBE_TRY(made.add(options, 1));
  else if (options.targets.empty())
    NCCLPROBE_TRY(made.add(run_of(SizesToTune{}, options, session.backend.name), 1));
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

std::vector<double> TuneCells::weights() const {
  std::vector<double> weights;
  for (const Target& one : targets_)
    weights.push_back(one.weight);
  return weights;
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
  const model::StepLabel* step = targets_.at(target).cell.label.step();
  const bool is_replay = step && step->options.pattern == model::StepPattern::replay;
  if (step_options.empty() || is_replay) // a replay has none of them
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
