// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_job.h"

#include "system/nccl_files.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/replay_section.h"
#include "analysis/report_value/report_writers.h"
#include "analysis/results/cell_readings.h"
#include "analysis/tune/seen_transport.h"
#include "analysis/tune/tuning_report.h"
#include "base/atomic_file.h"
#include "base/clock.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/result_folder.h"
#include "workload/cell_tuner.h"
#include "workload/companions.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace ncclprobe::cli {

using analysis::search::Candidate;
using analysis::search::TrialRequest;
using workload::TuningScope;

namespace {

constexpr const char* k_search_file = "tune.h5";

double seconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

// A row of a tuner table names an algorithm and a protocol, or neither.
bool can_be_delivered(const std::vector<model::Setting>& of_cells) {
  auto has = [&](const char* name) {
    return std::ranges::find(of_cells, name, &model::Setting::name) != of_cells.end();
  };
  return has("algorithm") == has("protocol");
}

// A candidate that fails is a result. The default and the delivery have to work.
int exit_code_that_counts(model::OutcomeKind outcome) {
  switch (outcome) {
  case model::OutcomeKind::ok:
  case model::OutcomeKind::not_run: // another cell ended the trial
    return base::k_exit_ok;
  case model::OutcomeKind::wrong_data:
    return base::k_exit_wrong_data;
  default:
    return base::k_exit_some_failed;
  }
}

} // namespace

TuneJob::TuneJob(const World& world, const Session& session, TuneOptions options)
    : world_(world), session_(session), options_(std::move(options)) {}

workload::TuningGround TuneJob::ground() const {
  workload::TuningGround ground;
  ground.backend = session_.backend.name;
  ground.hosts = session_.hosts;
  ground.machine = workload::nccl_machine(request_);
  ground.places = request_.nccl_places;
  ground.environment = {request_.environment.begin(), request_.environment.end()};
  for (const model::NcclFile& file : system::nccl_files(request_.environment))
    for (const model::Setting& one : file.settings)
      if (ground.environment.emplace(one.name, one.value).second)
        ground.files.emplace(one.name, file.path);
  ground.overrides = options_.overrides;
  ground.targets = cells_->targets();
  ground.with_compression = options_.with_compression;
  ground.only_environment = options_.check_environment;
  return ground;
}

analysis::search::Space TuneJob::space() {
  analysis::search::Space space;
  for (const workload::TuningParameter& one : settings_.parameters)
    space.parameters.push_back({one.name, one.values, one.scope != TuningScope::process});
  const std::vector<model::Cell> cells = cells_->all();
  const std::vector<double> weights = cells_->weights();
  for (std::size_t i = 0; i < cells.size(); ++i)
    space.targets.push_back(
        {analysis::cell_in_full(cells[i].label), weights[i], cells[i].label.bytes});
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
  tuning_.environment = settings_.environment;
  tuning_.only_environment = options_.check_environment;
  tuning_.min_gain = options_.min_gain;
  tuning_.budget_s = seconds(options_.time_ns);
  tuning_.synthetic = session_.backend.name == "synthetic";
  tuning_.folder = options_.folder;
  return {};
}

analysis::search::Options TuneJob::search_options() const {
  const ExpectedEnd end = expected_end(request_);
  const std::size_t search_companions = shows_losers() ? 1 + analysis::tune::k_most_losers : 0;
  return {.min_gain = options_.min_gain,
          .budget_s = tuning_.budget_s,
          .end_s =
              [=, this](bool screened) {
                double left_s = end.companion_s;
                if (part_ == Part::search)
                  left_s = end.after_search_s(screened, search_companions);
                else if (part_ == Part::confirm)
                  left_s = end.after_confirming_s(screened);
                return left_s * trials_->slowness();
              },
          .expected_s = [this](const TrialRequest& one) { return trials_->expected_s(one); },
          .seed = *options_.seed};
}

int TuneJob::show_prepared() {
  if (auto prepared = prepare(); !prepared)
    return give_up(prepared.error());
  if (!tuning_.space.parameters.empty()) {
    search_.emplace(tuning_.space, search_options()); // refuses what a run would refuse
    tuning_.forecast = analysis::search::forecast(tuning_.space, search_options());
  }
  return show_report(base::k_exit_ok);
}

int TuneJob::show_report(int exit_code) const {
  return show(analysis::written(analysis::tune::tuning_report(tuning_),
                                options_.format.value_or(analysis::Format::table),
                                base::text_columns()),
              exit_code);
}

std::vector<model::TrialSpec> TuneJob::ask() {
  std::vector<TrialRequest> requests = search_->next();
  if (part_ == Part::search) {
    const bool ends =
        requests.empty() || requests.front().stage == analysis::search::Stage::confirm;
    if (!ends)
      return specs_of(requests);
    to_confirm_ = std::move(requests);
    return companions_of(losers_to_show());
  }
  if (!requests.empty())
    return specs_of(requests);
  if (part_ == Part::confirm)
    return deliver();
  std::vector<model::TrialSpec> companion;
  if (auto one = delivery_->companion(next_id_))
    companion.push_back(std::move(*one));
  return companion;
}

