// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_delivery.h"

#include "tuning/table_file.h"

#include "analysis/search/delivery_step.h"
#include "analysis/tune/choice_for_all.h"
#include "analysis/tune/delivered_files.h"
#include "analysis/tune/rejected_trials.h"
#include "analysis/tune/tuned_table.h"
#include "analysis/tune/tuning_report.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "launch/cli/files/report_files.h"
#include "store/run_file.h"
#include "workload/companions.h"
#include "workload/expected_time.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::cli {

namespace {

constexpr const char* k_table_file = "tuner.csv";
constexpr const char* k_tuner_plugin = "libncclprobe-tuner.so";

// In place of what `variables` has for that name.
void set_variable(std::vector<model::Setting>& variables, model::Setting one) {
  std::erase_if(variables, [&](const model::Setting& other) { return other.name == one.name; });
  variables.push_back(std::move(one));
}

// Of a tuner table, for what the search has proven. Only NCCL takes a table.
std::vector<tuning::Row> proven_rows(const TuneContext& context,
                                     const analysis::search::Space& space,
                                     const analysis::search::Outcome& outcome) {
  if (context.session.backend.name != "nvidia")
    return {};
  return analysis::tune::tuned_rows(
      space, outcome, context.cells.labels(),
      {context.request.ranks, std::max(workload::nccl_machine(context.request).nodes, 1)});
}

} // namespace

ExpectedEnd expected_end(const workload::PlanRequest& defaults) {
  const auto plan = workload::make_plan(defaults);
  if (!plan)
    return {};
  const model::TrialSpec& trial = plan->trials.front();
  constexpr double k_ns = 1e9;
  ExpectedEnd end{.delivery_s = analysis::search::DeliveryStep::k_trials *
                                workload::expected_trial_ns(trial) / k_ns};
  if (workload::wants_companions(workload::Proof::automatic, defaults.backend)) {
    model::TrialSpec companion = trial;
    workload::make_companion(companion, defaults.environment);
    end.companion_s = workload::expected_trial_ns(companion) / k_ns;
  }
  return end;
}

void remove_delivery(const std::filesystem::path& folder) {
  std::error_code ignored; // most are not there
  for (const std::string_view name : analysis::tune::k_delivered_names)
    std::filesystem::remove(folder / name, ignored);
  std::filesystem::remove(folder / k_table_file, ignored);
  std::filesystem::remove(folder / k_proof_file, ignored);
  std::filesystem::remove(folder / analysis::tune::k_report_file, ignored);
}

Result<TuneDelivery> TuneDelivery::make(const TuneContext& context,
                                        const model::TrialRecord* companion,
                                        analysis::tune::Tuning& tuning) {
  TuneDelivery delivery(context, tuning);
  if (delivery.can_have_table())
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
    analysis::tune::complete_rows(table.rows, *companion);
  // Options of a training step belong to the step, whose decision is a row of its own.
  for (const analysis::search::Decision& one : outcome.table)
    if (one.proven && settings_.step_options.empty())
      settings_.step_options = settings_of(context_.space, one.candidate).step_options;
  if (table.rows.empty())
    return {};
  const std::filesystem::path file =
      std::filesystem::absolute(context_.options.folder / k_table_file);
  set_variable(settings_.variables,
               {"NCCL_TUNER_PLUGIN",
                (context_.world.program_folder.parent_path() / "lib" / k_tuner_plugin).string()});
  NCCLPROBE_TRY(write_table(file, table));
  tuning_.files.emplace_back(k_table_file);
  table_ = std::move(table);
  return {};
}

// Sets the variable that names the file and its content.
Result<void> TuneDelivery::write_table(const std::filesystem::path& file,
                                       const tuning::Table& table) {
  const std::string text = to_text(table);
  NCCLPROBE_TRY(base::write_file_atomically(file, text));
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

bool TuneDelivery::is_confirmed() const {
  const CandidateSettings confirmed =
      settings_of(context_.space, tuning_.outcome.settings.candidate);
  return settings_.variables == confirmed.variables && settings_.step_options.empty();
}

std::vector<analysis::search::Candidate> TuneDelivery::of_targets() const {
  const analysis::search::Outcome& outcome = tuning_.outcome;
  std::vector<analysis::search::Candidate> all;
  for (const analysis::search::Decision& one : outcome.table)
    all.push_back(can_have_table() ? one.candidate
                                   : analysis::tune::choice_for_all(tuning_.space, outcome));
  return all;
}

model::TrialSpec TuneDelivery::trial(int id) const {
  return context_.trials.delivered(settings_, id);
}

std::optional<model::TrialSpec> TuneDelivery::companion(int id) {
  if (std::exchange(has_companion_, true) ||
      !workload::wants_companions(workload::Proof::automatic, context_.session.backend.name))
    return std::nullopt;
  model::TrialSpec one = trial(id);
  workload::make_companion(one, context_.request.environment);
  return one;
}

std::vector<analysis::tune::InProcessTarget>
TuneDelivery::in_process_targets(const std::vector<analysis::tune::ProvenTarget>& targets) const {
  std::vector<analysis::tune::InProcessTarget> all;
  const std::vector<analysis::search::Candidate> candidates = of_targets();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    CandidateSettings settings = settings_of(context_.space, candidates[i]);
    if (settings.of_cells.empty())
      continue;
    settings.step_options.clear(); // they are part of the cell
    all.push_back({i, targets[i], all_of(settings), tuning_.outcome.table[i].floor});
  }
  return all;
}

