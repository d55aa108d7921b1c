// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_value.h"
#include "model/trial.h"

namespace ncclprobe::analysis {

// The cell of a row, for machines, without its size; `label_of(row)` is its label.
template <typename Row, typename LabelOf>
void add_operation(TableOf<Row>& table, LabelOf label_of) {
  auto add = [&](const char* key, auto member) {
    table.add(key, [=](const Row& row) { return label_of(row).*member; });
  };
  table.add("workload", [=](const Row& row) { return label_of(row).workload(); });
  add("type", &model::CellLabel::type);
  add("op", &model::CellLabel::op);
  add("placement", &model::CellLabel::placement);
  add("root", &model::CellLabel::root);
  table.add("variant", [=](const Row& row) { return label_of(row).variant(); });
}
// The same with its size.
template <typename Row, typename LabelOf>
void add_label(TableOf<Row>& table, LabelOf label_of) {
  add_operation(table, label_of);
  table.add("size_bytes", [=](const Row& row) { return label_of(row).bytes; });
}

} // namespace ncclprobe::analysis
