// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/written.h"
#include "analysis/tune/disturbance_section.h"
#include "analysis/tune/environment_section.h"
#include "analysis/tune/failure_table.h"
#include "analysis/tune/space_section.h"
#include "analysis/tune/trial_table.h"
#include "analysis/tune/tuning_report.h"
#include "analysis/tune/tunings.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/json_schema.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::tune;
using namespace ncclprobe::analysis_test;

namespace {

std::vector<std::string> answers(const Tuning& tuning) {
  std::vector<std::string> ids;
  const Report report = tuning_report(tuning);
  for (const Finding* finding : findings(report))
    ids.emplace_back(finding->kind->id);
  return ids;
}

Tuning undisturbed(Tuning tuning) {
  tuning.ran.clear();
  tuning.outcome.disturbances.clear();
  if (tuning.proof)
    tuning.proof->rejected = 0;
  tuning.outcome.rejections.clear();
  return tuning;
}

bool has_export(const Tuning& tuning) {
  const Report report = tuning_report(tuning);
  return std::ranges::any_of(report.sections.front().blocks, [](const Block& block) {
    return std::holds_alternative<Code>(block);
  });
}

} // namespace

TEST_CASE("the answer is to use what is proven twice, and else to keep the defaults") {
  using Ids = std::vector<std::string>;
  CHECK(answers(prepared_tuning()) == Ids{"would_try", "expected_trials"});
  CHECK(answers(tuning_without_gain()) == Ids{"keep_defaults", "throttled_trials"});
  CHECK(answers(tuning_with_gain()).front() == "use_settings");
  Tuning lost = tuning_with_gain();
  lost.proof->all->interval = {0.98, 1.02};
  CHECK(answers(lost).front() == "delivery_not_confirmed");
  lost.proof.reset();
  CHECK(answers(lost).front() == "delivery_not_confirmed");
}

TEST_CASE("before a search, the report says how far the budget is expected to reach") {
  Tuning tuning = prepared_tuning();
  const Report report = tuning_report(tuning);
  CHECK(in_words(*findings(report)[1]) ==
        "About 19 trials are expected; one of the default takes about 2.0 s.");
  std::string csv = written({.rows = forecast_table(*tuning.forecast)}, Format::csv);
  std::erase(csv, '\r');
  CHECK(csv == "part,combinations,all_combinations,trials,seconds\n"
               "floor,,,4,8\n"
               "explore,2,2,3,6\n"
               "confirm,,,12,24\n"
               "delivery,,,,10\n");
  tuning.forecast->stages[1].combinations = 0;
  CHECK(answers(tuning) == std::vector<std::string>{"would_try", "budget_too_short"});
}

TEST_CASE("only what is recommended is there to paste") {
  CHECK(has_export(tuning_with_gain()));
  CHECK_FALSE(has_export(tuning_without_gain()));
  Tuning lost = tuning_with_gain();
  lost.proof->wrong_data = true;
  CHECK_FALSE(has_export(lost));
  Tuning of_a_step = tuning_with_gain();
  of_a_step.delivered = {{"bucket", "50M"}};
  of_a_step.variables.clear();
  CHECK_FALSE(has_export(of_a_step));
}

TEST_CASE("what was left out without an effect is told, and what was not checked") {
  Tuning tuning = undisturbed(tuning_with_gain());
  tuning.space.parameters.push_back({"NCCL_NTHREADS", {"", "512"}, false});
  tuning.space.parameters.push_back({"NCCL_ALGO", {"", "(not set)"}, false});
  tuning.why.resize(4);
  tuning.outcome.settings.candidate.resize(4);
  for (search::Decision& one : tuning.outcome.table)
    one.candidate.resize(4);
  for (search::Reason& one : tuning.outcome.reasons)
    one.candidate.resize(4);
  tuning.outcome.of_changes[1] = {.speed = 1.08, .interval = {1.06, 1.1}, .processes = 5};
  tuning.outcome.left_out = {{2, 1, {.speed = 1.001, .interval = {0.99, 1.012}, .processes = 5}},
                             {3, 1, {.speed = 1, .interval = {0.99, 1.01}, .processes = 5}}};
  CHECK(without_effect(tuning.space, tuning.outcome) ==
        std::vector<model::Setting>{{"NCCL_NTHREADS", "512"}}); // the other one stays as it is
  CHECK(answers(tuning) == std::vector<std::string>{"use_settings", "left_out"});
  tuning.outcome.left_out.clear();
  tuning.outcome.each_change_counts = false;
  CHECK(answers(tuning) == std::vector<std::string>{"use_settings", "effects_not_checked"});
}

