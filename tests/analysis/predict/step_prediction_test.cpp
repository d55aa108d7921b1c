// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_prediction.h"
#include "analysis/predict/step_runs.h"
#include "analysis/statistics/statistics.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/step_cells.h"

#include <cmath>
#include <random>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::cost_model;
using namespace ncclprobe::analysis_test;
using model::StepPattern;
using workload::StepRequest;

namespace {

StepRequest request_for(StepPattern pattern, const char* model = "linear:256x8") {
  StepRequest request;
  request.pattern = pattern;
  request.model = *workload::make_model(model);
  request.batch = 64;
  if (pattern == StepPattern::ddp)
    request.bucket_bytes = 600'000;
  return request;
}

struct Measured {
  explicit Measured(const StepRequest& request, const std::vector<int>& ranks = {1, 2, 4, 8},
                    const std::vector<double>& scales = {1, 1.001})
      : run(known_run(request, ranks, scales)), pooled(setting_results(run)),
        results(steps::step_results(run, pooled)) {}
  model::Run run;
  std::vector<SettingResult> pooled;
  std::vector<steps::StepResult> results;
};

} // namespace

TEST_CASE("Steps on more ranks are predicted as they would be") {
  for (StepPattern pattern : {StepPattern::ddp, StepPattern::fsdp}) {
    const StepRequest request =
        request_for(pattern, pattern == StepPattern::ddp ? "linear:256x8" : "gpt2-124m:2");
    const Measured measured(request, {1, 2, 4, 8}, {1, 1});

    auto base = measured_base(measured.run, measured.results, request, 8);
    REQUIRE(base.has_value());
    auto predicted =
        predict(*base, TransferCosts(known_points({2, 4, 8}), 64), 32, {.ranks_per_node = 64});

    CHECK(base->source == "measured at 8 ranks");
    CHECK(predicted.step_ns == Approx(known_step_ns(request, 32)).epsilon(0.001));
    CHECK(predicted.efficiency ==
          Approx(known_step_ns(request, 1) / known_step_ns(request, 32)).epsilon(0.001));
    CHECK(predicted.unknown.empty());
  }
}

namespace {

// Shared by the ranks, and every operation takes 5 us besides.
model::Run strong_run(const StepRequest& request, const std::vector<int>& ranks) {
  return simulated_run(request, ranks, 3, 2,
                       [](int process, const model::StepLabel& label, const model::Schedule&) {
                         const double scale = 1 + 0.001 * process;
                         return launched_times(static_cast<int>(label.ranks.size()), scale, 5000);
                       });
}

} // namespace

TEST_CASE("In strong scaling the fixed part of operations stays as it is") {
  StepRequest request = request_for(StepPattern::ddp);
  request.scaling = model::Scaling::strong;
  auto predicted_from = [&](const std::vector<int>& ranks) {
    model::Run run = strong_run(request, ranks);
    const auto pooled = setting_results(run);
    const auto results = steps::step_results(run, pooled);
    auto base = measured_base(run, results, request, 8);
    REQUIRE(base.has_value());
    return predict(*base, TransferCosts(known_points({2, 4}), 64), 16, {64, {}});
  };

  const Predicted three = predicted_from({1, 2, 4}), two = predicted_from({2, 4}),
                  one = predicted_from({4});

  const double happens_ns = step_ns(step_on(request, 16), launched_times(16, 1.001, 5000));
  CHECK(three.step_ns == Approx(happens_ns).epsilon(0.001));
  REQUIRE(three.step_interval_ns.has_value());
  CHECK(three.step_interval_ns->low <= happens_ns);
  CHECK(three.step_interval_ns->high >= happens_ns);
  CHECK(two.step_ns == Approx(happens_ns).epsilon(0.001)); // but nothing checks the line
  // A single rank, which computes its backward pass in one stretch, follows the line too.
  CHECK(two.efficiency == Approx(three.efficiency).epsilon(0.01));
  REQUIRE(id_of(two.why_no_interval) == "unknown_sizes");
  CHECK(two.why_no_interval->values == Object{{"ranks", 16}});
  CHECK(one.step_ns < 0.95 * happens_ns);
  CHECK(id_of(one.why_no_interval) == "unknown_sizes");
}

