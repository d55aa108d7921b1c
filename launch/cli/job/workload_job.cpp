// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/workload_job.h"

#include "workload/models/model_file.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

using workload::StepRequest;

std::vector<int> rank_counts(const RunOptions& options, int world) {
  if (options.workload.rank_counts)
    return *options.workload.rank_counts;
  std::vector<int> counts;
  for (int count = 1; count < world; count *= 2)
    counts.push_back(count);
  counts.push_back(world);
  return counts;
}

topology::Distances distances(const Session& session) {
  topology::Machine machine;
  for (const model::HostInventory& host : session.hosts)
    machine.hosts.push_back(host.topology);
  std::vector<topology::RankHome> homes;
  for (const launch::RankPlacement& placement : session.layout.placements) {
    topology::RankHome home{placement.host, std::nullopt};
    if (session.backend.name == "nvidia")
      home.gpu = topology_gpu(session.hosts.at(placement.host), placement.device);
    homes.push_back(home);
  }
  return rank_distances(machine, homes);
}

// Makes every combination of the values, without options that the pattern does not have.
std::vector<StepRequest> requests(const RunOptions& options, const workload::ModelSpec& model) {
  const WorkloadOptions& said = options.workload;
  std::vector<StepRequest> all(1);
  StepRequest& first = all.front();
  first.model = model;
  first.batch = k_default_batch;
  first.memory = options.registered ? model::Memory::registered : model::Memory::plain;
  auto vary = [&](const auto& values, auto member) {
    if (!values)
      return;
    std::vector<StepRequest> longer;
    for (const StepRequest& one : all)
      for (const auto& value : *values)
        (longer.emplace_back(one)).*member = value;
    all = std::move(longer);
  };
  for_each_value(
      said,
      [&](const auto& value, auto member) {
        if (value)
          first.*member = *value;
      },
      vary);
  vary(std::optional(launches(options)), &StepRequest::launch);
  auto priorities = said.priorities;
  if (priorities) // in CUDA a lower number is more urgent
    std::ranges::transform(*priorities, priorities->begin(), std::negate<>());
  vary(priorities, &StepRequest::priority);
  std::vector<model::InputCopy> copies{{}}; // their cost is measured against none
  for (const model::InputCopy& copy : said.input_copies.value_or(copies))
    if (copy.bytes > 0)
      copies.push_back(copy);
  vary(std::optional(copies), &StepRequest::input_copy);
  return all;
}

// "ddp, moe, ddp+tp"
bool is_for(const std::string& part, model::StepPattern pattern) {
  const auto known = model::parse_enum<model::StepPattern>(part, "part");
  return !known || has_part(pattern, *known);
}

// The patterns that have that part; all if `part` is empty.
std::string patterns_with(const std::string& part) {
  std::string all;
  for (const auto& [pattern, name] : enum_names(model::StepPattern{}))
    if (pattern != model::StepPattern::replay && is_for(part, pattern))
      all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  return all;
}

// The first given option that works with collectives only.
const char* of_collectives(const RunOptions& options) {
  return options.collectives  ? "--collectives"
         : options.sizes      ? "--sizes"
         : options.counts     ? "--counts"
         : options.types      ? "--types"
         : options.ops        ? "--ops"
         : options.placements ? "--placement in_place or out_of_place"
         : options.roots      ? "--roots"
         : options.offsets    ? "--offset"
         : options.splits     ? "--split"
         : options.streams    ? "--streams"
                              : nullptr;
}

} // namespace

std::vector<model::Launch> launches(const RunOptions& options) {
  return options.launches.value_or(
      std::vector{options.graph ? model::Launch::graph : model::Launch::direct});
}

Result<void> check_workload(const RunOptions& options) {
  WorkloadOptions said = options.workload;
  const Options of_workload = workload_options(said);
  if (options.graph && options.launches)
    return fail(Error{Errc::invalid_argument, "--graph and --launch exclude each other",
                      "--launch direct,graph measures both"});
  if (!said.pattern) {
    std::string of_steps = said.rank_counts ? "several numbers of --ranks are"
                           : said.placement ? "--placement nearest or spread is"
                                            : "";
    for (const Option& one : of_workload)
      if (!one.write().empty() && one.name != "comm-priority")
        of_steps = one.label() + " is";
    if (!of_steps.empty())
      return fail(Error{Errc::invalid_argument, of_steps + " for training steps",
                        "add --workload ddp, or leave it out"});
    if (options.mode == model::TimingMode::steps)
      return fail(Error{Errc::invalid_argument, "--mode steps is for training steps",
                        "add --workload ddp, or leave it out"});
    return {};
  }
  if (const char* name = of_collectives(options))
    return fail(Error{Errc::invalid_argument,
                      fmt::format("{} is for collectives, not for training steps", name),
                      options.types ? "the data type of a step is --type" : "leave it out"});
  if (options.mode && options.mode != model::TimingMode::steps)
    return fail(Errc::invalid_argument, "training steps are timed only with --mode steps");
  if (!said.model)
    return fail(Error{Errc::invalid_argument, "--workload needs a model",
                      "--model NAME, one of `ncclprobe models`, or --model FILE"});
  for (const Option& one : of_workload)
    if (!one.write().empty() && !is_for(one.part, *said.pattern))
      return fail(Error{Errc::invalid_argument,
                        fmt::format("{} is for {}, not for {}", one.label(),
                                    patterns_with(one.part), model::to_string(*said.pattern)),
                        "leave it out: it would change nothing"});
  return {};
}

Result<workload::StepMeasurement> make_measurement(const RunOptions& options,
                                                   const Session& session) {
  workload::ModelOptions how;
  how.sequence = options.workload.sequence.value_or(0);
  NCCLPROBE_TRY_ASSIGN(const workload::ModelSpec model,
                       workload::find_model(*options.workload.model, how));
  workload::StepMeasurement measurement;
  measurement.steps = requests(options, model);
  int world = session.layout.ranks();
  topology::Distances between = distances(session);
  auto choice = options.workload.placement.value_or(topology::RankChoice::nearest);
  for (int count : rank_counts(options, world)) {
    std::vector<int> ranks = choose_ranks(between, count, choice);
    if (ranks.empty())
      return fail(Error{Errc::invalid_argument,
                        fmt::format("--ranks {}: this run has {} ranks", count, world),
                        fmt::format("start it with mpirun -np {0}, or leave {0} out", count)});
    measurement.rank_sets.push_back(std::move(ranks));
  }
  measurement.memory_bytes = free_device_bytes(session);
  return measurement;
}

} // namespace ncclprobe::cli
