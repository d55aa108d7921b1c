// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "analysis/tune/choice_map.h"
#include "analysis/tune/explanation_section.h"
#include "analysis/tune/tunings.h"
#include "support/catch.h"
#include "support/run_builder.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::tune;
using namespace ncclprobe::analysis_test;
using support::RunBuilder;

namespace {

constexpr std::uint64_t k_floats = 1 << 18;

model::Cell reduce_cell() {
  model::Cell cell = support::make_cell("all_reduce", 4 * k_floats);
  cell.schedule.operations = {{model::CollectiveOp{.count = k_floats}, {}}};
  cell.schedule.timed = {0, 1};
  return cell;
}

void add_companion(RunBuilder& run, const std::vector<model::Setting>& settings,
                   const std::string& algorithm, int channels) {
  auto trial = run.trial(settings, model::Purpose::companion);
  trial.cell(reduce_cell(), support::make_record(2, 1000, 0, 1));
  for (int rank = 0; rank < 2; ++rank) {
    model::Evidence evidence{rank, "", "v5", {}};
    evidence.choices = {
        {0, "AllReduce", "ncclFloat32", k_floats, algorithm, "SIMPLE", channels, -1}};
    trial->evidence.push_back(evidence);
  }
}

std::string csv_of(const TablePtr& table) {
  std::string csv = written({.rows = table}, Format::csv);
  std::erase(csv, '\r');
  return csv;
}

} // namespace

TEST_CASE("the library's choices by default and as delivered are those of the companions") {
  RunBuilder run(2);
  add_companion(run, {}, "RING", 24);
  add_companion(run, {{"NCCL_MIN_CTAS", "32"}}, "NVLS", 16);
  const model::CellLabel label = reduce_cell().label;
  const auto explained = explain_delivery(run, {{label, label, 1}}, "NCCL_MIN_CTAS=32");
  REQUIRE(explained.size() == 1);
  CHECK(explained[0].of_default.uses == std::vector<Use>{{"RING", "SIMPLE", 24}});
  CHECK(explained[0].of_delivery.uses == std::vector<Use>{{"NVLS", "SIMPLE", 16}});
  CHECK(explained[0].of_default.sms() == 24);
  CHECK_FALSE(explained[0].of_default.times);

  Tuning tuning = tuning_with_gain();
  tuning.explanations = explained;
  tuning.explanations.emplace_back(); // nothing is known of the other target
  CHECK(csv_of(choices_table(tuning)) ==
        "target,settings,same\nall_reduce 1M,as delivered,false\n");
  CHECK(step_parts_table(tuning)->rows == 0);
}

TEST_CASE("candidates that clearly lost are shown with the library's choices for them") {
  Tuning tuning = tuning_without_gain();
  using search::Fate;
  tuning.outcome.reasons = {{.candidate = {0, 1}, .fate = Fate::stopped, .speed = 0.9},
                            {.candidate = {0, 2}, .fate = Fate::not_chosen, .speed = 0.99},
                            {.candidate = {2, 1}, .fate = Fate::stopped, .speed = 0.5}, // two
                            {.candidate = {0, 1}, .target = 0, .speed = 0.4},
                            {.candidate = {1, 0}, .fate = Fate::failed, .speed = 0}};
  CHECK(clear_losers(tuning.outcome, 0.02) == std::vector<search::Candidate>{{0, 1}});
  CHECK(clear_losers(tuning.outcome, 0.005) == std::vector<search::Candidate>{{0, 1}, {0, 2}});

  RunBuilder run(2);
  add_companion(run, {}, "NVLS", 16);
  add_companion(run, {{"NCCL_MIN_CTAS", "16"}}, "RING", 16);
  const model::CellLabel label = reduce_cell().label;
  model::CellLabel other = label;
  other.bytes *= 4;
  tuning.choices = choices_of(run.trials, {{0, 0}, {0, 1}}, {label, other});
  REQUIRE(tuning.choices.size() == 2);
  CHECK(tuning.choices[1].by_target == std::vector<std::vector<Use>>{{{"RING", "SIMPLE", 16}}, {}});
  CHECK(csv_of(choices_table(tuning)) ==
        "target,settings,same\nall_reduce 1M,NCCL_MIN_CTAS=16,false\n");
}

