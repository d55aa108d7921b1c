// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_delivery.h"

#include "tuning/table_file.h"

#include "analysis/tune/choice_for_all.h"
#include "analysis/tune/delivered_files.h"
#include "analysis/tune/tuned_table.h"
#include "analysis/verdict/verdict.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "workload/companions.h"
#include "workload/expected_time.h"

#include <algorithm>
#include <random>

namespace ncclprobe::cli {

namespace {

constexpr const char* k_table_file = "tuner.csv";
constexpr const char* k_tuner_plugin = "libncclprobe-tuner.so";
constexpr int k_proof_blocks = static_cast<int>(analysis::k_least_processes);

// In place of what `variables` has for that name.
void set_variable(std::vector<model::Setting>& variables, model::Setting one) {
  std::erase_if(variables, [&](const model::Setting& other) { return other.name == one.name; });
  variables.push_back(std::move(one));
}

} // namespace

std::vector<tuning::Row> proven_rows(const TuneContext& context,
                                     const analysis::search::Space& space,
                                     const analysis::search::Outcome& outcome) {
  if (context.session.backend.name != "nvidia")
    return {};
  return analysis::tune::tuned_rows(
      space, outcome, context.cells.labels(),
      {context.request.ranks, std::max(workload::nccl_machine(context.request).nodes, 1)});
}

double expected_end_s(const workload::PlanRequest& defaults) {
  const auto plan = workload::make_plan(defaults);
  if (!plan)
    return 0;
  double ns = 3 * k_proof_blocks * workload::expected_ns(*plan);
  if (workload::wants_companions(workload::Proof::automatic, defaults.backend)) {
    // Of the default, the settings and what clearly lost; two more in the proof.
    constexpr int k_companions = 2 + static_cast<int>(analysis::tune::k_most_losers) + 2;
    model::TrialSpec companion = plan->trials.front();
    workload::make_companion(companion, defaults.environment);
    ns += k_companions * workload::expected_trial_ns(companion);
  }
  return ns / 1e9;
}

void remove_delivery(const std::filesystem::path& folder) {
  std::error_code ignored; // most are not there
  for (const std::string_view name : analysis::tune::k_delivered_names)
    std::filesystem::remove(folder / name, ignored);
  std::filesystem::remove(folder / k_table_file, ignored);
  std::filesystem::remove(folder / k_proof_file, ignored);
}

Result<TuneDelivery> TuneDelivery::make(const TuneContext& context,
                                        const model::TrialRecord* companion,
                                        analysis::tune::Tuning& tuning) {
  TuneDelivery delivery(context, tuning);
  if (context.session.backend.name == "nvidia")
    NCCLPROBE_TRY(delivery.choose_with_table(companion));
  else
    delivery.choose_for_all();
  tuning.delivered = all_of(delivery.settings_);
  tuning.variables = delivery.settings_.variables;
  return delivery;
}

// Algorithm, protocol and channels of each size need NCCL's tuner interface.
Result<void> TuneDelivery::choose_with_table(const model::TrialRecord* companion) {
  const analysis::search::Outcome& outcome = tuning_.outcome;
  settings_ = settings_of(context_.space, outcome.settings.candidate);
  tuning::Table table{header(nullptr), proven_rows(context_, tuning_.space, outcome)};
  if (companion)
    analysis::tune::add_estimates(table.rows, *companion);
  // Options of a training step belong to the step, whose decision is a row of its own.
  for (const analysis::search::Decision& one : outcome.table)
    if (one.proven && settings_.step_options.empty())
      settings_.step_options = settings_of(context_.space, one.candidate).step_options;
  if (table.rows.empty())
    return {};
  const std::filesystem::path file =
      std::filesystem::absolute(context_.options.folder / k_table_file);
  const std::string text = to_text(table);
  NCCLPROBE_TRY(base::write_file_atomically(file, text));
  tuning_.files.emplace_back(k_table_file);
  set_variable(settings_.variables,
               {"NCCL_TUNER_PLUGIN",
                (context_.world.program_folder.parent_path() / "lib" / k_tuner_plugin).string()});
  set_variable(settings_.variables, {"NCCLPROBE_TUNER_TABLE",
                                     to_text(tuning::TableReference{file, base::sha256(text)})});
  return {};
}

// Without a table every size gets the same.
void TuneDelivery::choose_for_all() {
  settings_ =
      settings_of(context_.space, analysis::tune::choice_for_all(tuning_.space, tuning_.outcome));
  for (const model::Setting& one :
       workload::as_variables(context_.session.backend.name, settings_.of_cells))
    set_variable(settings_.variables, one);
  settings_.of_cells.clear();
}

tuning::Header TuneDelivery::header(const analysis::RatioTest* gain) const {
  const Session& session = context_.session;
  const model::HostInventory& host = session.hosts.front();
  auto version = [&](const char* library) {
    const model::Library* found = host.library(library);
    return found ? found->version : "";
  };
  tuning::Header header;
  header.machine =
      fmt::format("{} on {}{}", base::count_of(session.layout.ranks(), "rank", "ranks"),
                  base::count_of(session.layout.hosts.size(), "host", "hosts"),
                  tuning_.synthetic ? ", SYNTHETIC NUMBERS" : "");
  if (session.backend.name == "nvidia") {
    header.gpu = host.gpus.empty() ? "" : host.gpus.front().name;
    header.nccl = version("nccl");
    header.driver = version("cuda_driver");
  }
  header.date = base::utc_now();
  if (gain) {
    header.gain = fmt::format("{:.3f}x the default's speed", gain->ratio);
    header.interval = fmt::format("{:.3f} to {:.3f}", gain->interval.low, gain->interval.high);
  }
  header.ncclprobe = base::version_and_build();
  return header;
}

workload::Plan TuneDelivery::proof_plan() const {
  workload::Plan plan;
  std::mt19937_64 random(*context_.options.seed);
  const CandidateSettings none;
  auto add = [&](const CandidateSettings* settings) -> model::TrialSpec& {
    const int id = static_cast<int>(plan.trials.size());
    return plan.trials.emplace_back(context_.trials.delivered(*settings, id));
  };
  for (int i = 0; i < k_proof_blocks; ++i) {
    std::vector<const CandidateSettings*> order{&none, &none, &settings_};
    std::ranges::shuffle(order, random);
    for (const CandidateSettings* one : order)
      add(one);
  }
  if (workload::wants_companions(workload::Proof::automatic, context_.session.backend.name))
    for (const CandidateSettings* one : {&none, &settings_})
      workload::make_companion(add(one), context_.request.environment);
  return plan;
}

void TuneDelivery::judge(const analysis::RunSummary& proof) {
  const std::vector<model::Cell>& cells = context_.request.cells;
  std::vector<analysis::tune::ProvenTarget> targets;
  for (std::size_t i = 0; i < cells.size(); ++i)
    targets.push_back({cells[i].label,
                       base::value_or_throw(context_.cells.with(i, settings_.step_options)).label,
                       tuning_.space.targets[i].weight});
  tuning_.proof = analysis::tune::prove_delivery(proof, targets);
  tuning_.explanations = analysis::tune::explain_delivery(proof, targets);
  tuning_.files.emplace_back(k_proof_file);
}

Result<void> TuneDelivery::finish() {
  const std::filesystem::path& folder = context_.options.folder;
  if (!is_recommended(tuning_)) {
    std::error_code ignored; // nothing names it
    if (std::erase(tuning_.files, k_table_file) > 0)
      std::filesystem::remove(folder / k_table_file, ignored);
    return {};
  }
  const analysis::tune::Delivery delivery{
      settings_.variables, settings_.step_options, header(&*tuning_.proof->all),
      analysis::tune::without_effect(tuning_.space, tuning_.outcome),
      tuning_.outcome.each_change_counts};
  for (const auto& [name, content] : analysis::tune::delivered_files(delivery)) {
    NCCLPROBE_TRY(base::write_file_atomically(folder / name, content));
    tuning_.files.push_back(name);
  }
  return {};
}

} // namespace ncclprobe::cli
