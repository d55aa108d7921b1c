// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/run.h"
#include "store/record_reader.h"

#include <vector>

// Converts the model's values to tables and back. All functions throw Exception.
namespace ncclprobe::store {

void add_header(Tables& tables, const model::RunHeader& header);

// invalid_argument if there are not as many cell records as cells.
void add_trial(Tables& tables, const model::TrialRecord& trial);

model::RunHeader header_from(const Tables& tables);

// One thread at a time. The tables and rows of children must outlive it.
class TrialReader {
public:
  TrialReader(const Tables& tables, const ChildRows& children) : reader_(tables, children) {}
  // The trial in this row of /trials. It may take `most_bytes`.
  model::TrialRecord read(std::uint64_t row, std::uint64_t most_bytes = UINT64_MAX);

private:
  RecordReader reader_;
};

// All of them, in the order of the rows.
std::vector<model::TrialRecord> trials_from(const Tables& tables);

} // namespace ncclprobe::store