TEST_CASE("a search that is not complete and synthetic numbers are told") {
  Tuning tuning = undisturbed(tuning_without_gain());
  tuning.outcome.complete = false;
  tuning.synthetic = true;
  CHECK(answers(tuning) ==
        std::vector<std::string>{"keep_defaults", "not_complete", "synthetic_numbers"});
  tuning.outcome.reasons.clear();
  CHECK(answers(tuning) == std::vector<std::string>{"nothing_compared", "synthetic_numbers"});
  tuning.outcome.default_failed = true;
  CHECK(answers(tuning) == std::vector<std::string>{"default_failed", "synthetic_numbers"});
}

TEST_CASE("of each variable of the environment, the report says what it does") {
  const Tuning tuning = undisturbed(tuning_of_environment());
  CHECK(answers(tuning) ==
        std::vector<std::string>{"remove_variables", "variables_without_effect"});
  std::string csv = written({.rows = environment_table(tuning)}, Format::csv);
  std::erase(csv, '\r');
  CHECK(csv == "variable,value,file,effect,speed_ratio,interval_low,interval_high,why_effect\n"
               "HARMS,1,,harms,1.06,1.04,1.08,\n"
               "HARMS_IN_SUM,1,,harms with others,,,,\n"
               "NEEDED,1,,needed,,,,without it: timed out\n"
               "MEASURED,1,,not shown to harm,0.983333,,,\n"
               "PINNED,1,,not measured,,,,\n"
               "NOTHING,1,/etc/nccl.conf,none,,,,1 is the default\n");
  CHECK(removed_in_words(tuning) == "HARMS (1.060x, 1.040 to 1.080), HARMS_IN_SUM");

  Tuning alone = tuning;
  alone.delivered.pop_back();
  CHECK(removed_in_words(alone) == "HARMS");
  CHECK(written({.rows = environment_table(alone)}, Format::csv)
            .find("HARMS,1,,harms,1.075,1.05,1.1,") != std::string::npos); // as proven
  Tuning kept = tuning;
  kept.delivered.clear();
  kept.proof.reset();
  CHECK(answers(kept).front() == "keep_environment");
  CHECK(written({.rows = environment_table(kept)}, Format::csv)
            .find("MEASURED,1,,not shown to harm,0.9,") != std::string::npos);
  CHECK(removed_in_words(kept).empty());
}

TEST_CASE("a variable of a file is removed by setting its default") {
  Tuning tuning = tuning_of_environment();
  tuning.space.parameters[0].values = {"", "2"};
  tuning.environment[0].file = "/etc/nccl.conf";
  tuning.delivered = tuning.variables = {{"HARMS", "2"}, {"HARMS_IN_SUM", "(not set)"}};
  CHECK(answers(tuning).front() == "use_settings");
  std::string csv = written({.rows = environment_table(tuning)}, Format::csv);
  CHECK(csv.find("HARMS,1,/etc/nccl.conf,harms,1.06,1.04,1.08,") != std::string::npos);
}

TEST_CASE("disturbances, throttling and trials that were not repeated are told") {
  Tuning tuning = tuning_with_gain();
  tuning.ran[0].request.id = 9;
  CHECK(answers(tuning) == std::vector<std::string>{"use_settings", "disturbed",
                                                    "rejected_and_repeated", "rejected_only",
                                                    "throttled_trials", "proof_repeated"});
  const Report report = tuning_report(tuning);
  CHECK(
      in_words(*findings(report).back()) ==
      "The default was disturbed or failed during the proof. 3 of the proof's trials do not count, "
      "and 2 of these were repeated.");
  CHECK(in_words(*findings(report).end()[-2]) == "In 1 of 3 timed trials, GPUs were throttled "
                                                 "(software power cap, software thermal slowdown). "
                                                 "These trials count like others.");
  std::string csv = written({.rows = disturbance_table(tuning)}, Format::csv);
  std::erase(csv, '\r');
  CHECK(csv == "file,trial,time_ratio,limit,new_level\n"
               "tune.h5,1,1.4,1.05,false\n"
               "tune.h5,0,1.41,1.05,true\n");
  tuning.outcome.rejections.pop_back();
  CHECK(std::ranges::count(answers(tuning), "rejected_only") == 0);
  tuning.outcome.rejections.clear(); // a new level rejects nothing
  CHECK(std::ranges::count(answers(tuning), "rejected_and_repeated") == 0);
}

