// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/tables.h"

#include <type_traits>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::raise;

// Calls visit(column name, text) for each text of a row.
template <typename Row, typename Visit>
void for_each_text(Row& row, Visit visit) {
  std::apply(
      [&](const auto&... column) {
        auto one = [&](const auto& each) {
          if constexpr (std::is_same_v<typename std::decay_t<decltype(each)>::Value, Text>)
            visit(each.name, row.*each.field);
        };
        (one(column), ...);
      },
      columns(std::remove_const_t<Row>{}));
}

template <typename Row>
void check_row(const char* table, const char* what, std::uint64_t row, const std::vector<Row>& of) {
  if (row >= of.size())
    raise(Errc::failed, "/{}/{} points to row {} of {}", table, what, row, of.size());
}

} // namespace

Text Strings::intern(std::string_view text) {
  if (auto found = ids_.find(text); found != ids_.end())
    return {found->second};
  append(text);
  return {static_cast<std::uint32_t>(texts_.size() - 1)};
}

void Strings::append(std::string_view text) {
  if (texts_.size() >= UINT32_MAX)
    raise(Errc::failed, "more than 2^32 different texts");
  auto id = static_cast<std::uint32_t>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
}

void Strings::clear() {
  ids_.clear();
  texts_.clear();
}

void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out) {
  // New row of each old one; absent: left out.
  using Rows = std::unordered_map<std::uint32_t, std::uint32_t>;
  Rows trials, workers, cells, evidence;
  auto renumbered = [](const Rows& rows, std::uint32_t& row) {
    auto found = rows.find(row);
    if (found != rows.end())
      row = found->second;
    return found != rows.end();
  };
  std::vector<std::uint32_t> new_ids(part.strings.size(), UINT32_MAX);
  // `keep` renumbers a row, or is false for one that is left out.
  auto append = [&](auto& to, const auto& from, Rows* numbers, auto keep) {
    for (std::uint32_t i = 0; i < from.size(); ++i) {
      auto row = from[i];
      if (!keep(row))
        continue;
      for_each_text(row, [&](const char*, Text& text) {
        std::uint32_t& id = new_ids.at(text.id);
        if (id == UINT32_MAX)
          id = run.strings.intern(part.strings.at(text)).id;
        text.id = id;
      });
      if (numbers)
        numbers->emplace(i, static_cast<std::uint32_t>(to.size()));
      to.push_back(row);
    }
  };
  append(run.trials, part.trials, &trials,
         [&](TrialRow& row) { return !left_out.contains(row.id); });
  append(run.workers, part.workers, &workers,
         [&](WorkerRow& row) { return renumbered(trials, row.trial); });
  append(run.worker_libraries, part.worker_libraries, nullptr,
         [&](WorkerLibraryRow& row) { return renumbered(workers, row.worker); });
  append(run.worker_memory, part.worker_memory, nullptr,
         [&](WorkerMemoryRow& row) { return renumbered(workers, row.worker); });
  append(run.cells, part.cells, &cells,
         [&](CellRow& row) { return renumbered(trials, row.trial); });
  append(run.settings, part.settings, nullptr, [&](SettingRow& row) {
    if (row.cell >= 0) {
      auto cell = static_cast<std::uint32_t>(row.cell);
      if (!renumbered(cells, cell))
        return false;
      row.cell = cell;
    }
    return renumbered(trials, row.trial);
  });
  append(run.samples, part.samples, nullptr,
         [&](SampleRow& row) { return renumbered(cells, row.cell); });
  append(run.conditions, part.conditions, nullptr,
         [&](ConditionRow& row) { return renumbered(cells, row.cell); });
  append(run.marks, part.marks, nullptr, [&](MarkRow& row) { return renumbered(cells, row.cell); });
  append(run.evidence, part.evidence, &evidence,
         [&](EvidenceRow& row) { return renumbered(trials, row.trial); });
  append(run.choices, part.choices, nullptr,
         [&](ChoiceRow& row) { return renumbered(evidence, row.evidence); });
}

void check_references(const Tables& tables) {
  for_each_table(tables, FileKind::run, [&](const char* table, const auto& rows) {
    for (const auto& row : rows)
      for_each_text(row, [&](const char* name, const Text& text) {
        if (text.id >= tables.strings.size())
          raise(Errc::failed, "/{}/{} points to text {} of {}", table, name, text.id,
                tables.strings.size());
      });
  });
  for (const GpuRow& row : tables.gpus)
    check_row("gpus", "host", row.host, tables.hosts);
  for (const LibraryRow& row : tables.libraries)
    check_row("libraries", "host", row.host, tables.hosts);
  for (const SettingRow& row : tables.settings) {
    check_row("settings", "trial", row.trial, tables.trials);
    if (row.cell != -1)
      check_row("settings", "cell", static_cast<std::uint64_t>(row.cell), tables.cells);
  }
  for (const WorkerRow& row : tables.workers)
    check_row("workers", "trial", row.trial, tables.trials);
  for (const WorkerLibraryRow& row : tables.worker_libraries)
    check_row("worker_libraries", "worker", row.worker, tables.workers);
  for (const WorkerMemoryRow& row : tables.worker_memory)
    check_row("worker_memory", "worker", row.worker, tables.workers);
  std::vector<std::int32_t> cells(tables.trials.size());
  for (const CellRow& row : tables.cells) {
    check_row("cells", "trial", row.trial, tables.trials);
    if (row.index != cells[row.trial]++)
      raise(Errc::failed, "/cells has index {} out of order", row.index);
  }
  for (const ConditionRow& row : tables.conditions)
    check_row("conditions", "cell", row.cell, tables.cells);
  for (const MarkRow& row : tables.marks)
    check_row("marks", "cell", row.cell, tables.cells);
  for (const EvidenceRow& row : tables.evidence)
    check_row("evidence", "trial", row.trial, tables.trials);
  for (const ChoiceRow& row : tables.choices)
    check_row("choices", "evidence", row.evidence, tables.evidence);
  for (const SampleRow& row : tables.samples)
    check_row("samples", "cell", row.cell, tables.cells);
}

void check_sample_counts(const Tables& tables) {
  std::vector<std::uint64_t> samples(tables.cells.size());
  for (const SampleRow& row : tables.samples)
    ++samples[row.cell];
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] != tables.cells[i].samples)
      raise(Errc::failed, "cell {} has {} samples instead of {}", i, samples[i],
            tables.cells[i].samples);
}

} // namespace ncclprobe::store
