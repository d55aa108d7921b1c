// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_form.h"

#include "model/document.h"

#include <algorithm>

namespace ncclprobe::store {

std::pair<std::size_t, std::size_t> RunForm::tables_of(FileKind kind) const {
  return {kind == FileKind::trial ? trials : 0, kind == FileKind::header ? trials : tables.size()};
}

std::size_t RunForm::column(std::size_t table, std::string_view name) const {
  const std::vector<ColumnForm>& columns = tables[table].columns;
  auto found = std::ranges::find(columns, name, &ColumnForm::name);
  if (found == columns.end())
    raise(Errc::invalid_argument, "/{} has no column {}", tables[table].name, name);
  return static_cast<std::size_t>(found - columns.begin());
}

const RunForm& run_form() {
  static const RunForm form = [] {
    RunForm made;
    FormMaker maker(made.tables);
    made.header = maker.make<model::RunHeader>("run", "the run as a whole: one row",
                                               TableForm::Size::one_row);
    made.trials = made.tables.size();
    made.trial =
        maker.make<model::TrialRecord>("trials", "the stored trials", TableForm::Size::any);
    return made;
  }();
  return form;
}

} // namespace ncclprobe::store
