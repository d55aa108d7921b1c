// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/tables.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>

namespace ncclprobe::store {
namespace {

constexpr std::uint32_t k_no_number = UINT32_MAX;
constexpr std::size_t k_numbers_at_once = 65'536;

void append(std::vector<std::byte>& values, const void* more, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(more);
  values.insert(values.end(), first, first + bytes);
}

// Adds `count` contiguous records. Their rows have been counted, but not their parents' numbers.
void add_records(Tables& tables, const RecordForm& form, std::size_t number, const void* records,
                 std::size_t count) {
  if (count == 0)
    return; // `records` may be null
  const std::vector<ColumnForm>& columns = run_form().tables[number].columns;
  const auto* first = static_cast<const std::byte*>(records);
  for (const LeafForm& leaf : form.leaves) {
    const ColumnForm& column = columns[leaf.column];
    std::vector<std::byte>& values = tables.tables[number].columns[leaf.column].values;
    const std::size_t before = values.size();
    values.resize(before + count * bytes_of(column.number));
    column.store(first + leaf.offset, form.bytes, count, tables.strings, values.data() + before);
  }
  const std::uint64_t first_row = tables.tables[number].rows - count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* record = first + i * form.bytes;
    for (const ListForm& list : form.lists) {
      const std::size_t size = list.size(record + list.offset);
      Table& table = tables.tables[list.table];
      const ListForm& owner = *std::ranges::find(form.lists, list.table, &ListForm::table);
      if (owner.size(record + owner.offset) != size)
        raise(Errc::invalid_argument, "lists of {} and {} elements share /{}",
              owner.size(record + owner.offset), size, run_form().tables[list.table].name);
      if (&owner == &list) {
        table.rows += size;
        if (run_form().tables[list.table].parent) {
          const std::vector<std::uint32_t> parents(size, static_cast<std::uint32_t>(first_row + i));
          append(table.columns.front().values, parents.data(), size * sizeof parents[0]);
        }
      }
      add_records(tables, list.element, list.table, list.data(record + list.offset), size);
    }
  }
}

// The value of a column in one row; the column is in memory.
std::uint32_t number_at(const ColumnSource& column, std::uint64_t row) {
  std::uint32_t number = 0;
  std::memcpy(&number, column.values.data() + row * sizeof number, sizeof number);
  return number;
}

// Translates the numbers of another file's texts.
class TextNumbers {
public:
  TextNumbers(const Strings& from, Strings& to)
      : from_(from), to_(to), numbers_(from.size(), k_no_number) {}

  std::uint32_t operator()(std::uint32_t number) {
    const std::string& text = from_.at(number);
    if (numbers_[number] == k_no_number)
      numbers_[number] = to_.intern(text);
    return numbers_[number];
  }

private:
  const Strings& from_;
  Strings& to_;
  std::vector<std::uint32_t> numbers_;
};

// Calls visit(column, first row, numbers) for slices of a column of rows or texts.
template <typename Visit>
void for_each_slice(const ColumnSource& column, std::uint64_t rows, int fd, Visit visit) {
  ColumnReader reader(fd, column);
  std::vector<std::uint32_t> numbers;
  for (std::uint64_t row = 0; row < rows; row += numbers.size()) {
    numbers.resize(std::min<std::uint64_t>(k_numbers_at_once, rows - row));
    reader.read(row, std::as_writable_bytes(std::span(numbers)), sizeof numbers[0]);
    visit(row, numbers);
  }
}

void check_texts(const TableForm& form, const Table& table, const Strings& strings) {
  for (std::size_t c = 0; c < form.columns.size(); ++c) {
    const ColumnForm& column = form.columns[c];
    if (column.holds == ColumnForm::Holds::texts)
      for_each_slice(table.columns[c], table.rows, -1, [&](std::uint64_t, const auto& numbers) {
        for (std::uint32_t number : numbers)
          if (number >= strings.size() && !(column.missing && number == *column.missing))
            raise(Errc::failed, "/{}/{} points to text {} of {}", form.name, column.name, number,
                  strings.size());
      });
  }
}

} // namespace

Tables::Tables() {
  for (const TableForm& form : run_form().tables)
    tables.emplace_back().columns.resize(form.columns.size());
}

void add_record(Tables& tables, const RecordForm& form, std::size_t table, const void* record) {
  ++tables.tables[table].rows;
  add_records(tables, form, table, record, 1);
}

