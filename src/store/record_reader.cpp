// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/record_reader.h"

#include <algorithm>

namespace ncclprobe::store {

RecordReader::RecordReader(const Tables& tables, const ChildRows& children)
    : tables_(&tables), children_(&children), fd_(open_columns(tables.file)),
      loading_(tables.strings) {
  for (const Table& table : tables.tables)
    for (auto& readers = columns_.emplace_back(); const ColumnSource& column : table.columns)
      readers.emplace_back(fd_.get(), column);
}

void RecordReader::read(const RecordForm& form, std::size_t table, std::uint64_t first_row,
                        std::size_t count, void* records, std::uint64_t most_bytes,
                        const Watch& watch) {
  loading_.allow(most_bytes);
  watch_ = &watch;
  fill(form, table, first_row, count, records);
}

void RecordReader::check_alternatives(const RecordForm& form, std::size_t table,
                                      std::uint64_t first_row, std::size_t count) const {
  if (std::ranges::none_of(form.lists, &ListForm::is_alternative))
    return;
  for (std::uint64_t row = first_row; row < first_row + count; ++row) {
    std::uint64_t rows = 0;
    for (const ListForm& list : form.lists)
      if (list.is_alternative)
        rows += (*children_)[list.table][row + 1] - (*children_)[list.table][row];
    if (rows != 1)
      base::raise(base::Errc::failed, "row {} of /{} has {} rows in the tables of its kinds", row,
                  run_form().tables[table].name, rows);
  }
}

void RecordReader::fill(const RecordForm& form, std::size_t table, std::uint64_t first_row,
                        std::size_t count, void* records) {
  check_alternatives(form, table, first_row, count);
  auto* first = static_cast<std::byte*>(records);
  for (const LeafForm& leaf : form.leaves) {
    const ColumnForm& column = run_form().tables[table].columns[leaf.column];
    const std::size_t bytes = bytes_of(column.number);
    numbers_.resize(count * bytes);
    columns_[table][leaf.column].read(first_row, numbers_, bytes);
    column.load(numbers_.data(), count, loading_, first + leaf.offset, form.bytes);
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* record = first + i * form.bytes;
    for (const ListForm& list : form.lists) {
      const std::vector<std::uint64_t>& starts = (*children_)[list.table];
      const bool of_one = !run_form().tables[list.table].parent;
      const std::uint64_t row = of_one ? 0 : first_row + i;
      const std::size_t size = starts[row + 1] - starts[row];
      loading_.charge(size * list.element.bytes);
      void* elements = list.resize(record + list.offset, size);
      if (size > 0)
        fill(list.element, list.table, starts[row], size, elements);
    }
    if (watch_->form == &form)
      watch_->take(i, record);
  }
}

} // namespace ncclprobe::store
