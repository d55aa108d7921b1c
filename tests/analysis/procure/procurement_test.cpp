// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_prediction.h"
#include "analysis/procure/nodes.h"
#include "analysis/procure/procurement.h"
#include "analysis/procure/procurement_report.h"
#include "analysis/procure/published_step.h"
#include "analysis/report/written.h"
#include "analysis/steps/step_builder.h"
#include "support/catch.h"
#include "support/run_builder.h"
#include "workload/models/catalogue.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::procure;
using namespace ncclprobe::analysis_test;
using namespace ncclprobe::support;

namespace {

const Difference& difference(const Procurement& all, Quantity quantity) {
  auto found = std::ranges::find(all.differences, quantity, &Difference::quantity);
  REQUIRE(found != all.differences.end());
  return *found;
}

bool has(const std::vector<std::string_view>& ids, std::string_view id) {
  return std::ranges::find(ids, id) != ids.end();
}

} // namespace

TEST_CASE("the faster node costs less until its price makes up for it") {
  const auto all = procurement_of(
      {node_of("fast", {run_of(around(1))}, 30), node_of("slow", {run_of(around(2))}, 20)}, {k_m});

  const StepFigure& fast = all.entry(0, 0).step;
  CHECK(fast.origin == Origin::measured);
  CHECK(fast.ranks == 2);
  CHECK(fast.samples == 16);
  CHECK(fast.observations.size() == 6);
  CHECK(*fast.step_ns == Approx(*all.entry(1, 0).step.step_ns / 2).epsilon(1e-6));
  REQUIRE(fast.efficiency); // one rank was measured too
  CHECK(*fast.efficiency < 1);
  CHECK(*fast.exposed > 0);
  CHECK(fast.account->sum() == Approx(1 - *fast.efficiency));
  const double hours = *fast.step_ns / 3.6e12;
  CHECK(*all.entry(0, 0).step_cost->value == Approx(30 * hours));
  CHECK(*all.entry(0, 0).cost->value == Approx(30 * hours * 1e6 / 16));
  const Difference& time = difference(all, Quantity::time);
  CHECK(*time.ratio == Approx(0.5).epsilon(1e-6));
  CHECK(time.verdict == Verdict::better);
  const Difference& cost = difference(all, Quantity::cost);
  CHECK(*cost.ratio == Approx(0.75).epsilon(1e-6));
  CHECK(cost.verdict == Verdict::better);
  CHECK(cost.range.low < *cost.ratio);
  CHECK(*cost.range.high > *cost.ratio);
  REQUIRE(all.turning_prices.size() == 2);
  CHECK(*all.turning_prices[0].break_even.value == Approx(40).epsilon(1e-6));
  CHECK(*all.turning_prices[1].break_even.value == Approx(15).epsilon(1e-6));
  CHECK(all.turning_prices[0].break_even.range->low < 40);
  CHECK(*all.turning_prices[0].break_even.range->high > 40);
}

TEST_CASE("equal nodes at one price are not told apart") {
  const auto all = procurement_of(
      {node_of("a", {run_of(around(1))}, 30), node_of("b", {run_of(around(1.0001))}, 30)}, {k_m});

  CHECK(difference(all, Quantity::time).verdict == Verdict::no_difference);
  const auto ids = ids_of(procurement_report(all));
  CHECK(has(ids, "costs_the_same"));
  CHECK_FALSE(has(ids, "costs_less"));
}

TEST_CASE("a difference that halves of equal processes have too is none") {
  // Even and odd processes of one node differ by 4%, the nodes by 1.5%.
  const auto all = procurement_of({node_of("a", {run_of({1, 1.04, 1, 1.04, 1, 1.04})}, 30),
                                   node_of("b", {run_of(std::vector<double>(40, 1.06))}, 30)},
                                  {k_m});

  const Difference& time = difference(all, Quantity::time);
  REQUIRE(time.floor);
  CHECK(*time.floor == Approx(1.04).epsilon(1e-6));
  CHECK(time.verdict != Verdict::better);
}

