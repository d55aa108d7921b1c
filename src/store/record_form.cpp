// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/record_form.h"

#include <algorithm>

namespace ncclprobe::store {

std::size_t FormMaker::table_of_list(std::size_t parent, const std::string& name, const char* about,
                                     bool came_later) {
  auto found = std::ranges::find(*tables_, name, &TableForm::name);
  if (found != tables_->end()) {
    if (found->parent != parent)
      raise(Errc::invalid_argument, "/{} is the table of two types", name);
    return static_cast<std::size_t>(found - tables_->begin());
  }
  TableForm form{
      .name = name, .about = about, .parent = {}, .columns = {}, .may_be_absent = came_later};
  if ((*tables_)[parent].size == TableForm::Size::any) {
    form.parent = parent;
    const std::string& of = (*tables_)[parent].name;
    form.columns.push_back({.name = of.ends_with('s') ? of.substr(0, of.size() - 1) : of,
                            .about = "row in /" + of,
                            .number = Number::u32,
                            .holds = ColumnForm::Holds::parent,
                            .labels = {},
                            .missing = {}});
  }
  tables_->push_back(std::move(form));
  return tables_->size() - 1;
}

} // namespace ncclprobe::store
