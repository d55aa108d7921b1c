// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/tables.h"

#include "base/error.h"

#include <algorithm>
#include <cstring>

namespace ncclprobe::store {
namespace {

constexpr std::uint32_t k_no_number = UINT32_MAX;
constexpr std::size_t k_rows_of_slice = 65'536;
constexpr std::size_t k_most_in_memory = 1 << 20; // of a column, if there is a scratch file

void append(std::vector<std::byte>& values, const void* more, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(more);
  values.insert(values.end(), first, first + bytes);
}

// Once a column has taken up its share of the memory, its values go to the scratch file.
void make_room(Tables& tables, ColumnSource& column) {
  if (!tables.scratch || column.values.size() < k_most_in_memory)
    return;
  column.set_aside.push_back({tables.scratch->append(column.values), column.values.size()});
  column.values.clear();
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
    make_room(tables, tables.tables[number].columns[leaf.column]);
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

// Calls visit(first row, count) for all rows, some at a time.
template <typename Visit>
void for_each_slice(std::uint64_t rows, Visit visit) {
  for (std::uint64_t row = 0; row < rows; row += k_rows_of_slice)
    visit(row, static_cast<std::size_t>(std::min<std::uint64_t>(k_rows_of_slice, rows - row)));
}

std::uint32_t number_at(std::span<const std::byte> numbers, std::size_t i) {
  std::uint32_t number = 0;
  std::memcpy(&number, numbers.data() + i * sizeof number, sizeof number);
  return number;
}

// `slice`: numbers of texts.
void check_texts(const TableForm& form, const ColumnForm& column, const Strings& strings,
                 std::span<const std::byte> slice) {
  for (std::size_t i = 0; i < slice.size() / sizeof(std::uint32_t); ++i)
    if (const std::uint32_t number = number_at(slice, i);
        number >= strings.size() && !(column.missing && number == *column.missing))
      raise(Errc::failed, "/{}/{} points to text {} of {}", form.name, column.name, number,
            strings.size());
}

bool has_children(std::size_t table) {
  return std::ranges::any_of(run_form().tables,
                             [&](const TableForm& one) { return one.parent == table; });
}

// Appends the trials of one file to a run, table by table.
class TrialAppender {
public:
  TrialAppender(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out)
      : run_(&run), part_(&part), left_out_(&left_out), fd_(open_columns(part.file)),
        new_text_(part.strings, run.strings), ids_(trial_ids(part)),
        new_rows_(run_form().tables.size()) {}

  // Parents first.
  void append_table(std::size_t number) {
    const std::vector<ColumnForm>& columns = run_form().tables[number].columns;
    const Table& from = part_->tables[number];
    Table& to = run_->tables[number];
    std::vector<std::uint32_t>& new_rows = new_rows_[number];
    if (has_children(number))
      new_rows.assign(from.rows, k_no_number);
    std::vector<ColumnReader> readers;
    for (const ColumnSource& column : from.columns)
      readers.emplace_back(fd_.get(), column);
    std::vector<std::byte> slice;
    for_each_slice(from.rows, [&](std::uint64_t first, std::size_t count) {
      const std::vector<std::size_t> kept = kept_rows(number, readers.front(), first, count);
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::size_t bytes = bytes_of(columns[c].number);
        slice.resize(count * bytes);
        readers[c].read(first, slice, bytes);
        keep_only(slice, kept, bytes);
        renumber(number, columns[c], slice);
        append(to.columns[c].values, slice.data(), slice.size());
        make_room(*run_, to.columns[c]);
      }
      for (std::size_t i = 0; !new_rows.empty() && i < kept.size(); ++i)
        new_rows[first + kept[i]] = static_cast<std::uint32_t>(to.rows + i);
      to.rows += kept.size();
    });
  }

private:
  // Of `count` rows from `first` on, those whose trial is not left out, counted from `first`.
  std::vector<std::size_t> kept_rows(std::size_t table, ColumnReader& parents, std::uint64_t first,
                                     std::size_t count) {
    std::vector<std::size_t> kept;
    if (table == run_form().trials) {
      for (std::size_t i = 0; i < count; ++i)
        if (!left_out_->contains(ids_[first + i]))
          kept.push_back(i);
      return kept;
    }
    std::vector<std::byte> numbers(count * sizeof(std::uint32_t));
    parents.read(first, numbers, sizeof(std::uint32_t));
    for (std::size_t i = 0; i < count; ++i)
      if (new_row(table, number_at(numbers, i)) != k_no_number)
        kept.push_back(i);
    return kept;
  }

  std::uint32_t new_row(std::size_t table, std::uint32_t parent) const {
    return new_rows_[*run_form().tables[table].parent].at(parent);
  }

  static void keep_only(std::vector<std::byte>& values, const std::vector<std::size_t>& kept,
                        std::size_t bytes) {
    if (kept.size() * bytes == values.size())
      return;
    for (std::size_t i = 0; i < kept.size(); ++i)
      std::memmove(values.data() + i * bytes, values.data() + kept[i] * bytes, bytes);
    values.resize(kept.size() * bytes);
  }

  void renumber(std::size_t table, const ColumnForm& column, std::span<std::byte> values) {
    if (column.holds == ColumnForm::Holds::numbers)
      return;
    for (std::size_t i = 0; i < values.size() / sizeof(std::uint32_t); ++i) {
      std::uint32_t number = number_at(values, i);
      if (column.holds == ColumnForm::Holds::parent)
        number = new_row(table, number);
      else if (!column.missing || number != *column.missing)
        number = new_text_(number);
      std::memcpy(values.data() + i * sizeof number, &number, sizeof number);
    }
  }

  Tables* run_;
  const Tables* part_;
  const std::set<std::int32_t>* left_out_;
  base::Fd fd_;
  TextNumbers new_text_;
  std::vector<std::int32_t> ids_;
  std::vector<std::vector<std::uint32_t>> new_rows_; // by table, if it has children, and old row
};

} // namespace

Tables::Tables() {
  for (const TableForm& form : run_form().tables)
    tables.emplace_back().columns.resize(form.columns.size());
}

void add_record(Tables& tables, const RecordForm& form, std::size_t table, const void* record) {
  ++tables.tables[table].rows;
  add_records(tables, form, table, record, 1);
}

void add_elements(Tables& tables, const ListForm& list, std::uint32_t parent, const void* elements,
                  std::size_t count) {
  Table& table = tables.tables[list.table];
  table.rows += count;
  const std::vector<std::uint32_t> parents(count, parent);
  append(table.columns.front().values, parents.data(), count * sizeof parents[0]);
  make_room(tables, table.columns.front());
  add_records(tables, list.element, list.table, elements, count);
}

void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out) {
  TrialAppender appender(run, part, left_out);
  for (std::size_t t = run_form().trials; t < run_form().tables.size(); ++t)
    appender.append_table(t);
}