TEST_CASE("a delivery whose proof was disturbed is not recommended, and the answer says why") {
  Tuning tuning = undisturbed(tuning_with_gain());
  tuning.proof->all.reset();
  CHECK(answers(tuning).front() == "delivery_not_confirmed");
  tuning.proof->rejected = 4; // the delivery itself failed in the others
  CHECK(answers(tuning).front() == "delivery_not_confirmed");
  tuning.proof->disturbed = true;
  CHECK(answers(tuning).front() == "proof_disturbed");
}

TEST_CASE(
    "a delivery that fails in one of its trials is not recommended, and the answer says how") {
  Tuning tuning = undisturbed(tuning_with_gain());
  tuning.proof->outcome = model::OutcomeKind::crashed;
  tuning.proof->disturbed = true;
  const Report report = tuning_report(tuning);
  CHECK(in_words(*findings(report).front()) ==
        "Keep the defaults: NCCL_MIN_CTAS=32 won the search, but failed as delivered: crashed.");
  CHECK_FALSE(has_export(tuning));
}

TEST_CASE("of each trial, the report says why it ran, with which settings, and how it ended") {
  std::string csv = written({.rows = trial_table(tuning_with_gain())}, Format::csv);
  std::erase(csv, '\r');
  CHECK(csv ==
        "file,trial,role,stage,cause,why_run,settings,cells,outcome,reason,"
        "rejected,repeated,throttle_reasons,seconds\n"
        "tune.h5,0,search,floor,planned,\"the default against itself, for the A/A floor\","
        "default,2,ok,,false,,,3\n"
        "tune.h5,1,search,screen,cells_not_run,cells that an earlier trial did not reach: "
        "in-process values in turns with cells without them,default,4,timed_out,no end in "
        "30 s,true,true,\"software power cap, software thermal slowdown\",33.5\n"
        "proof.h5,0,companion,,,the library's log shows how it runs these settings,"
        "NCCL_MIN_CTAS=32,2,ok,,false,,,2\n"
        "proof.h5,1,search,confirm,default_off,\"again, because the default was disturbed: "
        "the finalist, in a process that had no part in choosing\",NCCL_MIN_CTAS=32,2,ok,,true,"
        "false,,3\n");
}

TEST_CASE("of each candidate that failed, the report says how, why, and in which trial") {
  Tuning tuning = tuning_without_gain();
  tuning.outcome.reasons.push_back(
      {.candidate = {0, 1}, .fate = search::Fate::failed, .outcome = model::OutcomeKind::crashed});
  tuning.outcome.reasons.push_back({.candidate = {2, 1},
                                    .target = 0,
                                    .fate = search::Fate::failed,
                                    .outcome = model::OutcomeKind::skipped}); // not offered
  tuning.ran.push_back({.file = "tune.h5",
                        .number = 7,
                        .request = {.process = {0, 1}, .cells = {{0, {0, 1}}, {1, {0, 1}}}},
                        .outcome = {model::OutcomeKind::crashed, "signal 11", {0}}});
  tuning.ineffective = {{{0, 2}, {"NCCL_MIN_CTAS", "32"}, Effect::overridden, {}}};
  std::string csv = written({.rows = failure_table(tuning)}, Format::csv);
  std::erase(csv, '\r');
  CHECK(csv == "candidate,target,how,reason,file,trial\n"
               "algorithm=Tree,all_reduce 4M,timed out,no end in 30 s,tune.h5,1\n"
               "NCCL_MIN_CTAS=16,,crashed,signal 11,tune.h5,7\n"
               "NCCL_MIN_CTAS=32,,NCCL_MIN_CTAS=32: overridden,,,\n");
}

TEST_CASE("the JSON of a tuning has the fields and types of its schema") {
  support::JsonSchema schema;
  schema.add_names("severity", Severity{});
  schema.add_names("fate", search::Fate{});
  schema.add_names("stage", search::Stage{});
  schema.add_names("cause", search::Cause{});
  schema.add_names("role", TrialRole{});
  schema.add_names("effect", EnvironmentEffect{});
  Tuning of_a_step = tuning_with_gain();
  of_a_step.outcome.reasons.front().target.reset();
  of_a_step.proof->all.reset();
  of_a_step.proof->each.front().reset();
  for (const Tuning& tuning : {prepared_tuning(), tuning_without_gain(), tuning_with_gain(),
                               of_a_step, tuning_of_environment()})
    schema.add(written(tuning_report(tuning), Format::json));
  support::check_document("docs/schemas/tuning.json", schema.text("ncclprobe tune --format json"));
}