std::vector<model::TrialSpec> TuneJob::specs_of(const std::vector<TrialRequest>& all) {
  std::vector<model::TrialSpec> specs;
  for (const TrialRequest& request : all) {
    asked_.emplace(next_id_, request);
    specs.push_back(request.form == analysis::search::Form::delivered
                        ? delivery_->trial(next_id_)
                        : trials_->trial(request, next_id_));
    ++next_id_;
  }
  return specs;
}

std::vector<model::TrialSpec> TuneJob::companions_of(const std::vector<Candidate>& candidates) {
  std::vector<model::TrialSpec> specs;
  if (!workload::wants_companions(workload::Proof::automatic, session_.backend.name))
    return specs;
  const bool can_have_rows =
      std::ranges::any_of(tuning_.space.parameters, &analysis::search::Parameter::in_process);
  for (const Candidate& one : candidates) {
    companion_of_.insert_or_assign(next_id_, one);
    specs.push_back(trials_->delivered(settings_of(settings_, one), next_id_++));
    workload::make_companion(specs.back(), request_.environment);
    if (can_have_rows)
      workload::add_tuner(specs.back(), request_.environment);
  }
  return specs;
}

std::vector<model::TrialSpec> TuneJob::deliver() {
  part_ = Part::delivery;
  tuning_.outcome = search_->outcome();
  const auto at = std::ranges::find(shown_, tuning_.outcome.settings.candidate) - shown_.begin();
  const model::TrialRecord* companion =
      at < std::ssize(companions_) ? &companions_[static_cast<std::size_t>(at)] : nullptr;
  auto delivery = TuneDelivery::make(context(), companion, tuning_);
  if (!delivery) {
    exit_code_ = give_up(delivery.error());
    return {};
  }
  if (tuning_.delivered.empty())
    return {};
  delivery_.emplace(std::move(*delivery));
  if (delivery_->is_confirmed())
    return {};
  search_->deliver(delivery_->of_targets());
  return specs_of(search_->next());
}

TuneContext TuneJob::context() {
  return {world_, session_, options_, request_, settings_, *cells_, *trials_};
}

bool TuneJob::shows_losers() const {
  constexpr double k_short_s = 120; // then all the time is for finding what is faster
  return tuning_.budget_s >= k_short_s;
}

// They come after the default.
std::vector<Candidate> TuneJob::losers_to_show() {
  std::vector<Candidate> all;
  if (shows_losers())
    all = analysis::tune::clear_losers(search_->outcome(), options_.min_gain);
  if (!all.empty())
    all.insert(all.begin(), default_candidate(tuning_.space));
  return all;
}

// The default and the settings that are confirmed with it.
std::vector<Candidate> TuneJob::finalists() const {
  std::set<Candidate> all;
  for (const TrialRequest& request : to_confirm_)
    all.insert(request.process);
  return {all.begin(), all.end()};
}

void TuneJob::keep(const model::TrialRecord& trial) {
  std::uint64_t throttle_reasons = 0;
  for (const model::CellRecord& cell : trial.cells)
    throttle_reasons |= analysis::throttle_reasons(cell);
  using analysis::tune::TrialRole;
  const auto asked = asked_.find(trial.spec.id);
  const TrialRole role = asked == asked_.end()     ? TrialRole::companion
                         : part_ == Part::delivery ? TrialRole::delivery
                                                   : TrialRole::search;
  tuning_.ran.push_back({.file = part_ == Part::search ? k_search_file : k_proof_file,
                         .number = trial.spec.id,
                         .role = role,
                         .request = asked == asked_.end() ? TrialRequest{} : asked->second,
                         .settings = trial.spec.name,
                         .cells = static_cast<int>(trial.cells.size()),
                         .outcome = trial.outcome,
                         .failed = TuneTrials::failed_cells(trial),
                         .seconds = seconds(trial.total_ns),
                         .throttle_reasons = throttle_reasons});
}

