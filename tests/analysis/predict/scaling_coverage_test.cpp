// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_runs.h"
#include "analysis/report/prediction_report.h"
#include "analysis/statistics/statistics.h"
#include "support/catch.h"
#include "support/run_builder.h"
#include "workload/models/catalogue.h"

#include <algorithm>
#include <cmath>
#include <random>

// Do the intervals of predicted steps hold, in strong and weak scaling? Steps of known models are
// simulated on machines with non-linear product times: a launch, an efficiency that falls with
// size, waves of tiles and a memory path. The prediction, in contrast, fits a line.

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;
using model::Scaling;
using model::StepPattern;
using model::StepType;
using workload::StepRequest;

namespace {

class Dice {
public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  // The same on every library: sums of uniforms are as good as normal here.
  double uniform() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }
  double between(double low, double high) { return low * std::pow(high / low, uniform()); }
  double factor(double deviation) {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += uniform();
    return std::exp(deviation * sum);
  }
  template <typename T>
  T one_of(const std::vector<T>& values) {
    return values[engine_() % values.size()];
  }

private:
  std::mt19937_64 engine_;
};

// Products as a GPU's library computes them: tiles of the result, one per processor at a time, so
// that the last wave may be nearly empty. The library takes the fastest of several tile sizes and
// splits of the inner dimension.
struct Machine {
  Machine(Dice& dice, StepType type)
      : launch_ns(dice.between(1500, 5000)), flops_per_ns(dice.between(0.7, 1) * peak(type)),
        filling(dice.between(32, 256)), memory_bytes_per_ns(dice.between(1500, 4000)),
        alpha_ns(dice.between(1000, 6000)), link_bytes_per_ns(dice.between(20, 300)),
        slowed(dice.between(0.001, 0.04)) {}

  static double peak(StepType type) {
    return type == StepType::f32 ? 50e3 : type == StepType::tf32 ? 400e3 : 800e3;
  }

  double product_ns(const model::GemmOp& one) const {
    constexpr double k_processors = 132;
    struct Tile {
      double m, n, efficiency;
    };
    const auto m = static_cast<double>(one.m), n = static_cast<double>(one.n),
               k = static_cast<double>(one.k), batch = static_cast<double>(one.batch);
    double computed_ns = HUGE_VAL;
    for (const Tile& tile :
         {Tile{256, 128, 1}, Tile{128, 128, 0.95}, Tile{128, 64, 0.8}, Tile{64, 64, 0.65}})
      for (double parts : {1, 2, 4, 8}) {
        const double tiles = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch * parts;
        const double tile_ns = 2 * tile.m * tile.n * (k / parts + filling) /
                               (tile.efficiency * flops_per_ns / k_processors);
        const double sum_ns = parts > 1 ? streamed_ns(4 * parts * m * n * batch) : 0;
        computed_ns = std::min(computed_ns, std::ceil(tiles / k_processors) * tile_ns + sum_ns);
      }
    const double moved_ns = batch * (m * k + k * n + m * n) *
                            static_cast<double>(size_bytes(one.type)) / memory_bytes_per_ns;
    return launch_ns + std::max(computed_ns, moved_ns);
  }
  double streamed_ns(double bytes) const { return launch_ns + bytes / memory_bytes_per_ns; }
  double transfer_ns(model::Collective collective, int ranks, double bytes) const {
    const double n = ranks, passes = collective == model::Collective::all_reduce ? 2 : 1;
    return 2 * launch_ns + passes * (n - 1) * alpha_ns +
           passes * (n - 1) / n * bytes / link_bytes_per_ns;
  }
  double work_ns(const model::Operation& operation) const {
    if (auto* one = std::get_if<model::GemmOp>(&operation.what))
      return product_ns(*one);
    if (auto* copy = std::get_if<model::ConvertOp>(&operation.what))
      return streamed_ns(static_cast<double>(
          copy->count * (size_bytes(copy->from_type) + size_bytes(copy->into_type))));
    if (auto* one = std::get_if<model::OptimizerOp>(&operation.what))
      return streamed_ns(static_cast<double>(one->count * (16 + 3 * size_bytes(one->type))));
    return 0;
  }

  double launch_ns, flops_per_ns;
  double filling; // of the inner dimension, so much more for each tile's begin and end
  double memory_bytes_per_ns, alpha_ns, link_bytes_per_ns;
  double slowed; // computing, while all the time something is transferred
};

struct Configuration {
  StepRequest request;
  std::vector<int> measured;
  int ranks = 0;
  int processes = 0;
};

Configuration configuration(Dice& dice, Scaling scaling) {
  Configuration out;
  StepRequest& request = out.request;
  request.pattern =
      dice.one_of<StepPattern>({StepPattern::ddp, StepPattern::ddp, StepPattern::fsdp});
  request.model = *workload::make_model(dice.one_of<const char*>(
      {"resnet50", "vit-b16:4", "gpt2-124m:3", "bert-base:3", "linear:2048x8"}));
  request.type = dice.one_of<StepType>({StepType::f32, StepType::tf32, StepType::bf16});
  request.scaling = scaling;
  request.bucket_view = dice.uniform() < 0.5;
  out.measured = dice.one_of<std::vector<int>>({{1, 2, 4}, {1, 2, 4, 8}});
  out.ranks = out.measured.back() * dice.one_of<int>({2, 4});
  out.processes = dice.one_of<int>({3, 4, 5});
  const bool is_linear = request.model.name.starts_with("linear");
  request.batch = dice.one_of<std::uint64_t>({1, 2, 4, 8}) * (is_linear ? 64 : 1);
  if (scaling == Scaling::strong)
    request.batch *= static_cast<std::uint64_t>(out.ranks);
  return out;
}

