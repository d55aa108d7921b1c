// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/model_rows.h"

#include "model/document.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::raise;

template <typename T>
std::string document_of(const T& value) {
  return base::json_or_cbor(base::writable(value));
}

template <typename T>
T parse_document(const std::string& document, const char* what) {
  T value;
  if (auto read = base::read_json_or_cbor(document, base::readable(value)); !read)
    raise(Errc::failed, "the document of {} cannot be read: {}", what, read.error().text());
  return value;
}

std::string list_text(const std::vector<int>& ranks) {
  return fmt::format("{}", fmt::join(ranks, ","));
}

std::vector<int> parse_list(const std::string& text) {
  std::vector<int> ranks;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    int rank = 0;
    auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc{} || (next != end && (*next != ',' || next + 1 == end)))
      raise(Errc::failed, "'{}' is no list of ranks", text);
    ranks.push_back(rank);
    at = next == end ? end : next + 1;
  }
  return ranks;
}

void add_settings(Tables& tables, const std::vector<model::Setting>& settings, SettingRow row) {
  for (const model::Setting& setting : settings) {
    row.name = tables.strings.intern(setting.name);
    row.value = tables.strings.intern(setting.value);
    tables.settings.push_back(row);
  }
}

void add_cell(Tables& tables, const model::TrialSpec& spec, const model::Cell& cell,
              const model::CellRecord& record, std::size_t index) {
  auto text = [&](std::string_view value) { return tables.strings.intern(value); };
  auto trial_row = static_cast<std::uint32_t>(tables.trials.size() - 1);
  auto cell_row = static_cast<std::uint32_t>(tables.cells.size());
  tables.cells.push_back({.trial = trial_row,
                          .index = static_cast<std::int32_t>(index),
                          .workload = text(cell.label.workload),
                          .bytes = cell.label.bytes,
                          .type = cell.label.type,
                          .op = cell.label.op,
                          .placement = cell.label.placement,
                          .root = cell.label.root,
                          .ranks = spec.ranks,
                          .outcome = record.outcome.kind,
                          .reason = text(record.outcome.reason),
                          .outcome_ranks = text(list_text(record.outcome.ranks)),
                          .checked = record.check.checked,
                          .checked_elements = record.check.elements,
                          .wrong_elements = record.check.wrong,
                          .first_wrong = text(record.check.first_wrong),
                          .why_unchecked = text(record.check.why_unchecked),
                          .samples = record.samples.size(),
                          .resume_key = text(model::resume_key(spec, cell)),
                          .document = text(document_of(cell)),
                          .variant = text(cell.label.variant),
                          .timing_mode = cell.timing.mode,
                          .checked_launches = record.check.launches,
                          .check_method = text(record.check.method)});
  add_settings(tables, cell.settings,
               {.trial = trial_row, .cell = cell_row, .scope = Scope::in_process});
  for (const model::Sample& sample : record.samples)
    tables.samples.push_back({cell_row, sample.rank, sample.batch, sample.iterations,
                              sample.elapsed_ns, sample.launch_ns});
  for (const model::Condition& one : record.conditions)
    tables.conditions.push_back(
        {cell_row, one.rank, one.when, one.at_ns, one.sm_clock_mhz.value_or(k_no_reading),
         one.memory_clock_mhz.value_or(k_no_reading),
         one.temperature_c.value_or(k_no_temperature_c), one.power_mw.value_or(k_no_reading),
         one.throttle_reasons.value_or(k_no_throttle_reasons),
         one.memory_used_bytes.value_or(k_no_bytes), one.nvlink_sent_bytes.value_or(k_no_bytes),
         one.nvlink_received_bytes.value_or(k_no_bytes),
         one.pcie_sent_mb_per_s.value_or(k_no_reading),
         one.pcie_received_mb_per_s.value_or(k_no_reading), one.processes.value_or(k_no_reading),
         one.corrected_errors.value_or(k_no_errors_read),
         one.uncorrected_errors.value_or(k_no_errors_read)});
  for (const model::Mark& mark : record.marks)
    tables.marks.push_back(
        {cell_row, mark.rank, mark.batch, mark.iteration, mark.operation, mark.at_ns});
}

