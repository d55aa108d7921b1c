// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_records.h"

namespace ncclprobe::store {
namespace {

// Readers of marks look up their operations.
void check_marks(const model::TrialSpec& spec, std::size_t cell, const model::CellRecord& record) {
  const auto& operations = spec.cells[cell].schedule.operations;
  for (const model::Mark& mark : record.marks) {
    const auto number = static_cast<std::size_t>(mark.operation);
    if (mark.operation < 0 || number >= operations.size() ||
        !std::holds_alternative<model::MarkerOp>(operations[number].what))
      raise(Errc::failed, "/marks names operation {} of cell {} of trial {}, which is not a marker",
            mark.operation, cell, spec.id);
  }
}

// The list of a trial's cell records.
const ListForm& cell_records() {
  for (const ListForm& list : run_form().trial.lists)
    for (const ListForm& rows : list.element.lists)
      if (run_form().tables[rows.table].name == "samples")
        return list;
  raise(Errc::invalid_argument, "trials have no samples");
}

const ListForm& list_in_cells(const char* table) {
  for (const ListForm& list : cell_records().element.lists)
    if (run_form().tables[list.table].name == table)
      return list;
  raise(Errc::invalid_argument, "cells have no table {}", table);
}

template <typename T>
void add_rows_of(Tables& tables, TrialRows& rows, const char* table) {
  const ListForm& list = list_in_cells(table);
  rows.drain<T>([&](int cell, std::span<const T> some) {
    add_elements(tables, list, static_cast<std::uint32_t>(cell), some.data(), some.size());
  });
}

} // namespace

void add_header(Tables& tables, const model::RunHeader& header) {
  add_record(tables, run_form().header, 0, &header);
}

void add_trial(Tables& tables, const model::TrialRecord& trial) {
  if (trial.cells.size() != trial.spec.cells.size())
    raise(Errc::invalid_argument, "trial {} has {} cell records for {} cells", trial.spec.id,
          trial.cells.size(), trial.spec.cells.size());
  add_record(tables, run_form().trial, run_form().trials, &trial);
}

void add_rows(Tables& tables, TrialRows& rows) {
  add_rows_of<model::Sample>(tables, rows, "samples");
  add_rows_of<model::Condition>(tables, rows, "conditions");
  add_rows_of<model::Mark>(tables, rows, "marks");
}

model::RunHeader header_from(const Tables& tables) {
  const ChildRows children = child_rows(tables, FileKind::header);
  model::RunHeader header;
  RecordReader(tables, children).read(run_form().header, 0, 0, 1, &header, UINT64_MAX);
  return header;
}

model::TrialRecord TrialReader::read(std::uint64_t row, std::uint64_t most_bytes,
                                     const TakeCell& take_cell) {
  model::TrialRecord trial;
  const Watch cells{&cell_records().element, [&](std::size_t cell, void* record) {
                      auto& one = *static_cast<model::CellRecord*>(record);
                      check_marks(trial.spec, cell, one);
                      if (take_cell)
                        take_cell(trial.spec, cell, one);
                    }};
  reader_.read(run_form().trial, run_form().trials, row, 1, &trial, most_bytes, cells);
  return trial;
}

std::map<std::int32_t, model::TraceLevel> trace_levels(const Tables& tables) {
  const std::vector<std::int32_t> ids = trial_ids(tables);
  const std::vector<std::byte> levels = trial_column(tables, "trace");
  std::map<std::int32_t, model::TraceLevel> by_id;
  for (std::size_t i = 0; i < ids.size(); ++i)
    by_id.emplace(ids[i], static_cast<model::TraceLevel>(levels[i]));
  return by_id;
}

} // namespace ncclprobe::store