TEST_CASE("too few processes leave the order open") {
  const auto all = procurement_of(
      {node_of("a", {run_of({1, 1.001})}, 30), node_of("b", {run_of({2, 2.001})}, 30)}, {k_m});

  const Difference& time = difference(all, Quantity::time);
  CHECK(time.verdict == Verdict::not_decided);
  REQUIRE(id_of(time.why_not_decided) == "too_few_processes");
  CHECK(time.why_not_decided->values == Object{{"least", 5U}});
  CHECK(has(ids_of(procurement_report(all)), "cost_not_decided"));
}

TEST_CASE("one process has no interval") {
  const auto all =
      procurement_of({node_of("a", {run_of({1})}, 30), node_of("b", {run_of({2})}, 30)}, {k_m});

  CHECK_FALSE(all.entry(0, 0).step.range_ns->high);
  CHECK_FALSE(difference(all, Quantity::time).p);
  CHECK(difference(all, Quantity::time).verdict == Verdict::not_decided);
}

TEST_CASE("with three runs of a node, runs are the sample, and their scatter is in the intervals") {
  const std::vector<model::Run> runs{run_of(around(1)), run_of(around(1.05)), run_of(around(0.95))};
  const auto all =
      procurement_of({node_of("three", runs, 30), node_of("one", {runs[0]}, 30)}, {k_m});

  const StepFigure &three = all.entry(0, 0).step, &one = all.entry(1, 0).step;
  CHECK(three.between_runs);
  CHECK(three.observations.size() == 3);
  CHECK(*three.range_ns->high / three.range_ns->low >
        10 * (*one.range_ns->high / one.range_ns->low - 1) + 1);
  const Report report = procurement_report(all);
  const auto found = findings(report);
  CHECK(std::ranges::count_if(
            found, [](const Finding* finding) { return finding->kind->id == "few_runs"; }) == 1);
}

TEST_CASE("a setting of the runs can stand for a node") {
  RunBuilder run(2);
  for (double scale : around(1)) {
    add_trial(run, scale);
    add_trial(run, 3 * scale, {{"NCCL_P2P_DISABLE", "1"}});
  }
  NodeType direct = node_of("direct", {run}, 30), through_host = node_of("through host", {run}, 30);
  through_host.setting = "NCCL_P2P_DISABLE=1";

  const auto all = procurement_of({direct, through_host}, {k_m});

  CHECK(*difference(all, Quantity::time).ratio == Approx(1 / 3.0).epsilon(1e-6));
}

TEST_CASE("what a node did not measure is unknown, with the reason, and so is its cost") {
  const auto all =
      procurement_of({node_of("a", {run_of(around(1))}, 30), node_of("b", {run_of(around(1))}, 30)},
                     {{.model = "gpt2-124m"}});

  CHECK(all.entry(0, 0).step.origin == Origin::unknown);
  CHECK_THAT(all.entry(0, 0).step.why_unknown,
             ContainsSubstring("add that run to the runs of the node") &&
                 !ContainsSubstring("--tflops") && !ContainsSubstring("--also"));
  CHECK_FALSE(all.entry(0, 0).cost);
  CHECK(all.differences.empty());
  const Report report = procurement_report(all);
  CHECK(has(ids_of(report), "step_unknown"));
  CHECK(has(ids_of(report), "cost_unknown"));
  CHECK(json_of(report, "steps")[0]["step_ms"].is_null());
}

TEST_CASE("one unknown workload leaves the mix unknown, but not the other workload") {
  const auto all =
      procurement_of({node_of("a", {run_of(around(1))}, 30), node_of("b", {run_of(around(2))}, 30)},
                     {k_m, {.model = "gpt2-124m"}});

  CHECK(all.entry(0, 0).cost);
  CHECK_FALSE(all.mix_cost[0]);
  CHECK(all.turning_prices.empty());
  CHECK(difference(all, Quantity::cost).workload == std::size_t{0});
}

TEST_CASE("a mix of workloads weighs their samples") {
  RunBuilder run = run_of(around(1));
  for (std::size_t i = 0; i < run.trials.size(); ++i)
    add_step_cell(run.trials[i], {.label = {.model = "n", .ranks = {0, 1}, .batch = 8},
                                  .lengths = {lengths(5), lengths(5)}});
  const auto all =
      procurement_of({node_of("a", {run}, 30)}, {{.model = "m", .weight = 3}, {.model = "n"}});

  REQUIRE(all.mix_cost[0]);
  CHECK(*all.mix_cost[0]->value ==
        Approx((3 * *all.entry(0, 0).cost->value + *all.entry(0, 1).cost->value) / 4));
}