TEST_CASE("Times that are stated of a whole batch tell nothing of a part, but a rate does") {
  StepRequest request = request_for(StepPattern::ddp);
  request.bucket_view = true;
  request.scaling = model::Scaling::strong;
  const Measured measured(request_for(StepPattern::ddp));
  const auto rates = measured_rates(measured.run, measured.results);
  const TransferCosts transfers(known_points({2, 4}), 64);
  StatedCompute compute{10e6, 20e6, 0, "as stated"};

  const Predicted of_time = predict(*stated_base(request, compute, rates), transfers, 4, {64, {}});
  compute.basis = StatedCompute::Basis::rate;
  const Predicted of_rate = predict(*stated_base(request, compute, rates), transfers, 4, {64, {}});
  const Predicted of_model = predict(*rated_base(request, rates), transfers, 4, {64, {}});

  CHECK(id_of(of_time.why_no_interval) == "unknown_sizes");
  CHECK(of_rate.step_interval_ns.has_value());
  CHECK_FALSE(of_model.step_interval_ns.has_value());
}

TEST_CASE("The largest step is predicted from the smaller ones") {
  const StepRequest request = request_for(StepPattern::ddp);
  const Measured measured(request);

  auto held = held_out(measured.run, measured.results, known_points({2, 4, 8}), request, {8, {}});

  REQUIRE(held.has_value());
  CHECK(held->predicted.ranks == 8);
  CHECK(held->from_ranks == std::vector{2, 4});
  CHECK(held->error() == Approx(0).margin(0.001));
}

TEST_CASE("Beyond a node the wires between nodes must be told of, and widen the interval") {
  const StepRequest request = request_for(StepPattern::ddp);
  const Measured measured(request);
  auto base = measured_base(measured.run, measured.results, request, 8);
  REQUIRE(base.has_value());
  const TransferCosts transfers(known_points({2, 4, 8}), 8);

  auto without = predict(*base, transfers, 16, {8, {}});
  auto exact = predict(*base, transfers, 16, {8, InterNodeRange{{5, 5000}, {5, 5000}}});
  auto range = predict(*base, transfers, 16, {8, InterNodeRange{{4, 6000}, {6, 4000}}});

  CHECK(id_of(without.why_not) == "unknown_transfer");
  CHECK_THAT(in_words(without.why_not), ContainsSubstring("--inter-node"));
  REQUIRE(exact.step_interval_ns.has_value());
  REQUIRE(range.step_interval_ns.has_value());
  CHECK(exact.from_inter_node == 0);
  CHECK(range.from_inter_node > 0.01);
  CHECK(range.step_interval_ns->high > exact.step_interval_ns->high);
  CHECK(range.step_interval_ns->low < exact.step_interval_ns->low);
}

TEST_CASE("An interval that cannot be known is refused with the reason") {
  const StepRequest request = request_for(StepPattern::ddp);
  const Measured once(request, {1, 2, 4}, {1});
  const Measured twice(request, {1, 4});
  const TransferCosts all(known_points({2, 4}), 64), one_number(known_points({4}), 64);

  auto of_one = predict(*measured_base(once.run, once.results, request, 8), all, 8, {64, {}});
  auto of_four =
      predict(*measured_base(twice.run, twice.results, request, 8), one_number, 8, {64, {}});
  auto good = predict(*measured_base(twice.run, twice.results, request, 8), all, 8, {64, {}});

  CHECK(id_of(of_one.why_no_interval) == "one_process");
  REQUIRE(id_of(of_four.why_no_interval) == "one_number_of_ranks");
  CHECK(of_four.why_no_interval->values == Object{{"collective", "all_reduce"}, {"ranks", 4}});
  CHECK_FALSE(good.why_no_interval);
  CHECK(good.step_interval_ns.has_value());
}

