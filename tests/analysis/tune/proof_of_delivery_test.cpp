// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/proof_of_delivery.h"
#include "analysis/tune/rejected_trials.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <cmath>

using namespace ncclprobe;
using namespace ncclprobe::analysis::tune;
using support::RunBuilder;

namespace {

constexpr const char* k_delivered = "NCCL_MIN_CTAS=32";
constexpr std::uint64_t k_small = 1 << 20;
constexpr std::uint64_t k_large = 4 << 20;

struct Speeds {
  double small = 1;
  double large = 1;
};

// Ten processes with the default and five with the delivery, which is that much faster. Processes
// differ by up to 1%.
model::Run run_with(const Speeds& speeds) {
  RunBuilder run(2);
  auto add = [&](bool delivered, int process) {
    auto trial = run.trial(delivered ? std::vector<model::Setting>{{"NCCL_MIN_CTAS", "32"}}
                                     : std::vector<model::Setting>{});
    const double scatter = 1 + 0.0025 * (process % 5 - 2);
    auto time_ns = [&](double default_ns, double speed) {
      return static_cast<std::int64_t>(default_ns * scatter / (delivered ? speed : 1));
    };
    trial.cell("all_reduce", k_small, time_ns(100'000, speeds.small))
        .cell("all_reduce", k_large, time_ns(300'000, speeds.large));
  };
  for (int process = 0; process < 5; ++process) {
    add(false, process);
    add(true, process);
    add(false, process + 2);
  }
  return run;
}

std::vector<ProvenTarget> targets(double weight_of_large = 1) {
  const model::CellLabel small = support::make_cell("all_reduce", k_small).label;
  const model::CellLabel large = support::make_cell("all_reduce", k_large).label;
  return {{small, small, 1}, {large, large, weight_of_large}};
}

} // namespace

TEST_CASE("a delivery that is faster everywhere is proven, with the mean of the targets") {
  const DeliveryProof proof = prove_delivery(run_with({1.1, 1.1}), targets(), k_delivered);
  REQUIRE(proof.all);
  CHECK(proof.all->ratio == Approx(1.1).epsilon(1e-3));
  CHECK(proof.default_processes == 10);
  CHECK(proof.delivery_processes == 5);
  REQUIRE(proof.each.size() == 2);
  CHECK(proof.each[1]->interval.low > 1);
  CHECK(proof.holds());
}

TEST_CASE("weights decide how much a target counts") {
  const DeliveryProof proof = prove_delivery(run_with({1.0, 1.21}), targets(3), k_delivered);
  CHECK(proof.all->ratio == Approx(std::pow(1.21, 0.75)).epsilon(1e-3));
}

TEST_CASE("a delivery that makes one target slower is not proven, whatever the others gain") {
  const DeliveryProof proof = prove_delivery(run_with({1.5, 0.9}), targets(), k_delivered);
  CHECK(proof.all->interval.low > 1);
  CHECK_FALSE(proof.holds());
}

TEST_CASE("rejected trials are no evidence: too few others prove nothing, and it is said why") {
  model::Run run = run_with({1.1, 1.1});
  std::set<int> of_delivery;
  for (const model::TrialRecord& trial : run.trials)
    if (!trial.spec.process.common.empty())
      of_delivery.insert(trial.spec.id);
  REQUIRE(of_delivery.size() == 5);
  of_delivery.erase(of_delivery.begin());
  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered, of_delivery);
  CHECK(proof.delivery_processes == 1);
  CHECK(proof.rejected == 4);
  CHECK_FALSE(proof.holds());
  CHECK(proof.disturbed);
  const DeliveryProof other = prove_delivery(run, targets(), k_delivered, {*of_delivery.begin()});
  CHECK(other.holds());
  CHECK_FALSE(other.disturbed);
}

TEST_CASE("a delivery without times of its own is not disturbed, whatever was rejected") {
  model::Run run = run_with({1.1, 1.1});
  for (model::TrialRecord& trial : run.trials)
    if (!trial.spec.is_default())
      trial.cells[1] = support::make_record(model::OutcomeKind::crashed, "signal 11");
  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered, {0});
  CHECK(proof.rejected == 1);
  CHECK_FALSE(proof.all);
  CHECK_FALSE(proof.disturbed);
}

namespace {

// The search's own numbers begin in another file.
constexpr int k_first_id = 40;

RanTrial ran(int number, TrialRole role) {
  RanTrial one{.file = "proof.h5", .number = number, .role = role};
  one.request.id = k_first_id + number;
  return one;
}

} // namespace

TEST_CASE("of a run file, rejected trials and those in which the default was off are no evidence") {
  std::vector<RanTrial> all{ran(0, TrialRole::search), ran(1, TrialRole::search),
                            ran(2, TrialRole::search), ran(3, TrialRole::search)};
  all.push_back({.file = "tune.h5", .number = 3});
  ncclprobe::analysis::search::Outcome outcome;
  outcome.rejections = {{.trial = 41, .repeated = true}, {.trial = 42, .repeated = false}};
  outcome.disturbances = {{.trial = 41}, {.trial = 43, .new_level = true}};

  const RejectedTrials out = rejected_trials(all, outcome, "proof.h5");

  CHECK(out.numbers == std::set{1, 2}); // without a delivery, a new level rejects nothing
  CHECK(out.repeated == 1);
  CHECK(rejected_trials(all, outcome, "tune.h5").numbers.empty());
}

TEST_CASE("trials of both sides before the default's last new level do not prove a delivery, "
          "whichever step it is in") {
  std::vector<RanTrial> all{ran(0, TrialRole::companion)};
  for (int number = 1; number <= 4; ++number)
    all.push_back(ran(number, TrialRole::search));
  for (int number = 5; number <= 7; ++number)
    all.push_back(ran(number, TrialRole::delivery));
  ncclprobe::analysis::search::Outcome outcome;
  outcome.disturbances = {{.trial = 42, .new_level = true}, {.trial = 43, .new_level = true}};
  CHECK(rejected_trials(all, outcome, "proof.h5").numbers == std::set{1, 2});
  outcome.disturbances.push_back({.trial = 46, .new_level = true});
  CHECK(rejected_trials(all, outcome, "proof.h5").numbers == std::set{1, 2, 3, 4, 5});
}

TEST_CASE("a machine that becomes faster before the delivery runs proves no delivery") {
  RunBuilder run(2);
  std::vector<RanTrial> all;
  auto add = [&](bool delivered, TrialRole role, double level) {
    const int number = static_cast<int>(all.size());
    auto trial = run.trial(delivered ? std::vector<model::Setting>{{"NCCL_MIN_CTAS", "32"}}
                                     : std::vector<model::Setting>{});
    const double scatter = level * (1 + 0.001 * (number % 3 - 1));
    trial.cell("all_reduce", k_small, static_cast<std::int64_t>(100'000 * scatter))
        .cell("all_reduce", k_large, static_cast<std::int64_t>(300'000 * scatter));
    all.push_back(ran(number, role));
  };
  for (int i = 0; i < 9; ++i)
    add(false, TrialRole::search, 1);
  const int first_at_level = static_cast<int>(all.size());
  add(false, TrialRole::search, 0.9); // accepted as the new level
  for (int i = 0; i < 3; ++i) {
    add(true, TrialRole::delivery, 0.9); // no faster than the default
    add(false, TrialRole::delivery, 0.9);
  }
  ncclprobe::analysis::search::Outcome outcome;
  outcome.disturbances = {{.trial = k_first_id + first_at_level, .new_level = true}};

  const auto without = rejected_trials(all, outcome, "proof.h5").numbers;

  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered, without);
  REQUIRE(proof.all);
  CHECK(proof.all->ratio == Approx(1).epsilon(0.002));
  CHECK_FALSE(proof.holds());
  CHECK(prove_delivery(run, targets(), k_delivered).all->ratio > 1.05); // what must not count
}

TEST_CASE("equal times prove nothing") {
  CHECK_FALSE(prove_delivery(run_with({1, 1}), targets(), k_delivered).holds());
}

TEST_CASE("wrong data under the delivery disproves it") {
  model::Run run = run_with({1.2, 1.2});
  run.trials[1].cells[0].check.wrong = 3;
  CHECK(run.trials[1].spec.label() == "NCCL_MIN_CTAS=32");
  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered);
  CHECK(proof.wrong_data);
  CHECK_FALSE(proof.holds());
}

TEST_CASE("a target that no process measured under the delivery is not proven") {
  model::Run run = run_with({1.2, 1.2});
  for (model::TrialRecord& trial : run.trials)
    if (!trial.spec.is_default())
      trial.cells[1] = support::make_record(model::OutcomeKind::crashed, "signal 11");
  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered);
  CHECK_FALSE(proof.all);
  CHECK_FALSE(proof.each[1]);
  CHECK_FALSE(proof.holds());
}

TEST_CASE("cells of confirming trials that ran something else do not count") {
  model::Run run = run_with({1.1, 1.1});
  RunBuilder others(2);
  auto with_values = [](std::uint64_t bytes) {
    model::Cell cell = support::make_cell("all_reduce", bytes);
    cell.settings = {{"algorithm", "Tree"}};
    return cell;
  };
  for (const std::vector<model::Setting>& settings :
       {std::vector<model::Setting>{}, {{"NCCL_MIN_CTAS", "32"}}, {{"NCCL_MIN_CTAS", "16"}}}) {
    auto trial = others.trial(settings);
    for (std::uint64_t bytes : {k_small, k_large})
      trial.cell(with_values(bytes), support::make_record(2, 1000));
  }
  auto other_process = others.trial({{"NCCL_MIN_CTAS", "16"}});
  other_process.cell("all_reduce", k_small, 1000).cell("all_reduce", k_large, 1000);
  const model::Run more = others;
  for (model::TrialRecord trial : more.trials) {
    trial.spec.id += static_cast<int>(run.trials.size());
    run.trials.push_back(std::move(trial));
  }
  const DeliveryProof proof = prove_delivery(run, targets(), k_delivered);
  CHECK(proof.all->ratio == Approx(1.1).epsilon(1e-3));
  CHECK(proof.default_processes == 10);
  CHECK(proof.delivery_processes == 5);
}

TEST_CASE("a training step is found under the label that the delivery gives it") {
  RunBuilder run(2);
  auto with_bucket = [](std::uint64_t bytes) {
    model::Cell cell = support::make_cell("all_reduce", 1 << 20);
    model::StepLabel step;
    step.ranks = {0, 1};
    step.options.bucket_bytes = bytes;
    cell.label.what = step;
    return cell;
  };
  const model::Cell usual = with_bucket(25 << 20), larger = with_bucket(100 << 20);
  for (int process = 0; process < 5; ++process) {
    run.trial().cell(usual, support::make_record(2, 1'000'000 + 1000 * process));
    run.trial().cell(larger, support::make_record(2, 900'000 + 1000 * process));
  }
  const DeliveryProof proof = prove_delivery(run, {{usual.label, larger.label, 1}}, "default");
  CHECK(proof.default_processes == 5);
  CHECK(proof.delivery_processes == 5);
  CHECK(proof.holds());
}
