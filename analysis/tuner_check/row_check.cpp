// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tuner_check/row_check.h"

#include "analysis/proof/nccl_log.h"
#include "analysis/proof/proof.h"
#include "workload/nccl_selection.h"
#include "workload/nccl_version.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using workload::Variables;

constexpr const char* k_plugin_variable = "NCCL_TUNER_PLUGIN";
constexpr std::string_view k_own_plugin = "ncclprobe-tuner"; // part of its name in any form

const std::string* variable_in(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() || found->second.empty() ? nullptr : &found->second;
}

bool loads_the_tuner(const Variables& variables) {
  const std::string* plugin = variable_in(variables, k_plugin_variable);
  return plugin != nullptr && plugin->find(k_own_plugin) != std::string::npos;
}

Variables variables_of(const model::Run& run, const model::TrialRecord& trial) {
  Variables all;
  for (const model::Setting& one : run.header.environment)
    all[one.name] = one.value;
  for (const model::Setting& one : trial.spec.process.at(0))
    all[one.name] = one.value;
  return all;
}

// A trial with the tuner, or else the first one; null if the run has none.
const model::TrialRecord* trial_to_look_at(const model::Run& run) {
  for (const model::TrialRecord& trial : run.trials)
    if (loads_the_tuner(variables_of(run, trial)))
      return &trial;
  return run.trials.empty() ? nullptr : &run.trials.front();
}

// As NCCL counts them: NCCL_HOSTID can make several of one host.
int nodes_of(const model::Run& run, const model::TrialSpec& spec) {
  std::set<std::pair<int, std::string>> nodes;
  for (const model::RankPlace& place : run.header.ranks) {
    std::string id;
    for (const model::Setting& one : spec.process.at(place.rank))
      if (one.name == "NCCL_HOSTID")
        id = one.value;
    nodes.emplace(id.empty() ? place.host : -1, id);
  }
  return static_cast<int>(nodes.size());
}

// NCCL may take fewer channels than the row has.
bool is_as_chosen(const Use& use, const tuning::Row& row) {
  if (!row.choice)
    return use.channels > 0 && use.channels <= row.channels;
  return is_logged_as(to_string(row.choice->algorithm), use.algorithm) &&
         is_logged_as(to_string(row.choice->protocol), use.protocol);
}

// Cells of the run's trials with the tuner that ran as the row says, and those for which it is.
struct CellCount {
  std::uint64_t as_chosen = 0;
  std::uint64_t covered = 0;
};

class CellsOfRun {
public:
  explicit CellsOfRun(const model::Run& run) : proofs_(setting_proofs(run)) {
    for (const SettingProof& proof : proofs_)
      for (const model::TrialRecord& trial : run.trials)
        if (trial.spec.id == proof.trial && loads_the_tuner(variables_of(run, trial)))
          tuned_.push_back({&proof, trial.spec.ranks, nodes_of(run, trial.spec)});
  }

  CellCount count(const tuning::Row& row) const {
    CellCount counted;
    for (const Tuned& tuned : tuned_)
      for (const CellProof& cell : tuned.proof->cells) {
        const model::CollectiveLabel* label = cell.label.collective();
        if (label == nullptr || label->collective != row.collective ||
            cell.label.bytes < row.min_bytes || cell.label.bytes > row.max_bytes ||
            tuned.ranks / std::max(label->split, 1) != row.ranks || tuned.nodes != row.nodes)
          continue;
        ++counted.covered;
        const auto use = one_use(*tuned.proof, cell.label);
        counted.as_chosen += use && is_as_chosen(*use, row) ? 1 : 0;
      }
    return counted;
  }

private:
  struct Tuned {
    const SettingProof* proof;
    int ranks;
    int nodes;
  };
  std::vector<SettingProof> proofs_;
  std::vector<Tuned> tuned_;
};

constexpr FindingKind k_excluded{"excluded", Severity::warning,
                                 "{variable}={value} excludes {word}"};
constexpr FindingKind k_other_plugin{"other_plugin", Severity::warning,
                                     "{variable}={value} is not libncclprobe-tuner"};
