// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "store/schema.h"

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// A run file's content in memory, row by row, before it is HDF5 and after.
namespace ncclprobe::store {

// Every text once; its number is its row in /strings.
class Strings {
public:
  Strings() { intern(""); }
  // Maps point into the texts, which a copy would not own.
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;

  Text intern(std::string_view text);
  // Texts of a file: keeps their numbers, whether or not they are distinct.
  void append(std::string_view text);
  const std::string& at(Text text) const { return texts_.at(text.id); }
  std::size_t size() const { return texts_.size(); }
  void clear();

private:
  std::deque<std::string> texts_; // elements stay where they are when it grows or moves
  std::unordered_map<std::string_view, std::uint32_t> ids_;
};

struct Tables {
  Strings strings;
  // Attributes of /run are written from here; a reader gets it back by header_from().
  std::string header_document;
  std::vector<ArgumentRow> arguments;
  std::vector<HostRow> hosts;
  std::vector<GpuRow> gpus;
  std::vector<LibraryRow> libraries;
  std::vector<RankRow> ranks;
  std::vector<EnvironmentRow> environment;
  std::vector<RankEnvironmentRow> environment_of_ranks;

  std::vector<TrialRow> trials;
  std::vector<SettingRow> settings;
  std::vector<WorkerRow> workers;
  std::vector<WorkerLibraryRow> worker_libraries;
  std::vector<WorkerMemoryRow> worker_memory;
  std::vector<CellRow> cells;
  std::vector<SampleRow> samples;
  std::vector<ConditionRow> conditions;
  std::vector<MarkRow> marks;
  std::vector<EvidenceRow> evidence;
  std::vector<ChoiceRow> choices;
};

// Calls visit(name, rows) for each table that a file of this kind has.
template <typename AnyTables, typename Visit>
void for_each_table(AnyTables& tables, FileKind kind, Visit visit) {
  if (kind != FileKind::trial) {
    visit("argv", tables.arguments);
    visit("hosts", tables.hosts);
    visit("gpus", tables.gpus);
    visit("libraries", tables.libraries);
    visit("ranks", tables.ranks);
    visit("environment", tables.environment);
    visit("environment_of_ranks", tables.environment_of_ranks);
  }
  if (kind != FileKind::header) {
    visit("trials", tables.trials);
    visit("settings", tables.settings);
    visit("workers", tables.workers);
    visit("worker_libraries", tables.worker_libraries);
    visit("worker_memory", tables.worker_memory);
    visit("cells", tables.cells);
    visit("samples", tables.samples);
    visit("conditions", tables.conditions);
    visit("marks", tables.marks);
    visit("evidence", tables.evidence);
    visit("choices", tables.choices);
  }
}

// Puts the trials of `part` behind those of `run`, with row numbers and texts renumbered; but not
// those whose id is in `left_out`.
void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out = {});

// Throws base::Exception (failed) if a row number points nowhere, so that no later code has to
// look.
void check_references(const Tables& tables);

// Likewise if a cell has not as many samples as it says. check_references() came before.
void check_sample_counts(const Tables& tables);

} // namespace ncclprobe::store