void add_evidence(Tables& tables, const model::Evidence& evidence, std::uint32_t trial_row) {
  auto text = [&](std::string_view value) { return tables.strings.intern(value); };
  auto evidence_row = static_cast<std::uint32_t>(tables.evidence.size());
  tables.evidence.push_back(
      {trial_row, evidence.rank, text(evidence.log), text(evidence.profiler)});
  for (const model::Choice& choice : evidence.choices)
    tables.choices.push_back({evidence_row, choice.cell, text(choice.function), text(choice.type),
                              choice.count, text(choice.algorithm), text(choice.protocol),
                              choice.channels, choice.peer});
}

template <typename T>
std::optional<T> reading(T value, T none) {
  return value == none ? std::nullopt : std::optional(value);
}

model::Condition condition_of(const ConditionRow& row) {
  return {row.rank,
          row.when,
          row.at_ns,
          reading(row.sm_clock_mhz, k_no_reading),
          reading(row.memory_clock_mhz, k_no_reading),
          reading(row.temperature_c, k_no_temperature_c),
          reading(row.power_mw, k_no_reading),
          reading(row.throttle_reasons, k_no_throttle_reasons),
          reading(row.memory_used_bytes, k_no_bytes),
          reading(row.nvlink_sent_bytes, k_no_bytes),
          reading(row.nvlink_received_bytes, k_no_bytes),
          reading(row.pcie_sent_mb_per_s, k_no_reading),
          reading(row.pcie_received_mb_per_s, k_no_reading),
          reading(row.processes, k_no_reading),
          reading(row.corrected_errors, k_no_errors_read),
          reading(row.uncorrected_errors, k_no_errors_read)};
}

// Whoever reads marks looks up what their operations are.
bool is_marker(const model::Schedule& schedule, std::int32_t operation) {
  return operation >= 0 && static_cast<std::size_t>(operation) < schedule.operations.size() &&
         std::holds_alternative<model::MarkerOp>(
             schedule.operations[static_cast<std::size_t>(operation)].what);
}

} // namespace

void add_header(Tables& tables, const model::RunHeader& header) {
  auto text = [&](std::string_view value) { return tables.strings.intern(value); };
  tables.header_document = document_of(header);
  for (const std::string& argument : header.argv)
    tables.arguments.push_back({text(argument)});
  for (const model::Host& host : header.hosts) {
    auto host_row = static_cast<std::uint32_t>(tables.hosts.size());
    tables.hosts.push_back({text(host.hostname), text(host.boot_id), text(host.cpu_model),
                            host.cpus_allowed, host.memory_bytes, text(host.kernel),
                            text(host.worker_version), text(host.nvidia_problem)});
    for (const model::Gpu& gpu : host.gpus)
      tables.gpus.push_back({host_row, gpu.index, text(gpu.name), text(gpu.uuid),
                             text(gpu.pci_bus_id), text(gpu.compute_capability), gpu.memory_bytes,
                             gpu.free_bytes, gpu.multiprocessors, gpu.nvlinks.value_or(-1),
                             text(gpu.compute_mode)});
    for (const model::Library& library : host.libraries)
      tables.libraries.push_back({host_row, text(library.name), text(library.version),
                                  text(library.path), text(library.problem)});
  }
  for (const model::RankPlace& place : header.ranks)
    tables.ranks.push_back({place.rank, static_cast<std::uint32_t>(place.host), place.device});
  for (const model::Setting& variable : header.environment) {
    bool pinned = std::ranges::find(header.pinned, variable) != header.pinned.end();
    tables.environment.push_back({text(variable.name), text(variable.value), pinned});
  }
  for (const model::Setting& variable : header.pinned)
    if (std::ranges::find(header.environment, variable) == header.environment.end())
      tables.environment.push_back({text(variable.name), text(variable.value), true});
  for (const model::RankVariable& variable : header.environment_of_ranks)
    for (int rank : variable.ranks)
      tables.environment_of_ranks.push_back({rank, text(variable.name),
                                             text(variable.value.value_or("")),
                                             variable.value.has_value()});
}