TEST_CASE("A model that was not measured is computed from its architecture and stated times") {
  const StepRequest request = request_for(StepPattern::ddp, "gpt2-124m:2");

  auto base = stated_base(request, {10e6, 20e6, 1e6, "as stated"});
  REQUIRE(base.has_value());
  auto predicted = predict(*base, TransferCosts(known_points({2, 4}), 64), 4, {64, {}});

  CHECK(base->alone_ns == Approx(31e6));
  CHECK(predicted.step_ns > 31e6);
  CHECK(predicted.unknown == std::vector<std::string>{"prepare"}); // copies into buckets
  REQUIRE(id_of(predicted.why_no_interval) == "unknown_activities");
  CHECK(predicted.why_no_interval->values == Object{{"activities", "prepare"}});
}

TEST_CASE("What is stated as a range widens the interval, and the run knows of copies") {
  const Measured measured(request_for(StepPattern::ddp));
  const auto rates = measured_rates(measured.run, measured.results);
  const TransferCosts transfers(known_points({2, 4}), 64);
  const StepRequest request = request_for(StepPattern::ddp, "linear:512x4");

  auto exact =
      predict(*stated_base(request, {10e6, 20e6, 0, "as stated"}, rates), transfers, 4, {64, {}});
  auto range = predict(*stated_base(request, {{9e6, 11e6}, {18e6, 22e6}, 0, "as stated"}, rates),
                       transfers, 4, {64, {}});

  CHECK(exact.unknown.empty());
  CHECK(exact.from_computing == Approx(0).margin(1e-12));
  REQUIRE(range.step_interval_ns.has_value());
  CHECK(range.from_computing == Approx(3e6 / range.step_ns).epsilon(0.05));
  // A single rank computes slower by the same factor.
  REQUIRE(range.efficiency_interval.has_value());
  CHECK(range.efficiency_interval->high - range.efficiency_interval->low <
        range.efficiency * (range.step_interval_ns->high - range.step_interval_ns->low) /
            range.step_ns / 2);
}

TEST_CASE("A model that was not measured computes at the rates of one that was") {
  const Measured measured(request_for(StepPattern::ddp), {1, 2, 4}, {1, 1.01});
  const TransferCosts transfers(known_points({2, 4}), 64);
  const StepRequest request = request_for(StepPattern::ddp, "linear:512x4");

  auto base = rated_base(request, measured_rates(measured.run, measured.results));
  REQUIRE(base.has_value());
  auto predicted = predict(*base, transfers, 8, {64, {}});

  CHECK(base->ranks == 0);
  CHECK_THAT(base->source, ContainsSubstring("by the rates of ddp linear:256x8"));
  CHECK_THAT(base->source, ContainsSubstring("at 4 ranks: 0.0995 Tflop/s forward"));
  CHECK(predicted.step_ns == Approx(known_step_ns(request, 8)).epsilon(0.01));
  CHECK(predicted.unknown.empty());
}

TEST_CASE("How rates change with the size of products is known from several sizes") {
  auto rates_at = [](double of_large) {
    WorkCosts works;
    works.set_rate(model::Activity::forward, Work::Kind::product, of_large);
    works.set_rate(model::Activity::backward, Work::Kind::product, 0.01);
    return works;
  };
  const Measured one(request_for(StepPattern::ddp), {1}),
      two(request_for(StepPattern::ddp, "linear:512x4"), {1}, {1.2, 1.2});
  auto rates = measured_rates(one.run, one.results);
  auto larger = measured_rates(two.run, two.results);
  REQUIRE(rates.size() == 1);

  auto of_one = spread_of_rates(rates);
  rates.insert(rates.end(), larger.begin(), larger.end());
  auto of_both = spread_of_rates(rates);

  CHECK_FALSE(of_one.value_or(0) > 0.001); // none, or all alike
  REQUIRE(of_both.has_value());
  CHECK(*of_both > std::log(1.2) / 2);
  CHECK(rates_in_words(rates_at(0.02)) == "0.05 Tflop/s forward and 0.1 backward");
}

