// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/steps/scaling.h"
#include "base/text_table.h"

#include <string>
#include <vector>

// How the sections on steps write their figures.
namespace ncclprobe::analysis {

std::string ms_text(double ns); // five digits or fewer: the columns have to fit
std::string percent_text(double share);
std::string ranks_text(const steps::StepResult& one);
std::string parts_text(workload::StepParts parts);

// Terms of a loss account that not every table has a column for.
struct LossColumns {
  bool copy = false;   // where input is copied
  bool clocks = false; // where they took anything
  bool any() const { return copy || clocks; }
};
// Of a table of loss accounts: the terms in points of 100, and their sum.
void append_loss_columns(std::vector<base::TextTable::Column>& columns, LossColumns more);
void append_loss_cells(std::vector<std::string>& cells, const steps::LossAccount& account,
                       LossColumns more);

} // namespace ncclprobe::analysis