std::vector<std::byte> trial_column(const Tables& tables, std::string_view name) {
  const RunForm& form = run_form();
  const Table& trials = tables.tables[form.trials];
  const std::size_t column = form.column(form.trials, name);
  const std::size_t bytes = bytes_of(form.tables[form.trials].columns[column].number);
  std::vector<std::byte> values(trials.rows * bytes);
  const base::Fd fd = open_columns(tables.file);
  ColumnReader(fd.get(), trials.columns[column]).read(0, values, bytes);
  return values;
}

std::vector<std::int32_t> trial_ids(const Tables& tables) {
  const std::vector<std::byte> values = trial_column(tables, "id");
  std::vector<std::int32_t> ids(values.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), values.data(), values.size());
  return ids;
}

void for_each_piece(const Tables& tables, const ColumnSource& column,
                    const std::function<void(std::span<const std::byte>)>& visit) {
  std::vector<std::byte> piece;
  for (const SetAside& aside : column.set_aside) {
    piece.resize(aside.bytes);
    tables.scratch->read(aside.at, piece);
    visit(piece);
  }
  visit(column.values);
}

void check_values(const Tables& tables, FileKind kind, const std::function<void()>& progress) {
  const std::vector<TableForm>& forms = run_form().tables;
  const base::Fd fd = open_columns(tables.file);
  const auto [begin, end] = run_form().tables_of(kind);
  std::vector<std::byte> slice;
  for (std::size_t t = begin; t < end; ++t) {
    const Table& table = tables.tables[t];
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const ColumnForm& column = forms[t].columns[c];
      ColumnReader reader(fd.get(), table.columns[c]);
      for_each_slice(table.rows, [&](std::uint64_t first, std::size_t count) {
        slice.resize(count * bytes_of(column.number));
        reader.read(first, slice, bytes_of(column.number));
        if (column.holds == ColumnForm::Holds::texts)
          check_texts(forms[t], column, tables.strings, slice);
        progress();
      });
    }
  }
  child_rows(tables, kind, progress);
}

ChildRows child_rows(const Tables& tables, FileKind kind, const std::function<void()>& progress) {
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
    ColumnReader reader(fd.get(), table.columns[0]);
    std::vector<std::uint32_t> numbers;
    for_each_slice(table.rows, [&](std::uint64_t first, std::size_t count) {
      numbers.resize(count);
      reader.read(first, std::as_writable_bytes(std::span(numbers)), sizeof numbers[0]);
      for (std::size_t i = 0; i < count; ++i) {
        if (numbers[i] >= parents)
          raise(Errc::failed, "/{}/{} points to row {} of {}", forms[t].name,
                forms[t].columns[0].name, numbers[i], parents);
        if (numbers[i] + 1 < starts.size())
          raise(Errc::failed, "/{} is not in the order of /{}", forms[t].name, parent.name);
        while (starts.size() <= numbers[i])
          starts.push_back(first + i);
      }
      progress();
    });
    starts.resize(parents + 1, table.rows);
  }
  return all;
}

} // namespace ncclprobe::store
