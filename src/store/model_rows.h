// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/tables.h"

// Between the model's values and the rows of the schema. All of these throw base::Exception.
namespace ncclprobe::store {

void add_header(Tables& tables, const model::RunHeader& header);

// invalid_argument if there are not as many cell records as cells.
void add_trial(Tables& tables, const model::TrialRecord& trial);

model::RunHeader header_from(const Tables& tables);

// In the order of the rows. The tables passed check_references().
std::vector<model::TrialRecord> trials_from(const Tables& tables);

void add_sample(model::CellRecord& record, const SampleRow& row);
void add_condition(model::CellRecord& record, const ConditionRow& row);
void add_mark(model::CellRecord& record, const model::Cell& cell, const MarkRow& row);

} // namespace ncclprobe::store