std::vector<model::TrialSpec> TuneJob::learn(const model::TrialRecord& trial) {
  keep(trial);
  const std::int64_t now_ns = base::monotonic_ns();
  const std::int64_t since_last_ns = now_ns - std::exchange(last_end_ns_, now_ns);
  // A trial starts while the one before it ends, so its own time counts some of it twice.
  const double spent_s = seconds(since_last_ns < now_ns ? since_last_ns : trial.total_ns);
  if (trial.spec.purpose == model::Purpose::companion) {
    const auto of = companion_of_.find(trial.spec.id);
    if (of != companion_of_.end() && std::ranges::find(shown_, of->second) == shown_.end()) {
      shown_.push_back(of->second);
      companions_.push_back(trial);
    }
    search_->spend(spent_s);
    return {};
  }
  analysis::search::TrialResult result = TuneTrials::result(trial);
  result.seconds = spent_s;
  const auto asked = asked_.find(trial.spec.id);
  const bool is_delivered = asked->second.form == analysis::search::Form::delivered;
  for (std::size_t i = 0; i < result.cells.size(); ++i) {
    const auto& [target, candidate] = asked->second.cells[i];
    if (is_delivered || candidate == default_candidate(tuning_.space))
      exit_code_ = std::max(exit_code_, exit_code_that_counts(result.cells[i].outcome));
    if (is_delivered) // the proof has its parts
      continue;
    if (const auto times =
            analysis::tune::step_times_of(trial.spec.cells[i], trial.cells[i], trial.spec.ranks))
      tuning_.step_times.add(target, candidate, *times);
  }
  search_->learn(asked->second, result);
  trials_->learn(asked->second, result);
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
    if (tuning_.space.parameters.empty())
      return fail({Errc::unsupported,
                   options_.check_environment
                       ? "no variable of the environment can have an effect here"
                       : "there is nothing to tune here",
                   "--dry-run shows what was left out, and why"});
    search_.emplace(tuning_.space, search_options());
    NCCLPROBE_TRY(make_folder(options_.folder));
    if (options_.force)
      remove_delivery(options_.folder);
    workload::Plan plan;
    plan.trials = ask();
    plan.pinned = tuning_.pinned;
    plan.captured = cells_->captured();
    return plan;
  };
  job.more = [this](const model::TrialRecord& trial) { return learn(trial); };
  job.next = [this] { return proof_job(); };
  job.conclude = [this](const auto&, const auto&, int exit_code) {
    return conclude(nullptr, exit_code);
  };
  return job;
}

// Confirming in fresh processes is the proof. Where the delivery has another form, it is measured
// too.
std::optional<Job> TuneJob::proof_job() {
  if (to_confirm_.empty())
    return std::nullopt;
  part_ = Part::confirm;
  next_id_ = 0; // in a file of its own
  companion_of_.clear();
  Job job;
  job.options = options_writing(k_proof_file);
  job.can_be_resumed = false;
  job.plan = [this]() -> Result<workload::Plan> {
    workload::Plan plan;
    plan.trials = companions_of(finalists());
    std::ranges::move(specs_of(to_confirm_), std::back_inserter(plan.trials));
    plan.pinned = tuning_.pinned;
    plan.captured = cells_->captured();
    return plan;
  };
  job.more = [this](const model::TrialRecord& trial) { return learn(trial); };
  job.conclude = [this](const analysis::RunSummary& run, const auto&, int exit_code) {
    return conclude(&run, exit_code);
  };
  return job;
}

Result<void> TuneJob::write_report() {
  const std::string name(analysis::tune::k_report_file);
  tuning_.files.push_back(name);
  return base::write_file_atomically(
      options_.folder / name,
      analysis::written(analysis::tune::tuning_report(tuning_), analysis::Format::json));
}

int TuneJob::conclude(const analysis::RunSummary* proof, int exit_code) {
  tuning_.outcome = search_->outcome();
  tuning_.choices = analysis::tune::choices_of(companions_, shown_, cells_->labels());
  tuning_.ineffective = analysis::tune::ineffective_settings(companions_, shown_);
  tuning_.measured = true;
  tuning_.files.insert(tuning_.files.begin(), k_search_file);
  if (proof)
    tuning_.files.emplace_back(k_proof_file);
  const auto of_default = std::ranges::find(shown_, default_candidate(tuning_.space));
  if (of_default != shown_.end())
    if (std::string caution = analysis::tune::unexpected_transport(
            settings_.transports,
            companions_[static_cast<std::size_t>(of_default - shown_.begin())]);
        !caution.empty())
      tuning_.notes.push_back(std::move(caution));
  if (proof && delivery_) {
    delivery_->judge(*proof);
    for (const analysis::Finding& one : analysis::replay_caution(analysis::RunFigures(*proof)))
      tuning_.notes.push_back(in_words(one));
  }
  if (delivery_)
    if (auto finished = delivery_->finish(); !finished)
      return give_up(finished.error());
  if (auto written = write_report(); !written) // the answer is shown all the same
    exit_code_ = std::max(exit_code_, give_up(written.error()));
  // Failures of the search's trials are those of candidates, if all that it asked for has run.
  // exit_code_ has those of the default and of the delivery.
  const bool of_candidates = asked_.empty() && (exit_code == base::k_exit_some_failed ||
                                                exit_code == base::k_exit_wrong_data);
  return show_report(std::max(exit_code_, of_candidates ? base::k_exit_ok : exit_code));
}

} // namespace ncclprobe::cli
