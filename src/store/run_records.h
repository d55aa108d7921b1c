// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "store/record_reader.h"
#include "store/trial_rows.h"

#include <cstdint>
#include <functional>
#include <map>

// Converts the model's values to tables and back. All functions throw Exception.
namespace ncclprobe::store {

void add_header(Tables& tables, const model::RunHeader& header);

// invalid_argument if there are not as many cell records as cells.
void add_trial(Tables& tables, const model::TrialRecord& trial);

// Adds the rows of the cells of the one trial that was added. Columns may go to the scratch file.
void add_rows(Tables& tables, TrialRows& rows);

model::RunHeader header_from(const Tables& tables);

// One thread at a time. The tables and rows of children must outlive it.
class TrialReader {
public:
  TrialReader(const Tables& tables, const ChildRows& children) : reader_(tables, children) {}
  // Called for the record of each cell as soon as it is read. It may take the cell's rows away.
  using TakeCell =
      std::function<void(const model::TrialSpec&, std::size_t cell, model::CellRecord& record)>;
  // The trial in this row of /trials. It may take `most_bytes`.
  model::TrialRecord read(std::uint64_t row, std::uint64_t most_bytes = UINT64_MAX,
                          const TakeCell& take_cell = {});

private:
  RecordReader reader_;
};

// How each trial was traced, by id.
std::map<std::int32_t, model::TraceLevel> trace_levels(const Tables& tables);

} // namespace ncclprobe::store