void TuneDelivery::judge(const analysis::RunSummary& proof) {
  const std::vector<model::Cell>& cells = context_.request.cells;
  std::vector<analysis::tune::ProvenTarget> targets;
  for (std::size_t i = 0; i < cells.size(); ++i)
    targets.push_back({cells[i].label,
                       base::value_or_throw(context_.cells.with(i, settings_.step_options)).label,
                       tuning_.space.targets[i].weight});
  const std::string delivered = model::label_of(settings_.variables);
  const auto out = analysis::tune::rejected_trials(tuning_.ran, tuning_.outcome, k_proof_file);
  tuning_.proof = analysis::tune::prove_delivery(proof, targets, delivered, out.numbers);
  tuning_.proof->repeated = out.repeated;
  tuning_.proof->outcome = tuning_.outcome.delivery;
  tuning_.explanations = analysis::tune::explain_delivery(proof, targets, delivered);
  tuning_.in_process = analysis::tune::check_in_process(
      proof, in_process_targets(targets), delivered, tuning_.explanations, out.numbers);
}

// Its trials are judged only when the run file is whole.
Result<void> TuneDelivery::add_gain_to_proof(const std::string& settings,
                                             const analysis::RatioTest& gain) {
  const std::filesystem::path file = context_.options.folder / k_proof_file;
  NCCLPROBE_TRY_ASSIGN(model::Run run, store::resume_run(file, store::Rows::drop));
  run.header.proven = {{settings, gain.ratio, gain.interval.low, gain.interval.high}};
  NCCLPROBE_TRY(store::write_header(file, run.header));
  return fold_parts(file);
}

// The trials of the proof loaded the same rows without it.
Result<void> TuneDelivery::add_gain_to_table(const tuning::Header& about) {
  const std::filesystem::path file =
      std::filesystem::absolute(context_.options.folder / k_table_file);
  table_->header.gain = about.gain;
  table_->header.interval = about.interval;
  NCCLPROBE_TRY(write_table(file, *table_));
  tuning_.delivered = all_of(settings_);
  tuning_.variables = settings_.variables;
  return {};
}

Result<void> TuneDelivery::finish() {
  const std::filesystem::path& folder = context_.options.folder;
  if (!is_recommended(tuning_)) {
    std::error_code ignored; // nothing names it
    if (std::erase(tuning_.files, k_table_file) > 0)
      std::filesystem::remove(folder / k_table_file, ignored);
    return {};
  }
  const tuning::Header about = header(&*tuning_.proof->all);
  for (const analysis::tune::InProcessCheck& one : tuning_.in_process)
    if (one.is_logged == false)
      tuning_.notes.push_back(fmt::format("the library did not follow the settings of {}: {}",
                                          tuning_.space.targets[one.target].name,
                                          in_words(one.reason)));
  const std::string proven = model::label_of(all_of(settings_)); // as in the trials of the proof
  if (table_)
    NCCLPROBE_TRY(add_gain_to_table(about));
  const analysis::tune::Delivery delivery{
      settings_.variables, settings_.step_options, about,
      analysis::tune::without_effect(tuning_.space, tuning_.outcome),
      tuning_.outcome.each_change_counts};
  for (const auto& [name, content] : analysis::tune::delivered_files(delivery)) {
    NCCLPROBE_TRY(base::write_file_atomically(folder / name, content));
    tuning_.files.push_back(name);
  }
  if (auto added = add_gain_to_proof(proven, *tuning_.proof->all); !added) // all else is written
    spdlog::warn("{} lacks the gain: {}", k_proof_file, added.error().text());
  return {};
}

} // namespace ncclprobe::cli
