// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/proof/proof.h"

#include "analysis/proof/nccl_log.h"
#include "analysis/proof/proof_reasons.h"
#include "analysis/proof/variable_proof.h"
#include "analysis/results/cell_summary.h"
#include "analysis/results/loaded_libraries.h"
#include "analysis/results/worker_cpus.h"
#include "workload/nccl_selection.h"

#include <algorithm>
#include <array>
#include <set>

namespace ncclprobe::analysis {
namespace {

using namespace std::string_view_literals;
using model::Evidence;
using model::TrialRecord;

std::uint64_t bytes_of_nccl_type(std::string_view type) {
  constexpr std::array k_sizes{std::pair{"8"sv, 1}, std::pair{"16"sv, 2}, std::pair{"32"sv, 4},
                               std::pair{"64"sv, 8}};
  if (type.starts_with("ncclFloat8"))
    return 1;
  for (const auto& [ending, bytes] : k_sizes)
    if (type.ends_with(ending))
      return static_cast<std::uint64_t>(bytes);
  return 0;
}

// The library calls of the cell's timed operations, on one rank.
struct Calls {
  std::set<std::pair<std::string_view, std::uint64_t>> collectives; // function, bytes of `count`
  std::set<std::uint64_t> sends;                                    // bytes
};

Calls calls_of(const model::Cell& cell, int rank) {
  Calls calls;
  const model::Schedule& schedule = cell.schedule;
  int last = std::min(schedule.timed.last, static_cast<int>(schedule.operations.size()));
  for (int i = std::max(schedule.timed.first, 0); i < last; ++i) {
    const auto& what = schedule.operations[i].what;
    if (auto* collective = std::get_if<model::CollectiveOp>(&what)) {
      std::uint64_t bytes = collective->count * model::size_bytes(collective->type);
      if (auto function = workload::nccl_function(collective->collective))
        calls.collectives.insert({*function, bytes});
      else
        calls.sends.insert(bytes);
    } else if (auto* send = std::get_if<model::SendOp>(&what)) {
      calls.sends.insert(send->count.at(rank) * model::size_bytes(send->type));
    }
  }
  return calls;
}

void add_use(std::vector<Use>& uses, Use use) {
  if (std::ranges::find(uses, use) == uses.end())
    uses.push_back(std::move(use));
}

std::vector<Use> from_profiler(const Evidence& evidence, int cell, const Calls& calls) {
  std::vector<Use> uses;
  int send_channels = 0;
  for (const model::Choice& choice : evidence.choices) {
    if (choice.cell != cell)
      continue;
    bool collective = std::ranges::any_of(
        calls.collectives, [&](const auto& one) { return one.first == choice.function; });
    if (collective)
      add_use(uses, {choice.algorithm, choice.protocol, choice.channels});
    else if (choice.peer >= 0 && // barriers are sends too, of 8 bytes
             calls.sends.contains(choice.count * bytes_of_nccl_type(choice.type)))
      send_channels = std::max(send_channels, choice.channels);
  }
  if (send_channels > 0)
    add_use(uses, {"", "", send_channels});
  std::ranges::sort(uses);
  return uses;
}

std::vector<Use> from_log(const NcclLog& log, const Calls& calls) {
  std::vector<Use> uses;
  for (const ChoiceLine& choice : log.choices)
    for (const auto& [function, bytes] : calls.collectives)
      if (choice.function == function && choice.bytes == bytes)
        add_use(uses, {choice.algorithm, choice.protocol, choice.channels});
  std::ranges::sort(uses);
  return uses;
}

// The log does not separate cells: another cell of the trial, with another operation, type or
// memory, may have made calls that look the same in it.
bool shares_calls(const TrialRecord& trial, int index, const Calls& calls, int rank) {
  for (int other = 0; other < std::ssize(trial.spec.cells); ++other) {
    if (other == index)
      continue;
    Calls others = calls_of(trial.spec.cells[other], rank);
    if (std::ranges::any_of(calls.collectives,
                            [&](const auto& call) { return others.collectives.contains(call); }))
      return true;
  }
  return false;
}

std::string in_words(const std::vector<Use>& uses) {
  std::string text;
  for (const Use& use : uses)
    text += (text.empty() ? "" : ", ") + in_words(use);
  return text;
}

CellProof prove_cell(const TrialRecord& trial, int index, const std::map<int, NcclLog>& logs) {
  const model::Cell& cell = trial.spec.cells[index];
  CellProof proof;
  proof.label = cell.label;
  for (const Evidence& evidence : trial.evidence) {
    Calls calls = calls_of(cell, evidence.rank);
    std::vector<Use> seen = from_profiler(evidence, index, calls);
    std::vector<Use> logged = from_log(logs.at(evidence.rank), calls);
    bool shared = shares_calls(trial, index, calls, evidence.rank);
    bool agree = shared ? std::includes(logged.begin(), logged.end(), seen.begin(), seen.end())
                        : seen == logged;
    if (!seen.empty() && !logged.empty() && !agree)
      proof.disagreement = fmt::format("rank {}: the log says {}, the profiler {}", evidence.rank,
                                       in_words(logged), in_words(seen));
    if (seen.empty() && shared && logged.size() > 1)
      proof.unclear =
          fmt::format("rank {}: the log says {}, but several similar cells may have used either",
                      evidence.rank, in_words(logged));
    else if (seen.empty())
      seen = std::move(logged);
    if (!seen.empty())
      proof.by_rank[evidence.rank] = std::move(seen);
  }
  return proof;
}

// Equal verdicts are combined, with their ranks.
void add_verdict(std::vector<VariableProof>& all, VariableProof one, int rank) {
  auto same = std::ranges::find_if(all, [&](const VariableProof& other) {
    return other.setting == one.setting && other.effect == one.effect &&
           in_words(other.reason) == in_words(one.reason) && other.line == one.line;
  });
  if (same == all.end())
    same = all.insert(all.end(), std::move(one));
  same->ranks.push_back(rank);
}

void add_note(std::vector<std::string>& notes, std::string note) {
  if (std::ranges::find(notes, note) == notes.end())
    notes.push_back(std::move(note));
}

// Variables that NCCL found in its environment, but that this run did not set.
void note_strangers(SettingProof& proof, const model::Run& run, const TrialRecord& trial, int rank,
                    const NcclLog& log) {
  std::vector<model::Setting> ours = trial.spec.process.at(rank);
  for (const auto* more : {&trial.spec.instruments, &run.header.environment})
    ours.insert(ours.end(), more->begin(), more->end());
  for (const SettingLine& line : log.settings) {
    bool known =
        std::ranges::any_of(ours, [&](const model::Setting& one) { return one.name == line.name; });
    if (!known)
      add_note(proof.notes,
               fmt::format("not set by this run, but by a configuration file or a plugin: {}",
                           line.line));
  }
  for (const std::string& line : log.interventions)
    add_note(proof.notes, line);
}

// The workers' loaded libraries prove libraries, not the log.
void prove_libraries(SettingProof& proof, const TrialRecord& trial) {
  for (const model::Setting& setting : trial.spec.under_test()) {
    bool of_loader = setting.name == k_loader_path;
    bool is_library = std::ranges::find(trial.spec.tested_libraries, setting) !=
                      trial.spec.tested_libraries.end();
    if (!of_loader && !is_library)
      continue;
    for (const model::WorkerRecord& worker : trial.workers) {
      VariableProof one{setting, Effect::not_known, {}, {}, {}};
      std::string loaded;
      bool problem = false;
      for (const model::Library& library : worker.libraries)
        if (of_loader || library.name == setting.name) {
          loaded += (loaded.empty() ? "" : ", ") +
                    in_words(LoadedLibrary{library.name, library.version, library.path, {}}) +
                    (library.problem.empty() ? "" : ": " + library.problem);
          problem = problem || !library.problem.empty();
        }
      // Of a path, the comparison of settings says which of these it led to.
      one.reason = loaded.empty() ? Finding{&proof_reason::k_libraries_unknown}
                                  : Finding{is_library ? &proof_reason::k_loaded
                                                       : &proof_reason::k_path_led_to,
                                            {{"libraries", loaded}}};
      if (!loaded.empty() && is_library)
        one.effect = problem ? Effect::overridden : Effect::took_effect;
      for (int rank : worker.ranks)
        add_verdict(proof.variables, one, rank);
    }
  }
}

// The workers' CPUs prove CPUs.
void prove_cpus(SettingProof& proof, const TrialRecord& trial) {
  if (trial.spec.cpu_affinity.empty())
    return;
  for (const model::WorkerRecord& worker : trial.workers) {
    VariableProof one{
        {model::k_cpu_affinity, trial.spec.cpu_affinity}, Effect::not_known, {}, {}, {}};
    if (!worker.cpus_asked.empty() && !worker.cpus.empty())
      one.effect = worker.cpus == worker.cpus_asked ? Effect::took_effect : Effect::overridden;
    one.reason = !worker.cpus.empty() ? Finding{&proof_reason::k_ran_on, {{"cpus", worker.cpus}}}
                 : trial.outcome.ok()
                     ? Finding{&proof_reason::k_cpus_unknown}
                     : Finding{&proof_reason::k_trial_failed, {{"outcome", trial.outcome.reason}}};
    for (int rank : worker.ranks)
      add_verdict(proof.variables, one, rank);
  }
}

SettingProof prove(const model::Run& run, const TrialRecord& trial) {
  SettingProof proof;
  // A companion of in-process settings has them in all cells (workload/plan.h).
  const model::Cell none;
  const model::Cell& first = trial.spec.cells.empty() ? none : trial.spec.cells.front();
  proof.setting = setting_name(trial.spec, first);
  proof.trial = trial.spec.id;
  proof.is_default = is_default(trial.spec, first);
  proof.outcome = trial.outcome;
  std::map<int, NcclLog> logs;
  for (const Evidence& evidence : trial.evidence)
    logs[evidence.rank] = read_nccl_log(evidence.log);
  for (int c = 0; c < std::ssize(trial.spec.cells); ++c)
    proof.cells.push_back(prove_cell(trial, c, logs));
  prove_libraries(proof, trial);
  prove_cpus(proof, trial);
  for (int rank = 0; rank < trial.spec.ranks; ++rank) {
    for (const model::Setting& setting : first.settings)
      add_verdict(proof.variables, prove_in_process(setting, proof.cells, rank), rank);
    auto log = logs.find(rank);
    for (const model::Setting& setting : trial.spec.process.at(rank)) {
      if (setting.name == k_loader_path)
        continue; // prove_libraries()
      if (log == logs.end()) {
        add_verdict(
            proof.variables,
            {setting, Effect::not_known, Finding{&proof_reason::k_nothing_recorded}, {}, {}}, rank);
        continue;
      }
      VariableProof one = prove_variable(setting, log->second, trial.spec.backend);
      check_choices(one, log->second, trial.spec, proof.cells, rank);
      add_verdict(proof.variables, std::move(one), rank);
    }
    if (log != logs.end() && trial.spec.backend == "nvidia")
      note_strangers(proof, run, trial, rank, log->second);
  }
  for (const Evidence& evidence : trial.evidence)
    if (trial.spec.backend == "nvidia" && evidence.profiler.rfind('v', 0) != 0)
      add_note(proof.notes, "no profiler: " + evidence.profiler);
  return proof;
}

void compare_with(const SettingProof& base, SettingProof& proof) {
  bool all_known = !proof.cells.empty();
  bool any_differs = false;
  for (CellProof& cell : proof.cells) {
    auto same_label = [&](const CellProof& other) { return other.label == cell.label; };
    auto other = std::ranges::find_if(base.cells, same_label);
    if (other == base.cells.end() || cell.by_rank.empty() || other->by_rank.empty()) {
      all_known = false;
      continue;
    }
    cell.as_default = cell.by_rank == other->by_rank;
    any_differs = any_differs || !*cell.as_default;
  }
  proof.changed_nothing = all_known && !any_differs;
}

} // namespace

std::string in_words(const Use& use) {
  std::string text = use.algorithm;
  if (!use.protocol.empty())
    text += (text.empty() ? "" : " ") + use.protocol;
  if (use.channels > 0)
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", use.channels,
                        use.channels == 1 ? "channel" : "channels");
  return text;
}

