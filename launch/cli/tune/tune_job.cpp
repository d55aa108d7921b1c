// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_job.h"

#include "tuning/table_file.h"

#include "analysis/report/cell_name.h"
#include "analysis/report_value/report_writers.h"
#include "analysis/tune/delivered_files.h"
#include "analysis/tune/tuned_table.h"
#include "analysis/tune/tuning_report.h"
#include "analysis/verdict/verdict.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "workload/companions.h"
#include "workload/expected_time.h"

#include <algorithm>
#include <random>

namespace ncclprobe::cli {

using analysis::search::Candidate;
using analysis::search::TrialRequest;
using workload::TuningScope;

namespace {

constexpr const char* k_search_file = "tune.h5";
constexpr const char* k_proof_file = "proof.h5";
constexpr const char* k_table_file = "tuner.csv";
constexpr const char* k_tuner_plugin = "libncclprobe-tuner.so";
constexpr int k_proof_blocks = static_cast<int>(analysis::k_least_processes);
// Of the budget, for the search, however long the proof takes.
constexpr double k_least_search_share = 0.5;

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

std::vector<model::Setting> all_of(const CandidateSettings& settings) {
  std::vector<model::Setting> all = settings.variables;
  all.insert(all.end(), settings.of_cells.begin(), settings.of_cells.end());
  all.insert(all.end(), settings.step_options.begin(), settings.step_options.end());
  return all;
}

// A row of a tuner table names an algorithm and a protocol, or neither.
bool can_be_delivered(const std::vector<model::Setting>& of_cells) {
  auto has = [&](const char* name) {
    return std::ranges::find(of_cells, name, &model::Setting::name) != of_cells.end();
  };
  return has("algorithm") == has("protocol");
}

Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error))
    return fail({Errc::invalid_argument, folder.string() + " exists already, and is no folder",
                 "name a folder with --output"});
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail({Errc::io,
                 fmt::format("cannot make the folder {}: {}", folder.string(), error.message()),
                 "name another one with --output"});
  return {};
}

} // namespace

TuneJob::TuneJob(const World& world, const Session& session, TuneOptions options)
    : world_(world), session_(session), options_(std::move(options)) {}

workload::TuningGround TuneJob::ground() const {
  workload::TuningGround ground;
  ground.backend = session_.backend.name;
  ground.hosts = session_.hosts;
  ground.machine = request_.machine;
  ground.places = request_.nccl_places;
  ground.environment = {request_.environment.begin(), request_.environment.end()};
  ground.overrides = options_.overrides;
  ground.targets = cells_->targets();
  ground.with_compression = options_.with_compression;
  return ground;
}

analysis::search::Space TuneJob::space() {
  analysis::search::Space space;
  for (const workload::TuningParameter& one : settings_.parameters)
    space.parameters.push_back({one.name, one.values, one.scope != TuningScope::process});
  for (const model::Cell& cell : cells_->all())
    space.targets.push_back({analysis::cell_in_full(cell.label), 1, cell.label.bytes});
  space.possible = [this, ground = ground()](const Candidate& candidate, std::size_t target) {
    const CandidateSettings settings = settings_of(settings_, candidate);
    return (ground.backend != "nvidia" || can_be_delivered(settings.of_cells)) &&
           why_impossible(ground, ground.targets[target], all_of(settings)).empty() &&
           cells_->with(target, settings.step_options).has_value();
  };
  return space;
}

Result<void> TuneJob::prepare() {
  NCCLPROBE_TRY_ASSIGN(TuneCells cells, TuneCells::make(world_, session_, options_));
  cells_ = std::move(cells);
  NCCLPROBE_TRY_ASSIGN(request_, make_request(options_, session_, world_));
  request_.cells = cells_->all();
  request_.proof = workload::Proof::off;
  request_.repeats = 1;
  NCCLPROBE_TRY_ASSIGN(const workload::Plan defaults, workload::make_plan(request_));
  settings_ = tuning_space(ground());
  trials_.emplace(settings_, defaults.trials.front(), request_.environment, *cells_);
  tuning_.space = space();
  for (const workload::TuningParameter& one : settings_.parameters)
    tuning_.why.push_back(one.why);
  tuning_.notes = settings_.notes;
  for (const workload::TuningOmission& one : settings_.left_out)
    tuning_.not_in_space.push_back(
        fmt::format("{}{}{}: {}", one.name, one.value.empty() ? "" : "=", one.value, one.why));
  tuning_.transports = settings_.transports.reasons;
  tuning_.pinned = settings_.pinned;
  tuning_.min_gain = options_.min_gain;
  tuning_.budget_s = seconds(options_.time_ns);
  tuning_.synthetic = session_.backend.name == "synthetic";
  tuning_.folder = options_.folder;
  if (tuning_.space.parameters.empty())
    return fail({Errc::unsupported, "there is nothing to tune here",
                 "see what was left out with --dry-run"});
  search_.emplace(
      tuning_.space,
      analysis::search::Options{
          .min_gain = options_.min_gain,
          .budget_s = std::max(tuning_.budget_s - expected_proof_s(),
                               k_least_search_share * tuning_.budget_s),
          .expected_s = [this](const TrialRequest& one) { return trials_->expected_s(one); },
          .seed = *options_.seed});
  return {};
}