constexpr FindingKind k_no_plugin{"no_plugin", Severity::warning,
                                  "no setting of the run has {variable}"};
constexpr FindingKind k_other_nccl{
    "other_nccl", Severity::warning,
    "the table is for NCCL {table}, and is not used with NCCL {nccl}"};
constexpr FindingKind k_unknown_algorithm{"unknown_algorithm", Severity::warning,
                                          "NCCL {nccl} has no {algorithm}"};
constexpr FindingKind k_cannot{"cannot", Severity::warning, "{why}"};
constexpr FindingKind k_not_offered{"not_offered", Severity::warning,
                                    "NCCL did not offer it for {calls} calls"};
constexpr FindingKind k_ran_differently{
    "ran_differently", Severity::note,
    "the run's cells of these sizes did not run as the row says"};
constexpr FindingKind k_fewer_channels{"fewer_channels", Severity::warning,
                                       "{variable}={value} allows fewer channels than {channels}"};
constexpr FindingKind k_no_communicator{
    "no_communicator", Severity::warning,
    "{job_ranks} ranks on {job_nodes} nodes have no communicator of {ranks} ranks on {nodes}"};
constexpr FindingKind k_no_call{"no_call", Severity::note,
                                "no call had these sizes on such a communicator"};

Why why_excluded(const tuning::Choice& choice, std::string_view function,
                 const Variables& variables) {
  auto excluded = [&](const char* name, auto allowed_by, std::string_view word) -> Why {
    const std::string* value = variable_in(variables, name);
    if (value == nullptr)
      return {};
    auto allowed = allowed_by(*value, function);
    if (allowed && std::ranges::find(*allowed, word) == allowed->end())
      return Finding{&k_excluded, {{"variable", name}, {"value", *value}, {"word", word}}};
    return {};
  };
  Why why = excluded("NCCL_ALGO", workload::allowed_algorithms, to_string(choice.algorithm));
  return why ? why
             : excluded("NCCL_PROTO", workload::allowed_protocols, to_string(choice.protocol));
}

// Of these, NCCL takes the smaller number.
Why why_fewer_channels(const tuning::Row& row, const Variables& variables) {
  for (const char* name : {"NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"})
    if (const std::string* value = variable_in(variables, name); value != nullptr)
      if (const auto most = workload::read_integer(*value).value; most > 0 && most < row.channels)
        return Finding{&k_fewer_channels,
                       {{"variable", name}, {"value", *value}, {"channels", row.channels}}};
  return {};
}

Why why_no_communicator(const tuning::Row& row, const JobShape& job) {
  if (job.ranks == 0)
    return {};
  const int on_a_node = (job.ranks + job.nodes - 1) / job.nodes;
  if (row.ranks <= job.ranks && row.nodes <= job.nodes && row.ranks <= row.nodes * on_a_node)
    return {};
  return Finding{&k_no_communicator,
                 {{"job_ranks", job.ranks},
                  {"job_nodes", job.nodes},
                  {"ranks", row.ranks},
                  {"nodes", row.nodes}}};
}

// The NCCL that the rows are for.
struct Job {
  Variables variables;
  std::string nccl; // of the run, or as the table says; empty: unknown
  bool is_run = false;
  JobShape shape = {};
};

// What keeps the table from deciding, as far as is known.
Why why_not_asked(const Job& job, const tuning::Header& header) {
  const auto& variables = job.variables;
  const std::string* plugin = variable_in(variables, k_plugin_variable);
  if (plugin != nullptr && !loads_the_tuner(variables))
    return Finding{&k_other_plugin, {{"variable", k_plugin_variable}, {"value", *plugin}}};
  if (plugin == nullptr && job.is_run)
    return Finding{&k_no_plugin, {{"variable", k_plugin_variable}}};
  if (!header.nccl.empty() && !job.nccl.empty() && header.nccl != job.nccl)
    return Finding{&k_other_nccl, {{"table", header.nccl}, {"nccl", job.nccl}}};
  return {};
}