std::optional<Use> one_use(const SettingProof& proof, const model::CellLabel& label) {
  std::optional<Use> one;
  for (const CellProof& cell : proof.cells) {
    if (cell.label != label)
      continue;
    for (const auto& [rank, uses] : cell.by_rank)
      for (const Use& use : uses) {
        if (one && (one->algorithm != use.algorithm || one->protocol != use.protocol))
          return std::nullopt;
        one = use;
      }
  }
  return one;
}

std::vector<SettingProof> setting_proofs(const model::Run& run) {
  std::vector<SettingProof> proofs;
  for (const TrialRecord& trial : run.trials)
    if (trial.spec.purpose == model::Purpose::companion)
      proofs.push_back(prove(run, trial));
  auto base =
      std::ranges::find_if(proofs, [](const SettingProof& proof) { return proof.is_default; });
  if (base != proofs.end())
    for (SettingProof& proof : proofs)
      if (!proof.is_default)
        compare_with(*base, proof);
  for (const SettingCpus& cpus : setting_cpus(run))
    for (SettingProof& proof : proofs)
      if (proof.setting == cpus.setting && cpus.changes_nothing())
        for (VariableProof& variable : proof.variables)
          if (id_of(variable.reason) == proof_reason::k_ran_on.id)
            variable.reason->kind = &proof_reason::k_ran_on_default;
  return proofs;
}

} // namespace ncclprobe::analysis
