// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "analysis/steps/scaling.h"

#include <string>
#include <utility>
#include <vector>

// How the sections on steps write their figures.
namespace ncclprobe::analysis {

// "1.05 [1.03, 1.07]", in units of `unit`; null if absent.
Value estimate_text(const std::optional<Estimate>& estimate, double unit, int digits);
std::size_t rank_count(const steps::StepResult& one);
std::string parts_text(model::StepParts parts);

// Terms of a loss account that only some tables have as columns.
struct LossColumns {
  bool copy = false;   // if input is copied
  bool clocks = false; // if they are not zero
};
std::vector<std::pair<steps::Loss, std::string>> loss_titles(LossColumns more);
// For a table of loss accounts: the terms in percentage points, and their sum. `account_of(row)`
// points to one; null: the row has none.
template <typename Row, typename AccountOf>
void show_losses(TableOf<Row>& table, LossColumns more, AccountOf account_of) {
  for (const auto& [loss, title] : loss_titles(more))
    table.show(title,
               [=, loss = loss](const Row& row) -> Value {
                 const steps::LossAccount* account = account_of(row);
                 return account ? Value(account->of(loss)) : Value();
               },
               {Unit::share});
  table
      .show("sum",
            [=](const Row& row) -> Value {
              const steps::LossAccount* account = account_of(row);
              return account ? Value(account->sum()) : Value();
            },
            {Unit::share})
      .dispensable(1);
}

} // namespace ncclprobe::analysis