TEST_CASE("published rates give limits: nothing of the kind is faster") {
  const auto all = procurement_of({published_t4()}, {k_linear});
  const StepFigure& step = all.entry(0, 0).step;

  REQUIRE(step.origin == Origin::published);
  CHECK(step.samples == 4 * 64);
  CHECK_FALSE(step.step_ns); // never a bare number
  CHECK_FALSE(step.range_ns->high);
  const auto model = *workload::make_model("linear:1024x4");
  const auto flops = cost_model::flops_of(model);
  const double products_ns = (flops.forward + flops.backward) * 64 / 65e12 * 1e9;
  const double optimizer_ns = static_cast<double>(model.parameter_count()) * 22 / 320;
  CHECK(step.range_ns->low >= 0.999 * (products_ns + optimizer_ns));
  // No link is faster than PCIe 3 x16, and gradients must cross it.
  CHECK(step.range_ns->low >= static_cast<double>(model.parameter_count()) * 2 * 1.5 / 15.75);
  CHECK_FALSE(all.entry(0, 0).cost->value);
  CHECK_FALSE(all.entry(0, 0).cost->range.high);
  const Report report = procurement_report(all);
  CHECK(has(ids_of(report), "not_measured"));
  CHECK_THAT(text_of(report), ContainsSubstring("at least"));
  CHECK(json_of(report, "steps")[0]["from"] == "published");
}

TEST_CASE(
    "the peak of tensor cores comes from the tables, by type, unless the user states a rate") {
  NodeType node{.name = "H200", .published = true};
  node.gpu = *gpu_in_question("H200 SXM5");
  node.gpu.count = 8;

  CHECK(rates_of(node, model::StepType::bf16).flops_per_s->best == 989e12);
  CHECK(rates_of(node, model::StepType::tf32).flops_per_s->best == 494.5e12);
  CHECK_FALSE(rates_of(node, model::StepType::f32).flops_per_s); // not by tensor cores
  CHECK(procurement_of({node}, {k_linear}).entry(0, 0).step.origin == Origin::published);
  node.rates.flops_per_s = PublishedRate{700e12, {}, "measured by others"};
  CHECK(rates_of(node, model::StepType::bf16).flops_per_s->best == 700e12);
}