TEST_CASE("What replays are off by is part of the interval, and too much of it refuses one") {
  const StepRequest request = request_for(StepPattern::ddp);
  const Measured measured(request);
  auto base = measured_base(measured.run, measured.results, request, 8);
  REQUIRE(base.has_value());
  const TransferCosts transfers(known_points({2, 4, 8}), 64);
  const auto exact = predict(*base, transfers, 16, {64, {}});
  const double replayed_ns = replayed(*base, transfers, {64, {}})->step_ns;

  base->measured.step_ns = replayed_ns / 0.95;
  const auto off = predict(*base, transfers, 16, {64, {}});
  base->held_out_error = -0.2;
  const auto held = predict(*base, transfers, 16, {64, {}});
  base->measured.step_ns = replayed_ns / 1.65;
  const auto far = predict(*base, transfers, 16, {64, {}});

  CHECK(exact.from_replay < 0.001);
  CHECK(off.from_replay == Approx(0.05));
  CHECK(off.step_interval_ns->high - off.step_ns >= 0.05 * off.step_ns);
  CHECK(held.from_replay == Approx(0.2));
  CHECK_FALSE(far.step_interval_ns.has_value());
  CHECK(id_of(far.why_no_interval) == "replay_is_off");
  CHECK_THAT(in_words(far.why_no_interval), ContainsSubstring("off by +65.0%"));
}

TEST_CASE("Rates of a step that cannot be replayed give no interval") {
  const Measured fsdp(request_for(StepPattern::fsdp), {1, 4}, {1, 1.01});
  auto base = rated_base(request_for(StepPattern::ddp), measured_rates(fsdp.run, fsdp.results));
  REQUIRE(base.has_value());
  base->half_width = 0.01;
  std::vector<Point> reductions = known_points({2, 4});
  const auto all = predict(*base, TransferCosts(reductions, 64), 4, {64, {}});
  std::erase_if(reductions, [](const Point& point) {
    return point.collective != model::Collective::all_reduce; // ddp's, not fsdp's
  });

  const auto predicted = predict(*base, TransferCosts(reductions, 64), 4, {64, {}});

  CHECK_FALSE(predicted.why_not);
  CHECK(id_of(predicted.why_no_interval) == "no_replay");
  CHECK(all.step_interval_ns.has_value());
}

TEST_CASE("A step needs the collectives of its pattern") {
  CHECK(collectives_of(request_for(StepPattern::pipeline), 4) ==
        std::set{model::Collective::send_recv});
  CHECK(collectives_of(request_for(StepPattern::fsdp), 4) ==
        std::set{model::Collective::all_gather, model::Collective::reduce_scatter});
}

TEST_CASE("Ranks that share a model's layers compute their part of what was stated") {
  StepRequest request = request_for(StepPattern::tp, "gpt2-124m:2");
  auto base = stated_base(request, {10e6, 20e6, 0, "as stated"});
  REQUIRE(base.has_value());

  auto predicted = predict(*base, TransferCosts(known_points({2, 4}), 64), 4, {64, {}});

  CHECK(predicted.step_ns - predicted.exposed_ns == Approx(30e6 / 4).epsilon(0.01));
  CHECK(predicted.efficiency == Approx(30e6 / 4 / predicted.step_ns).epsilon(0.01));
}

TEST_CASE("What a pattern cannot do on so many ranks is said") {
  auto base = stated_base(request_for(StepPattern::pipeline), {10e6, 20e6, 0, "as stated"});
  REQUIRE(base.has_value());

  auto predicted = predict(*base, TransferCosts(known_points({2, 4}), 64), 512, {64, {}});

  CHECK(id_of(predicted.why_not) == "impossible_step");
  CHECK_THAT(in_words(predicted.why_not), ContainsSubstring("8 stages"));
}

