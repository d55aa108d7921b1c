// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/step_cells.h"

#include "base/number_list.h"
#include "workload/ddp_step.h"
#include "workload/fsdp_step.h"
#include "workload/pipeline_step.h"
#include "workload/plan.h"
#include "workload/schedule_rules.h"
#include "workload/tensor_parallel.h"

#include <algorithm>

namespace ncclprobe::workload {
namespace {

using namespace model;

Result<Cell> make_cell(const StepRequest& request, const StepScope& scope, const Timing& timing) {
  NCCLPROBE_TRY_ASSIGN(const StepRequest own, request_on(request, scope.ranks));
  Cell cell;
  NCCLPROBE_TRY_ASSIGN(cell.schedule, make_step(own, scope));
  NCCLPROBE_TRY(check_schedule(cell.schedule, scope.world));
  std::uint64_t most = 0;
  for (int rank : scope.ranks)
    most = std::max(most, given_bytes(cell.schedule, rank, scope.world));
  cell.label = {.what = StepLabel{request.of_pattern(), request.model.name, scope.ranks,
                                  scope.parts, own.batch, request.model.sequence},
                .bytes = most,
                .type = data_type(request.type),
                .placement = Placement::in_place};
  cell.timing = timing;
  cell.timing.mode = TimingMode::steps;
  return cell;
}

std::vector<StepParts> parts_for(const StepRequest& request, int ranks) {
  std::vector<StepParts> parts{StepParts::all};
  if (ranks > 1 && request.compute.kind != StepCompute::Kind::none)
    parts.push_back(StepParts::compute);
  if (ranks > 1)
    parts.push_back(StepParts::communication);
  if (request.input_copy.bytes > 0)
    parts.push_back(StepParts::copy);
  return parts;
}

Result<void> check_ranks(const std::vector<int>& ranks, int world) {
  std::vector<int> sorted = ranks;
  std::ranges::sort(sorted);
  if (sorted.empty() || sorted.front() < 0 || sorted.back() >= world ||
      std::ranges::adjacent_find(sorted) != sorted.end())
    return fail(Errc::invalid_argument, "'{}' is not a set of the ranks 0 to {}",
                base::format_number_list(ranks), world - 1);
  return {};
}

} // namespace

Result<Schedule> make_step(const StepRequest& request, const StepScope& scope) {
  if (request.launch == Launch::graph && request.input_copy.bytes > 0 &&
      request.input_copy.from == Memory::pageable_host)
    return fail(
        Errc::unsupported,
        "graphs copy from pinned memory: the calling thread stages copies from pageable memory");
  if (request.found_inf && request.pattern != StepPattern::ddp &&
      request.pattern != StepPattern::fsdp)
    return fail(Errc::unsupported, "found_inf is shared in steps of ddp and fsdp, not of {}",
                model::to_string(request.pattern));
  switch (request.pattern) {
  case StepPattern::ddp:
  case StepPattern::tp:
  case StepPattern::ddp_tp:
  case StepPattern::moe:
    return make_ddp_step(request, scope);
  case StepPattern::fsdp:
  case StepPattern::fsdp_tp:
    return make_fsdp_step(request, scope);
  case StepPattern::pipeline:
    return make_pipeline_step(request, scope);
  case StepPattern::replay: // made from a capture (replay_step.h)
    break;
  }
  return fail(Errc::unsupported, "this pattern has no steps");
}

Result<StepRequest> request_on(const StepRequest& request, const std::vector<int>& ranks) {
  StepRequest own = request;
  NCCLPROBE_TRY_ASSIGN(const RankGrid grid, make_rank_grid(request, ranks));
  auto count = static_cast<std::uint64_t>(grid.replicas());
  if (request.scaling == Scaling::weak)
    return own;
  if (request.batch % count != 0)
    return fail(Errc::unsupported, "a batch of {} cannot be shared by {} replicas of the model",
                request.batch, count);
  own.batch = request.batch / count;
  // The given time is for all samples on one replica.
  own.compute.backward_ns /= static_cast<std::int64_t>(count);
  return own;
}

Result<StepRequest> request_of(const StepLabel& label, ModelSpec model) {
  StepRequest request{label.options, std::move(model), label.batch};
  if (request.scaling == Scaling::strong) {
    NCCLPROBE_TRY_ASSIGN(const RankGrid grid, make_rank_grid(request, label.ranks));
    request.batch *= static_cast<std::uint64_t>(grid.replicas());
  }
  return request;
}

Result<StepCells> make_step_cells(const StepMeasurement& measurement, int world,
                                  const Timing& timing) {
  StepCells made;
  for (const StepRequest& request : measurement.steps)
    for (const std::vector<int>& ranks : measurement.rank_sets) {
      NCCLPROBE_TRY(check_ranks(ranks, world));
      std::string name = fmt::format("{} of {} on ranks {}", model::to_string(request.pattern),
                                     request.model.name, base::format_number_list(ranks));
      for (StepParts parts : parts_for(request, static_cast<int>(ranks.size()))) {
        auto cell = make_cell(request, {world, ranks, parts}, timing);
        if (!cell && cell.error().code == Errc::unsupported) {
          made.left_out.push_back(fmt::format("{}: {}", name, cell.error().message));
          break;
        }
        if (!cell)
          return fail(cell.error());
        std::uint64_t bytes = peak_bytes({*cell});
        if (measurement.memory_bytes && bytes > *measurement.memory_bytes) {
          made.left_out.push_back(
              fmt::format("{}: {:.1f} GiB of buffers, {:.1f} GiB are free", name,
                          static_cast<double>(bytes) / (1 << 30),
                          static_cast<double>(*measurement.memory_bytes) / (1 << 30)));
          break;
        }
        auto same = [&](const Cell& other) { return other.label == cell->label; };
        if (std::ranges::none_of(made.cells, same))
          made.cells.push_back(std::move(*cell));
      }
    }
  return made;
}

Timing step_timing(std::string_view backend) {
  Timing timing;
  timing.warmups = 3;
  timing.iterations = 10;
  timing.batches = 5;
  timing.budget_ns = backend == "host" ? 3'000'000'000 : 20'000'000'000;
  timing.mode = TimingMode::steps;
  return timing;
}

std::uint64_t given_bytes(const Schedule& schedule, int rank, int world) {
  std::uint64_t sum = 0;
  // Its position in the communicator, or the number of members.
  auto place = [&](int communicator) {
    std::vector<int> members = members_of(schedule.communicators[communicator], world);
    auto found = std::ranges::find(members, rank);
    return std::pair(static_cast<int>(found - members.begin()), static_cast<int>(members.size()));
  };
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const Operation& operation = schedule.operations[i];
    if (!names_rank(operation.ranks, rank))
      continue;
    if (const auto* op = std::get_if<CollectiveOp>(&operation.what)) {
      auto [own, size] = place(op->communicator);
      if (own < size)
        sum += op->count * size_bytes(op->type) *
               static_cast<std::uint64_t>(block_counts(op->collective, size).send);
    } else if (const auto* send = std::get_if<SendOp>(&operation.what)) {
      auto [own, size] = place(send->communicator);
      if (own < size)
        sum += send->count.at(own) * size_bytes(send->type);
    }
  }
  return sum;
}

} // namespace ncclprobe::workload