void add_trial(Tables& tables, const model::TrialRecord& trial) {
  const model::TrialSpec& spec = trial.spec;
  if (trial.cells.size() != spec.cells.size())
    raise(Errc::invalid_argument, "trial {} has {} cell records for {} cells", spec.id,
          trial.cells.size(), spec.cells.size());
  auto text = [&](std::string_view value) { return tables.strings.intern(value); };
  auto trial_row = static_cast<std::uint32_t>(tables.trials.size());
  model::TrialSpec without_cells = spec;
  without_cells.cells.clear();
  tables.trials.push_back({.id = spec.id,
                           .name = text(spec.name),
                           .replicate = spec.replicate,
                           .backend = text(spec.backend),
                           .ranks = spec.ranks,
                           .seed = spec.seed,
                           .outcome = trial.outcome.kind,
                           .reason = text(trial.outcome.reason),
                           .outcome_ranks = text(list_text(trial.outcome.ranks)),
                           .started_utc = text(trial.started_utc),
                           .startup_ns = trial.startup_ns,
                           .total_ns = trial.total_ns,
                           .document = text(document_of(without_cells)),
                           .purpose = spec.purpose,
                           .prepared = static_cast<std::uint8_t>(trial.prepared)});
  add_settings(tables, spec.process.common, {.trial = trial_row});
  for (const auto& [rank, settings] : spec.process.per_rank)
    add_settings(tables, settings, {.trial = trial_row, .rank = rank});
  add_settings(tables, spec.libraries, {.trial = trial_row, .scope = Scope::library});
  for (const model::WorkerRecord& worker : trial.workers) {
    auto worker_row = static_cast<std::uint32_t>(tables.workers.size());
    for (const model::Library& one : worker.libraries)
      tables.worker_libraries.push_back(
          {worker_row, text(one.name), text(one.version), text(one.path), text(one.problem)});
    for (const model::MemoryUse& one : worker.memory)
      tables.worker_memory.push_back({worker_row, one.rank, one.what, one.bytes});
    tables.workers.push_back({trial_row, text(list_text(worker.ranks)), text(worker.host),
                              worker.pid, text(worker.last_phase), worker.last_cell,
                              text(worker.exit), text(worker.output_tail), text(worker.position),
                              text(worker.stack), text(worker.cpus), text(worker.cpus_asked)});
  }
  for (std::size_t i = 0; i < spec.cells.size(); ++i)
    add_cell(tables, spec, spec.cells[i], trial.cells[i], i);
  for (const model::Evidence& evidence : trial.evidence)
    add_evidence(tables, evidence, trial_row);
}

model::RunHeader header_from(const Tables& tables) {
  return parse_document<model::RunHeader>(tables.header_document, "the run");
}

void add_sample(model::CellRecord& record, const SampleRow& row) {
  record.samples.push_back({row.rank, row.batch, row.iterations, row.elapsed_ns, row.launch_ns});
}

void add_condition(model::CellRecord& record, const ConditionRow& row) {
  record.conditions.push_back(condition_of(row));
}

void add_mark(model::CellRecord& record, const model::Cell& cell, const MarkRow& row) {
  if (!is_marker(cell.schedule, row.operation))
    raise(Errc::failed, "/marks names operation {} of cell {}, which is no marker", row.operation,
          row.cell);
  record.marks.push_back({row.rank, row.batch, row.iteration, row.operation, row.at_ns});
}