namespace {

// Simulated measurements with scatter: each number of ranks has a separate error factor, each size
// a small one, and each process a random speed. How often does the 95% interval from measurements
// on 2, 4 and 8 ranks of a node contain one process on 16?
struct Coverage {
  int covered = 0, worlds = 0;
  double mean_half_width = 0;
  double share() const { return static_cast<double>(covered) / worlds; }
};

Coverage simulate(bool processes_are_known) {
  StepRequest request = request_for(StepPattern::ddp, "linear:256x6");
  const InterNode true_wires{5, 5000};
  std::mt19937_64 engine(7);
  // Sums of uniforms: the same on every library.
  auto normal = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i)
      sum += static_cast<double>(engine() >> 11) / 9007199254740992.0;
    return sum;
  };
  auto factor = [&](double deviation) { return std::exp(deviation * normal()); };
  const std::vector<int> node(8, 0);
  std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  auto program = StepProgram::of(*workload::make_step(request, {.world = 8, .ranks = all}), node);
  REQUIRE(program.has_value());
  StepBase base{.request = request, .ranks = 8, .program = *program};
  using enum model::Activity;
  base.works.set_rate(forward, Work::Kind::product, 0.01);
  base.works.set_rate(backward, Work::Kind::product, 0.01);
  base.works.set_rate(prepare, Work::Kind::conversion, 0.001);
  base.works.set_rate(optimizer, Work::Kind::optimizer, 0.02);
  base.alone_ns = base.alone_samples = 1;
  REQUIRE(base.works.of(*program).unknown.empty());
  const TransferCosts truth(known_points({2, 4, 8}), 8);
  auto step_at = [&](const StepProgram& on, double transfer_factor, double work_factor,
                     const std::optional<InterNode>& wires) {
    std::vector<double> transfers, times;
    for (const Transfer& one : on.transfers())
      transfers.push_back(truth.of(one, wires)->ns * transfer_factor);
    for (double work : base.works.of(on).ns)
      times.push_back(work * work_factor);
    return on.replay(transfers, times);
  };
  std::vector<int> more(16), nodes;
  for (int rank = 0; rank < 16; ++rank) {
    more[static_cast<std::size_t>(rank)] = rank;
    nodes.push_back(rank / 8);
  }
  auto larger = StepProgram::of(*workload::make_step(request, {.world = 16, .ranks = more}), nodes);
  REQUIRE(larger.has_value());
  Coverage out;
  for (out.worlds = 0; out.worlds < 250; ++out.worlds) {
    std::vector<Point> points;
    std::map<int, double> of_number;
    for (int number : {2, 4, 8, 16})
      of_number[number] = factor(0.02);
    for (Point point : known_points({2, 4, 8}))
      if (point.collective == model::Collective::all_reduce) {
        point.time_ns *= of_number[point.ranks] * factor(0.01);
        points.push_back(point);
      }
    std::vector<double> steps, rests;
    for (int process = 0; process < 5; ++process) {
      const auto times = step_at(*program, of_number[8], factor(0.02), {});
      steps.push_back(times.step_ns);
      rests.push_back(times.computing_ns);
    }
    base.measured.step_ns = median(steps);
    base.half_width = processes_are_known ? half_width_of(rests) : std::optional(0.0);
    // The user's figures are somewhere around the truth.
    const double rate = 5 * factor(0.05), latency = 5000 * factor(0.1);
    const InterNodeRange said{{rate * 0.9, latency * 1.2}, {rate * 1.1, latency * 0.8}};
    const double happens = step_at(*larger, of_number[16], factor(0.02), true_wires).step_ns;

    const Predicted predicted = predict(base, TransferCosts(points, 8), 16, {8, said});

    REQUIRE(predicted.step_interval_ns.has_value());
    const Interval& interval = *predicted.step_interval_ns;
    out.covered += interval.low <= happens && happens <= interval.high;
    out.mean_half_width += (interval.high - interval.low) / 2 / predicted.step_ns / 250;
  }
  return out;
}

} // namespace

TEST_CASE("The 95% interval holds about 95% of what happens") {
  const Coverage known = simulate(true);
  const Coverage unknown = simulate(false);

  INFO(known.share() << " of the worlds, +-" << known.mean_half_width << "; without processes "
                     << unknown.share());
  CHECK(known.share() >= 0.91);
  CHECK(known.share() < 1);
  CHECK(known.mean_half_width < 0.2);
  // Proof that this test can fail: the interval without the scatter of processes.
  CHECK(unknown.share() < known.share());
}