int TuneJob::show_prepared() {
  if (auto prepared = prepare(); !prepared)
    return give_up(prepared.error());
  return show_report(base::k_exit_ok);
}

int TuneJob::show_report(int exit_code) const {
  return show(analysis::written(analysis::tune::tuning_report(tuning_),
                                options_.format.value_or(analysis::Format::table),
                                base::text_columns()),
              exit_code);
}

double TuneJob::expected_proof_s() const {
  const auto defaults = workload::make_plan(request_);
  return defaults ? 3 * k_proof_blocks * workload::expected_ns(*defaults) / 1e9 : 0;
}

std::vector<model::TrialSpec> TuneJob::ask() {
  std::vector<model::TrialSpec> specs;
  for (const TrialRequest& request : search_->next()) {
    asked_.emplace(next_id_, request);
    specs.push_back(trials_->trial(request, next_id_++));
  }
  return specs;
}

std::vector<model::TrialSpec> TuneJob::learn(const model::TrialRecord& trial) {
  const auto asked = asked_.find(trial.spec.id);
  search_->learn(asked->second, TuneTrials::result(trial));
  asked_.erase(asked);
  return asked_.empty() ? ask() : std::vector<model::TrialSpec>{};
}

RunOptions TuneJob::options_writing(const char* file) const {
  RunOptions options = options_;
  options.output = (options_.folder / file).string();
  return options;
}

Job TuneJob::job() {
  Job job;
  job.options = options_writing(k_search_file);
  job.can_be_resumed = false;
  job.plan = [this]() -> Result<workload::Plan> {
    NCCLPROBE_TRY(prepare());
    NCCLPROBE_TRY(make_folder(options_.folder));
    workload::Plan plan;
    plan.trials = ask();
    plan.pinned = tuning_.pinned;
    return plan;
  };
  job.more = [this](const model::TrialRecord& trial) { return learn(trial); };
  job.next = [this] { return proof_job(); };
  job.conclude = [this](const auto&, const auto&, int exit_code) {
    return conclude(nullptr, exit_code);
  };
  return job;
}

std::vector<model::CellLabel> TuneJob::labels() const {
  std::vector<model::CellLabel> labels;
  for (const model::Cell& cell : request_.cells)
    labels.push_back(cell.label);
  return labels;
}

// Algorithm, protocol and channels of each size need NCCL's tuner interface.
Result<CandidateSettings> TuneJob::delivery_with_table() {
  CandidateSettings delivery = settings_of(settings_, tuning_.outcome.settings.candidate);
  const analysis::tune::TunedShape shape{session_.layout.ranks(),
                                         static_cast<int>(session_.layout.hosts.size())};
  tuning::Table table{header(nullptr), tuned_rows(tuning_.space, tuning_.outcome, labels(), shape)};
  // Options of a training step belong to the step, whose decision is a row of its own.
  for (const analysis::search::Decision& one : tuning_.outcome.table)
    if (one.proven && delivery.step_options.empty())
      delivery.step_options = settings_of(settings_, one.candidate).step_options;
  if (table.rows.empty())
    return delivery;
  const std::filesystem::path file = std::filesystem::absolute(options_.folder / k_table_file);
  const std::string text = to_text(table);
  NCCLPROBE_TRY(base::write_file_atomically(file, text));
  tuning_.files.emplace_back(k_table_file);
  delivery.variables.push_back(
      {"NCCL_TUNER_PLUGIN",
       (world_.program_folder.parent_path() / "lib" / k_tuner_plugin).string()});
  delivery.variables.push_back(
      {"NCCLPROBE_TUNER_TABLE", to_text(tuning::TableReference{file, tuning::sha256(text)})});
  return delivery;
}

