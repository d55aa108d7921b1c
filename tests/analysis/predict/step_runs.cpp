// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_runs.h"

#include "support/run_builder.h"
#include "workload/models/catalogue.h"
#include "workload/step_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace ncclprobe::analysis_test {

using namespace support;

namespace {

using model::Collective;

std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The marks of one step; the last mark is its end.
std::vector<std::pair<int, double>> marks_of(const model::Schedule& schedule,
                                             const OperationTime& time_ns) {
  std::vector<std::pair<int, double>> marks;
  std::map<int, double> now, events;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const model::Operation& operation = schedule.operations[static_cast<std::size_t>(i)];
    std::visit(
        [&](const auto& what) {
          using Op = std::decay_t<decltype(what)>;
          if constexpr (std::is_same_v<Op, model::RecordEventOp>)
            events[what.event] = now[what.stream];
          else if constexpr (std::is_same_v<Op, model::WaitEventOp>)
            now[what.stream] = std::max(now[what.stream], events[what.event]);
          else if constexpr (std::is_same_v<Op, model::MarkerOp>)
            marks.emplace_back(i, now[what.stream]);
          else if constexpr (requires { what.stream; })
            now[what.stream] += time_ns(operation);
        },
        operation.what);
  }
  return marks;
}

} // namespace

OperationTime launched_times(int ranks, double scale, double launch_ns) {
  return [=](const model::Operation& operation) -> double {
    const auto& what = operation.what;
    if (auto* one = std::get_if<model::GemmOp>(&what))
      return scale * (launch_ns + 2 * static_cast<double>(one->m * one->n * one->k) / 100);
    if (auto* copy = std::get_if<model::ConvertOp>(&what))
      return scale * (launch_ns + static_cast<double>(copy->count) / 100);
    if (auto* optimizer = std::get_if<model::OptimizerOp>(&what))
      return scale * (launch_ns + static_cast<double>(optimizer->count) / 50);
    if (auto* call = std::get_if<model::CollectiveOp>(&what))
      return known_transfer_ns(call->collective, ranks, moved_bytes(*call, ranks));
    return 0;
  };
}

double known_transfer_ns(Collective collective, int ranks, std::uint64_t bytes) {
  const double n = ranks, passes = collective == Collective::all_reduce ? 2 : 1;
  return 5000 + passes * (n - 1) * 1000 + passes * (n - 1) / n * static_cast<double>(bytes) / 20;
}

std::uint64_t moved_bytes(const model::CollectiveOp& call, int ranks) {
  const auto blocks = model::block_counts(call.collective, ranks);
  return call.count * size_bytes(call.type) *
         static_cast<std::uint64_t>(std::max(blocks.send, blocks.receive));
}

double step_ns(const model::Schedule& schedule, const OperationTime& time_ns) {
  return marks_of(schedule, time_ns).back().second;
}

model::Schedule step_on(const workload::StepRequest& request, int ranks) {
  auto own = workload::request_on(request, first_ranks(ranks));
  return *workload::make_step(*own, {.world = ranks, .ranks = first_ranks(ranks)});
}

double known_step_ns(const workload::StepRequest& request, int ranks, double scale) {
  return step_ns(step_on(request, ranks), launched_times(ranks, scale, 0));
}

model::Run known_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                     const std::vector<double>& scales) {
  return simulated_run(request, ranks, static_cast<int>(scales.size()), 2,
                       [&](int process, const model::StepLabel& label, const model::Schedule&) {
                         return launched_times(static_cast<int>(label.ranks.size()),
                                               scales[static_cast<std::size_t>(process)], 0);
                       });
}

model::Run simulated_run(const workload::StepRequest& request, const std::vector<int>& ranks,
                         int processes, int steps, const CellTimes& times) {
  const int world = *std::max_element(ranks.begin(), ranks.end());
  RunBuilder run(world);
  std::vector<std::vector<int>> sets;
  for (int count : ranks)
    sets.push_back(first_ranks(count));
  auto made = workload::make_step_cells({.steps = {request}, .rank_sets = sets}, world, {});
  for (int process = 0; process < processes; ++process) {
    auto trial = run.trial();
    for (const model::Cell& cell : made->cells) {
      const auto label = cell.label.step();
      const OperationTime time_ns = times(process, *label, cell.schedule);
      model::CellRecord record;
      record.check.checked = true;
      double begin_ns = 0;
      for (int step = 0; step < steps; ++step) {
        const auto marks = marks_of(cell.schedule, time_ns);
        for (int rank = 0; rank < static_cast<int>(label->ranks.size()); ++rank)
          for (const auto& [operation, at_ns] : marks)
            record.marks.push_back({rank, 0, step, operation, std::llround(begin_ns + at_ns)});
        begin_ns += marks.back().second;
      }
      for (std::size_t rank = 0; rank < label->ranks.size(); ++rank)
        record.samples.push_back({.rank = static_cast<int>(rank),
                                  .batch = 0,
                                  .iterations = steps,
                                  .elapsed_ns = std::llround(begin_ns)});
      trial.cell(cell, std::move(record));
    }
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

model::Run run_with_sizes(const std::vector<double>& scales) {
  workload::StepRequest request;
  request.model = *workload::make_model("linear:256x8");
  request.batch = 64;
  request.bucket_bytes = 600'000;
  model::Run run = known_run(request, {1, 2, 4}, scales);
  for (const analysis::cost_model::Point& point : known_points({4}))
    add_cell(run.trials[0], make_cell(std::string(model::to_string(point.collective)), point.bytes),
             make_record(4, static_cast<std::int64_t>(point.time_ns)));
  return run;
}

} // namespace ncclprobe::analysis_test
