// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/tunings.h"

namespace ncclprobe::analysis_test {

using namespace analysis;
using namespace analysis::tune;

Tuning prepared_tuning() {
  Tuning tuning;
  tuning.space.parameters = {{"algorithm", {"", "Ring", "Tree"}, true},
                             {"NCCL_MIN_CTAS", {"", "16", "32"}, false}};
  tuning.space.targets = {{"all_reduce 1M", 1, 1 << 20}, {"all_reduce 4M", 1, 4 << 20}};
  tuning.why = {"NCCL chooses it by size", "more channels carry more"};
  tuning.not_in_space = {"NCCL_NVLS_ENABLE: no NVLink switches"};
  tuning.transports = {"all GPUs have NVLinks"};
  tuning.notes = {"a note"};
  tuning.pinned = {{"NCCL_PROTO", "Simple"}};
  tuning.budget_s = 600;
  tuning.folder = "tuned";
  tuning.outcome.settings.candidate = {0, 0};
  tuning.forecast =
      search::Forecast{.trial_s = 2,
                       .stages = {{.trials = 4, .seconds = 8},
                                  {search::Stage::explore, 2, 2, 3, 6},
                                  {.stage = search::Stage::confirm, .trials = 12, .seconds = 24}},
                       .end_s = 10};
  return tuning;
}

Tuning tuning_without_gain() {
  Tuning tuning = prepared_tuning();
  tuning.measured = true;
  tuning.forecast.reset();
  search::Outcome& outcome = tuning.outcome;
  outcome.complete = true;
  outcome.trials = 12;
  outcome.seconds = 40;
  outcome.table = {outcome.settings, outcome.settings};
  outcome.reasons = {{.candidate = {1, 0},
                      .target = 0,
                      .fate = search::Fate::stopped,
                      .stage = search::Stage::screen,
                      .speed = 0.8,
                      .processes = 2},
                     {.candidate = {2, 0},
                      .target = 1,
                      .fate = search::Fate::failed,
                      .stage = search::Stage::screen,
                      .outcome = model::OutcomeKind::timed_out},
                     {.candidate = {0, 1},
                      .fate = search::Fate::not_proven,
                      .stage = search::Stage::confirm,
                      .speed = 1.01,
                      .interval = Interval{0.99, 1.03},
                      .needed = 1.02,
                      .processes = 5}};
  tuning.ran = {{.file = "tune.h5",
                 .number = 0,
                 .request = {.process = {0, 0}, .cells = {{0, {0, 0}}, {1, {0, 0}}}},
                 .settings = "default",
                 .cells = 2,
                 .seconds = 3},
                {.file = "tune.h5",
                 .number = 1,
                 .request = {.id = 3,
                             .stage = search::Stage::screen,
                             .cause = search::Cause::cells_not_run,
                             .process = {0, 0},
                             .cells = {{0, {0, 0}}, {0, {1, 0}}, {1, {2, 0}}, {0, {1, 0}}}},
                 .settings = "default",
                 .cells = 4,
                 .outcome = {model::OutcomeKind::timed_out, "no end in 30 s", {1}},
                 .failed = {{2, {model::OutcomeKind::timed_out, "no end in 30 s", {1}}}},
                 .seconds = 33.5,
                 .throttle_reasons = 0x24},
                {.file = "proof.h5",
                 .number = 0,
                 .role = TrialRole::companion,
                 .settings = "NCCL_MIN_CTAS=32",
                 .cells = 2,
                 .seconds = 2},
                {.file = "proof.h5",
                 .number = 1,
                 .request = {.id = 4,
                             .stage = search::Stage::confirm,
                             .cause = search::Cause::default_off,
                             .process = {0, 2},
                             .cells = {{0, {0, 2}}, {1, {0, 2}}}},
                 .settings = "NCCL_MIN_CTAS=32",
                 .cells = 2,
                 .seconds = 3}};
  tuning.files = {"tune.h5"};
  return tuning;
}

Tuning tuning_with_gain() {
  Tuning tuning = tuning_without_gain();
  search::Decision won{.candidate = {0, 2},
                       .proven = true,
                       .over_default = {1.08, {1.06, 1.1}, 5},
                       .floor = 1.01,
                       .needed = 1.02};
  tuning.outcome.settings = won;
  tuning.outcome.table = {won, won};
  tuning.outcome.reasons.push_back({.candidate = {0, 2},
                                    .fate = search::Fate::won,
                                    .stage = search::Stage::confirm,
                                    .speed = 1.08,
                                    .interval = Interval{1.06, 1.1},
                                    .needed = 1.02,
                                    .processes = 5});
  tuning.outcome.of_changes[1] = won.over_default;
  tuning.outcome.disturbances = {{.trial = 3, .ratio = 1.4, .limit = 1.05},
                                 {.trial = 9, .ratio = 1.41, .limit = 1.05, .new_level = true}};
  tuning.outcome.rejections = {{.trial = 3, .repeated = true}, {.trial = 4, .repeated = false}};
  tuning.delivered = tuning.variables = {{"NCCL_MIN_CTAS", "32"}};
  const RatioTest test{.ratio = 1.075, .interval = {1.05, 1.1}, .p = 0.0001};
  tuning.proof = DeliveryProof{.all = test,
                               .each = {test, test},
                               .default_processes = 10,
                               .delivery_processes = 5,
                               .rejected = 3,
                               .repeated = 2};
  tuning.explanations = {
      {.of_default = {.uses = {{"RING", "SIMPLE", 24}}, .times = steps::StepTimes{.step_ns = 2e6}},
       .of_delivery = {.uses = {{"NVLS", "SIMPLE", 16}},
                       .times = steps::StepTimes{.step_ns = 1e6}}},
      {.of_default = {.times = steps::StepTimes{}}, .of_delivery = {.times = steps::StepTimes{}}}};
  static constexpr FindingKind k_found{"found", Severity::note, "{used} of {asked}"};
  tuning.in_process = {{.target = 0, .settings = "algorithm=Ring", .ratio = test}, {.target = 1}};
  tuning.in_process.front().is_logged = true;
  tuning.in_process.front().reason = Finding{&k_found, {{"used", 12}, {"asked", 16}}};
  tuning.ineffective = {{{0, 1}, {"NCCL_MIN_CTAS", "16"}, Effect::overridden, {}}};
  tuning.step_times.add(0, {1, 0}, {.step_ns = 2e6});
  tuning.files = {"tune.h5", "proof.h5", "nccl.conf"};
  return tuning;
}

Tuning tuning_of_environment() {
  Tuning tuning = tuning_with_gain();
  tuning.only_environment = true;
  tuning.ran.clear();
  tuning.in_process.clear();
  tuning.ineffective.clear();
  tuning.space.parameters.clear();
  for (const char* name : {"HARMS", "HARMS_IN_SUM", "NEEDED", "MEASURED"})
    tuning.space.parameters.push_back({name, {"", "(not set)"}, false});
  tuning.why.assign(4, "the environment sets it");
  for (const char* name : {"HARMS", "HARMS_IN_SUM", "NEEDED", "MEASURED", "PINNED", "NOTHING"})
    tuning.environment.push_back({{name, "1"}, ""});
  tuning.environment.back().why_nothing = "1 is the default";
  tuning.environment.back().file = "/etc/nccl.conf";
  search::Outcome& outcome = tuning.outcome;
  outcome.settings.candidate = {1, 1, 0, 0};
  outcome.settings.over_default.speed = 1.08;
  outcome.table.assign(2, outcome.settings);
  outcome.of_changes = {{0, {.speed = 1.06, .interval = {1.04, 1.08}, .processes = 5}}};
  outcome.reasons = {{.candidate = {0, 0, 1, 0},
                      .fate = search::Fate::failed,
                      .outcome = model::OutcomeKind::timed_out},
                     {.candidate = {0, 0, 0, 1}, .fate = search::Fate::stopped, .speed = 0.9},
                     {.candidate = {1, 1, 0, 1}, .fate = search::Fate::stopped, .speed = 1.062}};
  tuning.delivered = tuning.variables = {{"HARMS", "(not set)"}, {"HARMS_IN_SUM", "(not set)"}};
  return tuning;
}

} // namespace ncclprobe::analysis_test
