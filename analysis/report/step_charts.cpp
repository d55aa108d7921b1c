// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_charts.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/label_words.h"

namespace ncclprobe::analysis {
namespace {

using steps::BucketTimes;
using steps::Loss;
using steps::ScalingPoint;
using steps::StepResult;
using steps::StepTimes;

struct StepPart {
  const StepResult* step;
  const char* name;
  double StepTimes::*time_ns;
};

struct BucketPart {
  const BucketTimes* bucket;
  std::size_t number; // in the order of the step
  const char* name;
  Interval span_ns; // since the step's start
};

struct LossPart {
  const ScalingPoint* point;
  Loss loss;
};

} // namespace

Chart parts_chart(const std::vector<const StepResult*>& steps) {
  std::vector<StepPart> parts;
  for (const StepResult* step : steps)
    if (!step->processes.empty())
      for (auto [name, member] : {std::pair("forward", &StepTimes::forward_ns),
                                  std::pair("backward", &StepTimes::backward_ns),
                                  std::pair("optimizer", &StepTimes::optimizer_ns),
                                  std::pair("preparation", &StepTimes::prepare_ns),
                                  std::pair("uncovered wait", &StepTimes::exposed_wait_ns),
                                  std::pair("uncovered transfer", &StepTimes::exposed_transfer_ns),
                                  std::pair("uncovered input copy", &StepTimes::exposed_copy_ns),
                                  std::pair("idle", &StepTimes::idle_ns)})
        parts.push_back({step, name, member});
  using Row = const StepPart&;
  TableOf<StepPart> table(std::move(parts));
  table.add("step", [](Row part) { return step_scope(part.step->step); }).titled("step");
  table.add("part", &StepPart::name).titled("part");
  table.add("time_ms", [](Row part) { return six_digits(part.step->times.*part.time_ns / 1e6); })
      .titled("ms", {Unit::milliseconds});
  return {.kind = ChartKind::bars,
          .title = "Where the time of a step goes",
          .table = table.table(),
          .x = "time_ms",
          .y = "step",
          .series = "part"};
}

Chart buckets_chart(const StepResult& step) {
  std::vector<BucketPart> parts;
  for (std::size_t i = 0; i < step.buckets.size(); ++i) {
    const BucketTimes& one = step.buckets[i];
    const double transfer_begin_ns = std::max(one.begin_ns, one.end_ns - one.transfer_ns);
    for (auto [name, begin_ns, end_ns] :
         {std::tuple("ready, not begun", one.ready_ns, one.begin_ns),
          std::tuple("waits for other ranks", one.begin_ns, transfer_begin_ns),
          std::tuple("transfer", transfer_begin_ns, one.end_ns)})
      if (end_ns > begin_ns)
        parts.push_back({&one, i + 1, name, {begin_ns, end_ns}});
  }
  using Row = const BucketPart&;
  TableOf<BucketPart> table(std::move(parts));
  table
      .add("bucket",
           [](Row part) { return fmt::format("{}. {}", part.number, part.bucket->label); })
      .titled("bucket");
  table.add("part", &BucketPart::name).titled("part");
  table.add("span_ms", [](Row part) { return interval_value(part.span_ns, 1e6); })
      .titled("ms since the step began", {Unit::milliseconds})
      .interval();
  return {.kind = ChartKind::spans,
          .title = "When each bucket waits and is transferred",
          .table = table.table(),
          .y = "bucket",
          .series = "part",
          .interval = "span_ms"};
}

std::vector<Chart> scaling_charts(const steps::Scaling& scaling) {
  using Point = const ScalingPoint*;
  std::vector<Point> points;
  std::vector<LossPart> losses;
  for (const ScalingPoint& point : scaling.points) {
    points.push_back(&point);
    if (&point != &scaling.points.front())
      for (std::size_t i = 0; i < steps::k_losses; ++i)
        losses.push_back({&point, static_cast<Loss>(i)});
  }
  TableOf<Point> efficiency(std::move(points));
  efficiency.add("ranks", &ScalingPoint::ranks).titled("ranks");
  efficiency.add("kind", [&scaling](Point) { return scaling.kind; }).titled("scaling");
  efficiency.add("efficiency", [](Point point) { return six_digits(point->efficiency.value); })
      .titled("efficiency", {Unit::percent});
  efficiency
      .add("interval",
           [](Point point) {
             const Interval* interval = telling(point->efficiency);
             return interval ? interval_value(*interval) : Value();
           })
      .titled("interval", {Unit::percent})
      .interval();
  TableOf<LossPart> account(std::move(losses));
  account
      .add("ranks",
           [](const LossPart& part) {
             return count_of(static_cast<std::size_t>(part.point->ranks), "rank", "ranks");
           })
      .titled("ranks");
  account.add("loss", &LossPart::loss).titled("lost to");
  account
      .add("share",
           [](const LossPart& part) { return six_digits(part.point->account.of(part.loss)); })
      .titled("part of the step time", {Unit::percent});
  return {{.kind = ChartKind::curve,
           .title = "Efficiency over the number of ranks",
           .table = efficiency.table(),
           .x = "ranks",
           .y = "efficiency",
           .series = "kind",
           .interval = "interval",
           .lines = {{"nothing lost", 1}}},
          {.kind = ChartKind::bars,
           .title = "Loss account: what the lost part of the step time went to",
           .table = account.table(),
           .x = "share",
           .y = "ranks",
           .series = "loss"}};
}

} // namespace ncclprobe::analysis