// One cell in one process.
OperationTime cell_times(const Machine& machine, Dice& dice, const model::Schedule& schedule,
                         int ranks, double process_factor) {
  const double cell_factor = process_factor * dice.factor(0.002);
  double working_ns = 0, transferring_ns = 0;
  for (int i = schedule.timed.first; i < schedule.timed.last; ++i) {
    const model::Operation& one = schedule.operations[static_cast<std::size_t>(i)];
    working_ns += machine.work_ns(one);
    if (auto* call = std::get_if<model::CollectiveOp>(&one.what))
      transferring_ns += machine.transfer_ns(call->collective, ranks,
                                             static_cast<double>(moved_bytes(*call, ranks)));
  }
  const double slowed =
      1 + (working_ns > 0 ? machine.slowed * std::min(transferring_ns / working_ns, 1.0) : 0);
  return [=, &machine, &dice](const model::Operation& one) {
    if (auto* call = std::get_if<model::CollectiveOp>(&one.what))
      return machine.transfer_ns(call->collective, ranks,
                                 static_cast<double>(moved_bytes(*call, ranks))) *
             dice.factor(0.01);
    return machine.work_ns(one) * cell_factor * slowed * dice.factor(0.02);
  };
}

// Collectives of several sizes on all ranks, as a run measures them beside its steps.
void add_sweep(model::Run& run, const Machine& machine, Dice& dice, int ranks) {
  using enum model::Collective;
  for (model::Collective collective : {all_reduce, all_gather, reduce_scatter})
    for (std::uint64_t bytes = 1 << 16; bytes <= 1 << 28; bytes *= 4)
      for (model::TrialRecord& trial : run.trials)
        add_cell(trial, make_cell(std::string(model::to_string(collective)), bytes),
                 make_record(ranks, std::llround(machine.transfer_ns(collective, ranks,
                                                                     static_cast<double>(bytes)) *
                                                 dice.factor(0.005))));
}

struct IntervalCoverage {
  int held = 0, refused = 0, of_all = 0;
  std::vector<double> half_widths;
};

IntervalCoverage simulate(Scaling scaling, int configurations) {
  IntervalCoverage out;
  for (; out.of_all < configurations; ++out.of_all) {
    Dice dice(static_cast<unsigned>(1000 * (scaling == Scaling::strong) + out.of_all));
    const Configuration one = configuration(dice, scaling);
    const Machine machine(dice, one.request.type);
    constexpr double k_processes = 0.005; // how differently fast they are
    std::vector<double> processes;
    for (int i = 0; i < one.processes; ++i)
      processes.push_back(dice.factor(k_processes));
    model::Run run = simulated_run(
        one.request, one.measured, one.processes, 4,
        [&](int process, const model::StepLabel& label, const model::Schedule& schedule) {
          return cell_times(machine, dice, schedule, static_cast<int>(label.ranks.size()),
                            processes[static_cast<std::size_t>(process)]);
        });
    add_sweep(run, machine, dice, one.measured.back());
    const model::Schedule schedule = step_on(one.request, one.ranks);
    const OperationTime times =
        cell_times(machine, dice, schedule, one.ranks, dice.factor(k_processes));
    std::vector<double> steps;
    for (int i = 0; i < 4; ++i)
      steps.push_back(step_ns(schedule, times));
    const double truth_ns = median(steps);

    auto prediction = predict(run, {.ranks = {one.ranks}, .ranks_per_node = one.ranks});

    REQUIRE(prediction.has_value());
    const cost_model::Predicted& predicted = prediction->predicted.front();
    REQUIRE(!predicted.why_not);
    if (!predicted.step_interval_ns) {
      ++out.refused;
      continue;
    }
    const Interval& interval = *predicted.step_interval_ns;
    out.held += interval.low <= truth_ns && truth_ns <= interval.high;
    out.half_widths.push_back((interval.high - interval.low) / 2 / predicted.step_ns);
  }
  return out;
}

void check_coverage(Scaling scaling, int configurations) {
  const IntervalCoverage coverage = simulate(scaling, configurations);

  CAPTURE(coverage.held, coverage.refused, median(coverage.half_widths));
  CHECK(coverage.held >= 0.92 * configurations); // refused ones do not count
  CHECK(median(coverage.half_widths) <= 0.12);
}

} // namespace

TEST_CASE("Intervals of steps in strong scaling hold what happens") {
  check_coverage(Scaling::strong, 25);
}

TEST_CASE("Intervals of steps in weak scaling hold what happens") {
  check_coverage(Scaling::weak, 25);
}

TEST_CASE("Intervals of 100 steps in strong and in weak scaling hold what happens",
          "[.simulation]") {
  check_coverage(Scaling::strong, 100);
  check_coverage(Scaling::weak, 100);
}