// Without a table every size gets the same: what is proven for most targets.
CandidateSettings TuneJob::delivery_for_all() const {
  const analysis::search::Outcome& outcome = tuning_.outcome;
  std::map<Candidate, int> targets_of;
  for (const analysis::search::Decision& one : outcome.table)
    if (one.proven)
      ++targets_of[one.candidate];
  const auto most =
      std::ranges::max_element(targets_of, {}, [](const auto& one) { return one.second; });
  CandidateSettings delivery =
      settings_of(settings_, most == targets_of.end() ? outcome.settings.candidate : most->first);
  for (const model::Setting& one : workload::as_variables(session_.backend.name, delivery.of_cells))
    delivery.variables.push_back(one);
  delivery.of_cells.clear();
  return delivery;
}

tuning::Header TuneJob::header(const analysis::RatioTest* gain) const {
  const model::HostInventory& host = session_.hosts.front();
  auto version = [&](const char* library) {
    const model::Library* found = host.library(library);
    return found ? found->version : "";
  };
  tuning::Header header;
  header.machine =
      fmt::format("{} on {}{}", base::count_of(session_.layout.ranks(), "rank", "ranks"),
                  base::count_of(session_.layout.hosts.size(), "host", "hosts"),
                  tuning_.synthetic ? ", SYNTHETIC NUMBERS" : "");
  if (session_.backend.name == "nvidia") {
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

workload::Plan TuneJob::proof_plan() {
  workload::Plan plan;
  std::mt19937_64 random(*options_.seed);
  const CandidateSettings none;
  const CandidateSettings* const block[] = {&none, &none, &delivered_};
  for (int i = 0; i < k_proof_blocks; ++i) {
    std::vector<const CandidateSettings*> order(std::begin(block), std::end(block));
    std::ranges::shuffle(order, random);
    for (const CandidateSettings* one : order)
      plan.trials.push_back(trials_->delivered(*one, static_cast<int>(plan.trials.size())));
  }
  if (workload::wants_companions(workload::Proof::automatic, session_.backend.name))
    for (const CandidateSettings* one :
         {&none, static_cast<const CandidateSettings*>(&delivered_)}) {
      plan.trials.push_back(trials_->delivered(*one, static_cast<int>(plan.trials.size())));
      workload::make_companion(plan.trials.back(), request_.environment);
    }
  return plan;
}

std::optional<Job> TuneJob::proof_job() {
  tuning_.outcome = search_->outcome();
  auto delivery = session_.backend.name == "nvidia" ? delivery_with_table() : delivery_for_all();
  if (!delivery) {
    spdlog::error("{}", delivery.error().text());
    return std::nullopt;
  }
  delivered_ = std::move(*delivery);
  tuning_.delivered = all_of(delivered_);
  tuning_.variables = delivered_.variables;
  if (tuning_.delivered.empty())
    return std::nullopt;
  Job job;
  job.options = options_writing(k_proof_file);
  job.can_be_resumed = false;
  job.plan = [this]() -> Result<workload::Plan> { return proof_plan(); };
  job.conclude = [this](const analysis::RunSummary& run, const auto&, int exit_code) {
    return conclude(&run, exit_code);
  };
  return job;
}

Result<void> TuneJob::write_files() {
  analysis::tune::Delivery delivery;
  delivery.environment = delivered_.variables;
  delivery.step_options = delivered_.step_options;
  delivery.about = header(&*tuning_.proof->all);
  for (const auto& [name, content] : analysis::tune::delivered_files(delivery)) {
    NCCLPROBE_TRY(base::write_file_atomically(options_.folder / name, content));
    tuning_.files.push_back(name);
  }
  return {};
}

int TuneJob::conclude(const analysis::RunSummary* proof, int exit_code) {
  tuning_.outcome = search_->outcome();
  tuning_.measured = true;
  tuning_.files.insert(tuning_.files.begin(), k_search_file);
  if (proof) {
    std::vector<analysis::tune::ProvenTarget> targets;
    for (std::size_t i = 0; i < request_.cells.size(); ++i)
      targets.push_back({request_.cells[i].label,
                         base::value_or_throw(cells_->with(i, delivered_.step_options)).label,
                         tuning_.space.targets[i].weight});
    tuning_.proof = analysis::tune::prove_delivery(*proof, targets);
    tuning_.files.emplace_back(k_proof_file);
  }
  if (is_recommended(tuning_)) {
    if (auto written = write_files(); !written)
      return give_up(written.error());
  } else if (std::erase(tuning_.files, k_table_file) > 0) {
    std::error_code ignored; // it is named nowhere
    std::filesystem::remove(options_.folder / k_table_file, ignored);
  }
  // A candidate that failed is a result, not a failure of the tuning.
  const bool of_candidates =
      exit_code == base::k_exit_some_failed || exit_code == base::k_exit_wrong_data;
  return show_report(of_candidates ? base::k_exit_ok : exit_code);
}

} // namespace ncclprobe::cli