void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out) {
  const RunForm& form = run_form();
  TextNumbers new_text(part.strings, run.strings);
  std::vector<std::vector<std::uint32_t>> new_rows(form.tables.size()); // by table and old row
  const std::vector<std::int32_t> ids = trial_ids(part);
  for (std::size_t t = form.trials; t < form.tables.size(); ++t) {
    const Table& from = part.tables[t];
    Table& to = run.tables[t];
    auto stays = [&](std::uint64_t row) {
      return t == form.trials
                 ? !left_out.contains(ids[row])
                 : new_rows[*form.tables[t].parent][number_at(from.columns[0], row)] != k_no_number;
    };
    new_rows[t].assign(from.rows, k_no_number);
    std::vector<std::uint64_t> rows;
    for (std::uint64_t row = 0; row < from.rows; ++row)
      if (stays(row)) {
        new_rows[t][row] = static_cast<std::uint32_t>(to.rows + rows.size());
        rows.push_back(row);
      }
    to.rows += rows.size();
    for (std::size_t c = 0; c < form.tables[t].columns.size(); ++c) {
      const ColumnForm& column = form.tables[t].columns[c];
      const ColumnSource& old = from.columns[c];
      std::vector<std::byte>& values = to.columns[c].values;
      const std::size_t bytes = bytes_of(column.number);
      if (column.holds == ColumnForm::Holds::numbers && rows.size() == from.rows) {
        append(values, old.values.data(), old.values.size());
        continue;
      }
      for (std::uint64_t row : rows) {
        if (column.holds == ColumnForm::Holds::numbers) {
          append(values, old.values.data() + row * bytes, bytes);
          continue;
        }
        std::uint32_t number = number_at(old, row);
        if (column.holds == ColumnForm::Holds::parent)
          number = new_rows[*form.tables[t].parent][number];
        else if (!column.missing || number != *column.missing)
          number = new_text(number);
        append(values, &number, sizeof number);
      }
    }
  }
}

std::vector<std::int32_t> trial_ids(const Tables& tables) {
  const RunForm& form = run_form();
  const Table& trials = tables.tables[form.trials];
  std::vector<std::int32_t> ids(trials.rows);
  const base::Fd fd = open_columns(tables.file);
  ColumnReader(fd.get(), trials.columns[form.column(form.trials, "id")])
      .read(0, std::as_writable_bytes(std::span(ids)), sizeof ids[0]);
  return ids;
}

void load_all(Tables& tables, FileKind kind, std::uint64_t most_bytes) {
  const std::vector<TableForm>& forms = run_form().tables;
  const base::Fd fd = open_columns(tables.file);
  for (std::size_t t = 0; t < forms.size(); ++t) {
    Table& table = tables.tables[t];
    for (std::size_t c = 0; c < forms[t].columns.size(); ++c) {
      const std::size_t value_bytes = bytes_of(forms[t].columns[c].number);
      const std::uint64_t bytes = table.rows * value_bytes;
      if (bytes > most_bytes)
        raise(Errc::failed, "it asks for more memory than such a file may");
      most_bytes -= bytes;
      ColumnSource loaded;
      loaded.values.resize(bytes);
      ColumnReader(fd.get(), table.columns[c]).read(0, loaded.values, value_bytes);
      table.columns[c] = std::move(loaded);
    }
    check_texts(forms[t], table, tables.strings);
  }
  tables.file.clear();
  child_rows(tables, kind);
}

ChildRows child_rows(const Tables& tables, FileKind kind) {
  const std::vector<TableForm>& forms = run_form().tables;
  const base::Fd fd = open_columns(tables.file);
  ChildRows all(forms.size());
  const auto [begin, end] = run_form().tables_of(kind);
  for (std::size_t t = begin; t < end; ++t) {
    const Table& table = tables.tables[t];
    std::vector<std::uint64_t>& starts = all[t];
    if (!forms[t].parent) {
      starts = {0, table.rows};
      continue;
    }
    const TableForm& parent = forms[*forms[t].parent];
    const std::uint64_t parents = tables.tables[*forms[t].parent].rows;
    for_each_slice(
        table.columns[0], table.rows, fd.get(), [&](std::uint64_t first, const auto& numbers) {
          for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] >= parents)
              raise(Errc::failed, "/{}/{} points to row {} of {}", forms[t].name,
                    forms[t].columns[0].name, numbers[i], parents);
            if (numbers[i] + 1 < starts.size())
              raise(Errc::failed, "/{} is not in the order of /{}", forms[t].name, parent.name);
            while (starts.size() <= numbers[i])
              starts.push_back(first + i);
          }
        });
    starts.resize(parents + 1, table.rows);
  }
  return all;
}

} // namespace ncclprobe::store