Why why_never_possible(const tuning::Row& row, std::string_view function, const Job& job) {
  const std::string algorithm(to_string(row.choice->algorithm));
  const int version = workload::parse_nccl_version(job.nccl).value_or(0);
  if (workload::selection_problem(*workload::find_variable("NCCL_ALGO"), algorithm, version))
    return Finding{&k_unknown_algorithm, {{"nccl", job.nccl}, {"algorithm", algorithm}}};
  Variables variables = job.variables;
  variables["NCCL_ALGO"] = algorithm;
  variables["NCCL_PROTO"] = to_string(row.choice->protocol);
  const std::string why = workload::why_impossible(
      function, variables,
      {.nodes = row.nodes, .ranks_per_node = (row.ranks + row.nodes - 1) / row.nodes, .nvls = {}});
  if (why.empty())
    return {};
  const std::size_t colon = why.find(": ");
  return Finding{&k_cannot, {{"why", why.substr(colon == std::string::npos ? 0 : colon + 2)}}};
}

void decide_state(RowCheck& check, const Job& job, const tuning::Header& header,
                  std::uint64_t not_offered, const CellCount& cells) {
  auto ends_as = [&](RowState state, Why why) {
    check.state = state;
    check.reason = std::move(why);
  };
  if (check.calls.value_or(0) > 0)
    return ends_as(RowState::hit, {});
  const std::string_view function = *workload::nccl_function(check.row.collective);
  if (check.row.choice)
    if (Why why = why_never_possible(check.row, function, job))
      return ends_as(RowState::impossible, std::move(why));
  if (Why why = why_no_communicator(check.row, job.shape))
    return ends_as(RowState::impossible, std::move(why));
  if (Why why = why_not_asked(job, header))
    return ends_as(RowState::overridden, std::move(why));
  if (check.row.choice)
    if (Why why = why_excluded(*check.row.choice, function, job.variables))
      return ends_as(RowState::overridden, std::move(why));
  if (Why why = why_fewer_channels(check.row, job.variables))
    return ends_as(RowState::overridden, std::move(why));
  if (not_offered > 0)
    return ends_as(RowState::impossible, Finding{&k_not_offered, {{"calls", not_offered}}});
  if (cells.covered > 0)
    return ends_as(RowState::never, Finding{&k_ran_differently});
  if (check.calls)
    return ends_as(RowState::never, Finding{&k_no_call});
  ends_as(RowState::unchecked, {});
}

} // namespace

Result<std::vector<RowCheck>> check_rows(const tuning::TableFile& table,
                                         const RowEvidence& evidence) {
  for (const tuning::HitCounts& hits : evidence.hits)
    if (hits.sha256 != table.sha256 || hits.rows.size() != table.table.rows.size())
      return fail(Errc::mismatch, "the hits are those of another table: its SHA-256 is {}, not {}",
                  hits.sha256, table.sha256);
  Job job{evidence.environment, table.table.header.nccl, evidence.run != nullptr, evidence.shape};
  std::optional<CellsOfRun> cells;
  if (evidence.run != nullptr) {
    job.variables.clear();
    if (const model::TrialRecord* trial = trial_to_look_at(*evidence.run))
      job.variables = variables_of(*evidence.run, *trial);
    for (const model::HostInventory& host : evidence.run->header.hosts)
      if (const model::Library* nccl = host.library("nccl"); nccl != nullptr)
        job.nccl = nccl->version;
    cells.emplace(*evidence.run);
  }
  std::vector<RowCheck> checks;
  for (std::size_t i = 0; i < table.table.rows.size(); ++i) {
    RowCheck check{.number = static_cast<int>(i + 1), .row = table.table.rows[i]};
    std::uint64_t not_offered = 0;
    CellCount of_run;
    if (cells) {
      of_run = cells->count(check.row);
      check.calls = of_run.as_chosen;
    }
    for (const tuning::HitCounts& hits : evidence.hits) {
      check.calls = std::max(check.calls.value_or(0), hits.rows[i].applied);
      not_offered = std::max(not_offered, hits.rows[i].impossible);
    }
    decide_state(check, job, table.table.header, not_offered, of_run);
    checks.push_back(std::move(check));
  }
  return checks;
}

} // namespace ncclprobe::analysis