std::vector<model::TrialRecord> trials_from(const Tables& tables) {
  auto text = [&](Text id) -> const std::string& { return tables.strings.at(id); };
  std::vector<model::TrialRecord> trials;
  for (const TrialRow& row : tables.trials) {
    model::TrialRecord& trial = trials.emplace_back();
    trial.spec = parse_document<model::TrialSpec>(text(row.document), "a trial");
    trial.outcome = {row.outcome, text(row.reason), parse_list(text(row.outcome_ranks))};
    trial.started_utc = text(row.started_utc);
    trial.startup_ns = row.startup_ns;
    trial.total_ns = row.total_ns;
    trial.prepared = row.prepared != 0;
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> worker_places;
  for (const WorkerRow& row : tables.workers) {
    worker_places.emplace_back(row.trial, trials[row.trial].workers.size());
    trials[row.trial].workers.push_back({.ranks = parse_list(text(row.ranks)),
                                         .host = text(row.host),
                                         .pid = row.pid,
                                         .last_phase = text(row.last_phase),
                                         .last_cell = row.last_cell,
                                         .exit = text(row.exit),
                                         .output_tail = text(row.output_tail),
                                         .position = text(row.position),
                                         .stack = text(row.stack),
                                         .cpus = text(row.cpus),
                                         .cpus_asked = text(row.cpus_asked),
                                         .libraries = {},
                                         .memory = {}});
  }
  for (const WorkerLibraryRow& row : tables.worker_libraries) {
    auto [trial, index] = worker_places[row.worker];
    trials[trial].workers[index].libraries.push_back(
        {text(row.name), text(row.version), text(row.path), text(row.problem)});
  }
  for (const WorkerMemoryRow& row : tables.worker_memory) {
    auto [trial, index] = worker_places[row.worker];
    trials[trial].workers[index].memory.push_back({row.rank, row.what, row.bytes});
  }
  // The trials of a sweep share their cells, so each document is parsed once.
  std::vector<std::optional<model::Cell>> parsed(tables.strings.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> places; // of each row: trial, index
  for (const CellRow& row : tables.cells) {
    model::TrialRecord& trial = trials[row.trial];
    auto& cell = parsed[row.document.id];
    if (!cell)
      cell = parse_document<model::Cell>(text(row.document), "a cell");
    places.emplace_back(row.trial, trial.cells.size());
    trial.spec.cells.push_back(*cell);
    model::CellRecord& record = trial.cells.emplace_back();
    record.outcome = {row.outcome, text(row.reason), parse_list(text(row.outcome_ranks))};
    record.check = {row.checked,           row.checked_elements,    row.wrong_elements,
                    text(row.first_wrong), text(row.why_unchecked), row.checked_launches,
                    text(row.check_method)};
    if (!tables.samples.empty())
      record.samples.reserve(row.samples);
  }
  for (const SampleRow& row : tables.samples) {
    auto [trial, index] = places[row.cell];
    add_sample(trials[trial].cells[index], row);
  }
  for (const ConditionRow& row : tables.conditions) {
    auto [trial, index] = places[row.cell];
    add_condition(trials[trial].cells[index], row);
  }
  for (const MarkRow& row : tables.marks) {
    auto [trial, index] = places[row.cell];
    add_mark(trials[trial].cells[index], trials[trial].spec.cells[index], row);
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> evidence_places;
  for (const EvidenceRow& row : tables.evidence) {
    model::TrialRecord& trial = trials[row.trial];
    evidence_places.emplace_back(row.trial, trial.evidence.size());
    trial.evidence.push_back({row.rank, text(row.log), text(row.profiler), {}});
  }
  for (const ChoiceRow& row : tables.choices) {
    auto [trial, index] = evidence_places[row.evidence];
    trials[trial].evidence[index].choices.push_back({row.cell, text(row.function), text(row.type),
                                                     row.count, text(row.algorithm),
                                                     text(row.protocol), row.channels, row.peer});
  }
  return trials;
}

} // namespace ncclprobe::store
