// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/cost_model/step_runs.h"

#include "analysis/run_builder.h"
#include "workload/step_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace ncclprobe::analysis_test {
namespace {

using model::Collective;

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The marks of one step, and when it ends.
std::vector<std::pair<int, double>> marks_of(const model::Schedule& schedule, int ranks,
                                             double scale) {
  std::vector<std::pair<int, double>> marks;
  std::map<int, double> now, events;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const auto& what = schedule.operations[static_cast<std::size_t>(i)].what;
    if (auto* one = std::get_if<model::GemmOp>(&what))
      now[one->stream] += scale * 2 * static_cast<double>(one->m * one->n * one->k) / 100;
    else if (auto* copy = std::get_if<model::ConvertOp>(&what))
      now[copy->stream] += scale * static_cast<double>(copy->count) / 100;
    else if (auto* optimizer = std::get_if<model::OptimizerOp>(&what))
      now[optimizer->stream] += scale * static_cast<double>(optimizer->count) / 50;
    else if (auto* call = std::get_if<model::CollectiveOp>(&what)) {
      const auto blocks = model::block_counts(call->collective, ranks);
      now[call->stream] +=
          known_transfer_ns(call->collective, ranks,
                            call->count * size_bytes(call->type) *
                                static_cast<std::uint64_t>(std::max(blocks.send, blocks.receive)));
    } else if (auto* record = std::get_if<model::RecordEventOp>(&what))
      events[record->event] = now[record->stream];
    else if (auto* wait = std::get_if<model::WaitEventOp>(&what))
      now[wait->stream] = std::max(now[wait->stream], events[wait->event]);
    else if (auto* marker = std::get_if<model::MarkerOp>(&what))
      marks.emplace_back(i, now[marker->stream]);
  }
  return marks;
}

} // namespace

double known_transfer_ns(Collective collective, int ranks, std::uint64_t bytes) {
  const double n = ranks, passes = collective == Collective::all_reduce ? 2 : 1;
  return 5000 + passes * (n - 1) * 1000 + passes * (n - 1) / n * static_cast<double>(bytes) / 20;
}

double known_step_ns(const workload::StepRequest& request, int ranks, double scale) {
  auto schedule = workload::make_step(request, {.world = ranks, .ranks = first_ranks(ranks)});
  return marks_of(*schedule, ranks, scale).back().second;
}

model::Run known_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                     const std::vector<double>& scales) {
  constexpr int k_steps = 2;
  const int world = *std::max_element(ranks.begin(), ranks.end());
  model::Run run = make_gpu_run(world);
  std::vector<std::vector<int>> sets;
  for (int count : ranks)
    sets.push_back(first_ranks(count));
  auto made = workload::make_step_cells({.steps = {request}, .rank_sets = sets}, world, {});
  for (std::size_t process = 0; process < scales.size(); ++process) {
    auto trial = make_trial(
        {.id = static_cast<int>(process), .replicate = static_cast<int>(process), .ranks = world});
    for (const model::Cell& cell : made->cells) {
      const auto label = workload::read_step_label(cell.label);
      const int count = static_cast<int>(label->ranks.size());
      const auto marks = marks_of(cell.schedule, count, scales[process]);
      model::CellRecord record;
      record.check.kind = model::CheckResult::Kind::checked;
      for (int rank = 0; rank < count; ++rank) {
        for (int step = 0; step < k_steps; ++step)
          for (const auto& [operation, at_ns] : marks)
            record.marks.push_back(
                {rank, 0, step, operation, std::llround(at_ns + step * marks.back().second)});
        record.samples.push_back({.rank = rank,
                                  .batch = 0,
                                  .iterations = k_steps,
                                  .elapsed_ns = record.marks.back().at_ns});
      }
      add_cell(trial, cell, std::move(record));
    }
    run.trials.push_back(std::move(trial));
  }
  return run;
}

std::vector<analysis::cost_model::Point> known_points(const std::vector<int>& ranks) {
  std::vector<analysis::cost_model::Point> points;
  for (auto collective :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter})
    for (int count : ranks)
      for (std::uint64_t bytes = 1 << 16; bytes <= 1 << 26; bytes *= 4)
        points.push_back({.collective = collective,
                          .ranks = count,
                          .bytes = bytes,
                          .time_ns = known_transfer_ns(collective, count, bytes)});
  return points;
}

} // namespace ncclprobe::analysis_test