TEST_CASE("energy comes from NVML's counter where every GPU has it, and the report says so") {
  for (const bool counted : {true, false}) {
    RunBuilder run = run_of(around(1));
    for (model::TrialRecord& trial : run.trials)
      for (int rank : {0, 1})
        for (int second : {0, 2}) {
          model::Condition one{.rank = rank, .at_ns = second * std::int64_t{1'000'000'000}};
          one.when = second == 0 ? model::Condition::When::before : model::Condition::When::after;
          one.power_mw = 500'000;
          if (counted)
            one.energy_mj = 1000 + second * 400'000U;
          trial.cells[1].conditions.push_back(one);
        }
    const auto all = procurement_of({node_of("a", {run}, 30)}, {k_m});
    const StepFigure& step = all.entry(0, 0).step;

    CHECK(step.power_source ==
          (counted ? PowerOrigin::energy_counter : PowerOrigin::power_readings));
    const double watts = counted ? 800 : 1000; // of two GPUs
    CHECK(step.gpus_w->low == Approx(watts));
    const auto row = json_of(procurement_report(all), "steps")[0];
    CHECK(row["power_from"] == (counted ? "energy_counter" : "power_readings"));
    CHECK(row["energy_per_step_j"][0].get<double>() < watts * *step.step_ns / 1e9);
    CHECK(row["energy_per_step_j"][1].get<double>() > watts * *step.step_ns / 1e9);
  }
}

TEST_CASE("worst rates, where all are stated, are the other end") {
  NodeType node = published_t4();
  node.rates.flops_per_s->worst = 24e12;
  node.rates.bus_gb_per_s = PublishedRate{12, 4, "an estimate"};
  node.rates.memory_gb_per_s = PublishedRate{320, 200, "an estimate"};
  CHECK_FALSE(procurement_of({node}, {k_linear}).entry(0, 0).step.range_ns->high);
  node.rates.most_latency_ns = 50'000;
  const auto all = procurement_of({node}, {k_linear});
  const StepFigure& step = all.entry(0, 0).step;

  REQUIRE(step.range_ns->high);
  CHECK(*step.range_ns->high > 2 * step.range_ns->low);
  CHECK(step.efficiency_range->low > 0);
  CHECK(*step.efficiency_range->high < 1);
  CHECK(step.exposed_range->low < *step.exposed_range->high);
}

TEST_CASE("limits decide an order where they are apart, and say when they overlap") {
  NodeType fast = published_t4(), slow = published_t4();
  fast.name = "fast";
  fast.rates = {.flops_per_s = PublishedRate{300e12, 200e12, "x"},
                .bus_gb_per_s = PublishedRate{300, 200, "x"},
                .memory_gb_per_s = PublishedRate{2000, 1500, "x"},
                .most_latency_ns = 20'000};
  slow.name = "slow";
  auto all = procurement_of({fast, slow}, {k_linear});

  CHECK(difference(all, Quantity::time).verdict == Verdict::better);
  CHECK_FALSE(difference(all, Quantity::time).p);
  CHECK_FALSE(difference(all, Quantity::time).ratio);

  all = procurement_of({slow, published_t4()}, {k_linear});
  CHECK(difference(all, Quantity::time).verdict == Verdict::not_decided);
}

TEST_CASE("nothing is guessed for a node without a rate, or a workload without its batch") {
  NodeType node = published_t4();
  node.rates.flops_per_s.reset();
  CHECK_THAT(procurement_of({node}, {k_linear}).entry(0, 0).step.why_unknown,
             ContainsSubstring("tflops"));
  Workload vague = k_linear;
  vague.batch.reset();
  CHECK_THAT(procurement_of({published_t4()}, {vague}).entry(0, 0).step.why_unknown,
             ContainsSubstring("batch"));
}

TEST_CASE("a node that nobody measured trains with the batch and type that others measured") {
  RunBuilder run(2);
  for (double scale : around(1)) {
    auto trial = run.trial();
    add_step_cell(*trial, {.label = {.model = "linear:1024x4", .ranks = {0, 1}, .batch = 8},
                           .lengths = {lengths(scale), lengths(scale)}});
  }
  const auto all = procurement_of({published_t4(), node_of("measured", {run}, 30)},
                                  {{.model = "linear:1024x4"}});

  REQUIRE(all.entry(0, 0).step.origin == Origin::published);
  CHECK(all.entry(0, 0).step.request->batch == 8);
  CHECK(all.entry(0, 0).step.request->type == all.entry(1, 0).step.request->type);
}

TEST_CASE("costs are not compared where only one of them includes power") {
  NodeType paying = node_of("paying", {run_of(around(1))}, 0);
  paying.price = {.purchase = 70'000, .years = 4, .per_kwh = 0.25};
  NodeType other = node_of("other", {run_of(around(2))}, 0);
  other.price = {.purchase = 60'000, .years = 4};
  const auto all = procurement_of({paying, other}, {k_m});

  CHECK(std::ranges::find(all.differences, Quantity::cost, &Difference::quantity) ==
        all.differences.end());
  CHECK(all.turning_prices.empty());
  const auto json = json_of(procurement_report(all));
  CHECK(values_of(json, "unlike_costs")["other"] == "other");
  CHECK(values_of(json, "costs_less").is_null());
  other.price.per_kwh = 0.25;
  CHECK(difference(procurement_of({paying, other}, {k_m}), Quantity::cost).verdict ==
        Verdict::better);
  // Rent includes it.
  CHECK(difference(procurement_of({paying, node_of("rented", {run_of(around(2))}, 30)}, {k_m}),
                   Quantity::cost)
            .range.low > 0);
}

TEST_CASE("a setting that no run has, and a model that is not known, are mistakes") {
  NodeType node = node_of("a", {run_of(around(1))}, 30);
  node.place = "nodes.toml:1";
  CHECK(check_inputs({node}, {k_m}));
  node.setting = "X=1";
  const auto no_setting = check_inputs({node}, {k_m});
  REQUIRE_FALSE(no_setting);
  CHECK(no_setting.error().message ==
        "nodes.toml:1: node 'a': none of its runs has the setting 'X=1'");
  CHECK(no_setting.error().hint == "they have: default");
  const auto no_model = check_inputs({published_t4()}, {{.model = "gpt", .place = "nodes.toml:9"}});
  REQUIRE_FALSE(no_model);
  CHECK_THAT(no_model.error().message, ContainsSubstring("nodes.toml:9: workload 'ddp:gpt': "));
}

TEST_CASE("tables for people have no underscores, and memory as in data sheets") {
  const auto all = procurement_of(
      {node_of("a", {run_of({1, 1.01})}, 30), node_of("b", {run_of({1.01, 1})}, 30)}, {k_m});
  const std::string text = text_of(procurement_report(all));

  CHECK_THAT(text, ContainsSubstring("not decided"));
  CHECK_THAT(text, !ContainsSubstring("not_decided"));
  CHECK_THAT(text, ContainsSubstring("141.00")); // of a H200
}

TEST_CASE("made-up numbers are marked wherever they appear, and never called measured") {
  RunBuilder run = run_of(around(1));
  run.header.synthetic = true;
  const Report report = procurement_report(procurement_of({node_of("a", {run}, 30)}, {k_m}));

  CHECK(has(ids_of(report), "synthetic_numbers"));
  CHECK(json_of(report, "synthetic") == true);
  CHECK_THAT(text_of(report), ContainsSubstring("[SYNTHETIC]"));
  CHECK_THAT(written(report, Format::csv), ContainsSubstring("a,ddp:m,synthetic,"));
  CHECK_THAT(written(report, Format::csv), !ContainsSubstring(",measured,"));
  CHECK_THAT(written(report, Format::json), !ContainsSubstring("\"measured\""));
  for (const Format format : {Format::table, Format::markdown})
    CHECK_THAT(written(report, format), !ContainsSubstring("  measured") &&
                                            !ContainsSubstring("| measured") &&
                                            !ContainsSubstring("\"measured\""));
}

TEST_CASE("a step that synthetic runs could not predict is marked as well") {
  RunBuilder run = run_of(around(1));
  run.header.backend = "synthetic";
  const Workload other{.model = "linear:1024x4"};
  const auto all = procurement_of({node_of("a", {run}, 30)}, {other});

  REQUIRE(all.entry(0, 0).step.origin == Origin::unknown);
  CHECK_THAT(text_of(procurement_report(all)), ContainsSubstring("SYNTHETIC NUMBERS"));
  CHECK_THAT(written(procurement_report(all), Format::csv),
             ContainsSubstring(all.entry(0, 0).step.why_unknown.substr(0, 20)));
}

TEST_CASE("of nodes, only those of the synthetic backend are called so") {
  RunBuilder run = run_of(around(1));
  run.header.synthetic = true;
  const Report report =
      procurement_report(procurement_of({node_of("a", {run}, 30), published_t4()}, {k_m}));
  CHECK_THAT(text_of(report), ContainsSubstring("SYNTHETIC NUMBERS of a: "));
}

TEST_CASE("a synthetic node is not compared with a measured one") {
  RunBuilder made_up = run_of(around(1));
  made_up.header.synthetic = true;
  NodeType model = node_of("model", {made_up}, 30);
  model.place = "nodes.toml:1";
  const NodeType real = node_of("real", {run_of(around(1))}, 30);

  const auto refused = check_inputs({real, model}, {k_m});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "nodes.toml:1: node 'model' has runs of the synthetic backend, 'real' has measured runs: "
        "these cannot be compared");
  CHECK(refused.error().hint == "measure all nodes, or none");
  CHECK_FALSE(check_inputs({node_of("both", {made_up, run_of(around(1))}, 30)}, {k_m}));
  CHECK(check_inputs({model, published_t4()}, {k_m}));
}