TEST_CASE("of a training step, the report says which part became shorter") {
  Tuning tuning = tuning_with_gain();
  Explanation one;
  one.of_default.times = steps::StepTimes{
      .step_ns = 10, .compute_ns = 6, .exposed_wait_ns = 1, .exposed_transfer_ns = 2, .idle_ns = 1};
  one.of_delivery.times = steps::StepTimes{.step_ns = 8,
                                           .compute_ns = 6.5,
                                           .exposed_wait_ns = 0.5,
                                           .exposed_transfer_ns = 0,
                                           .idle_ns = 1};
  one.of_default.uses = {{"RING", "LL", 8}, {"TREE", "SIMPLE", 24}};
  one.of_delivery.uses = {{"RING", "LL", 4}};
  tuning.explanations = {one};
  CHECK(csv_of(step_parts_table(tuning)) ==
        "target,side,step_ns,computing_ns,exposed_wait_ns,exposed_transfer_ns,rest_ns,sms\n"
        "all_reduce 1M,default,10,6,1,2,1,24\n"
        "all_reduce 1M,delivered,8,6.5,0.5,0,1,4\n"
        "all_reduce 1M,difference,-2,0.5,-0.5,-2,0,-20\n");
}

TEST_CASE("of a training step, the report says which part became longer with what clearly lost") {
  Tuning tuning = tuning_without_gain();
  const search::Candidate loser{1, 0}, unset{0, 0};
  tuning.explanations.clear();
  tuning.outcome.reasons = {
      {.candidate = loser, .target = {}, .fate = search::Fate::not_chosen, .speed = 0.8}};
  tuning.step_times = {};
  tuning.step_times.add(0, unset, {.step_ns = 10, .compute_ns = 8, .exposed_wait_ns = 2});
  CHECK(step_parts_table(tuning)->rows == 1);
  tuning.step_times.add(0, loser, {.step_ns = 13, .compute_ns = 8, .exposed_transfer_ns = 5});
  tuning.choices = {{unset, {{{"RING", "LL", 8}}, {}}}, {loser, {{{"RING", "SIMPLE", 4}}, {}}}};
  CHECK(csv_of(step_parts_table(tuning)) ==
        "target,side,step_ns,computing_ns,exposed_wait_ns,exposed_transfer_ns,rest_ns,sms\n"
        "all_reduce 1M,\"default, in the search\",10,8,2,0,0,8\n"
        "all_reduce 1M," +
            to_text(tuning.space, loser) + ",13,8,0,5,0,4\n");
  tuning.outcome.reasons.front().speed = 0.99; // not clearly
  CHECK(step_parts_table(tuning)->rows == 0);
}

TEST_CASE("the parts of a candidate's steps are the mean over its processes") {
  StepTimesOfCandidates times;
  times.add(1, {2}, {.step_ns = 2, .exposed_wait_ns = 1});
  times.add(1, {2}, {.step_ns = 4, .exposed_wait_ns = 0});
  CHECK(times.of(1, {2}) == steps::StepTimes{.step_ns = 3, .exposed_wait_ns = 0.5});
  CHECK_FALSE(times.of(0, {2}));
  CHECK_FALSE(step_times_of(reduce_cell(), support::make_record(2, 1000), 2)); // has no marks
}

TEST_CASE("the regret of a size is the gain of the best choice, proven or only screened") {
  Tuning tuning = tuning_without_gain();
  using search::Fate;
  using search::Stage;
  tuning.outcome.reasons = {
      {.candidate = {1, 0},
       .target = 0,
       .fate = Fate::stopped,
       .stage = Stage::screen,
       .speed = 0.8},
      {.candidate = {2, 0}, .target = 0, .fate = Fate::won, .stage = Stage::confirm, .speed = 1.05},
      {.candidate = {1, 0},
       .target = 1,
       .fate = Fate::stopped,
       .stage = Stage::screen,
       .speed = 0.9},
      {.candidate = {2, 0}, .target = 1, .fate = Fate::failed, .stage = Stage::screen},
      {.candidate = {1, 1}, .target = 1, .stage = Stage::confirm, .speed = 3}, // other processes
      {.candidate = {0, 1}, .speed = 2}};
  CHECK(csv_of(choice_map(tuning)) == "target,bytes,regret,best\n"
                                      "all_reduce 1M,1048576,0.05,algorithm=Tree\n"
                                      "all_reduce 4M,4194304,0,\n");
  CHECK(candidate_map(tuning)->rows == 3);
  const std::string text =
      written({.sections = {{"", "", {View{choice_map(tuning)}}}}}, Format::table);
  for (const char* words : {"regret", "Ring", "Tree", "-20.0%", "5.0%", "-10.0%"})
    CHECK_THAT(text, ContainsSubstring(words));
}
