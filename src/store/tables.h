// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/column_reader.h"
#include "store/run_form.h"
#include "store/scratch_file.h"
#include "store/strings.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

// A run file's content, column by column, independent of HDF5.
namespace ncclprobe::store {

struct Table {
  std::uint64_t rows = 0;
  std::vector<ColumnSource> columns; // as in its form
};

struct Tables {
  Tables();

  Strings strings;
  std::vector<Table> tables;  // by their number in run_form()
  std::filesystem::path file; // the file with the columns that are not in memory; empty: all are
  // Large columns go there, piece by piece, while they are put together.
  std::optional<ScratchFile> scratch;
};

// Adds the record at `record`, and the rows of its lists. Throws Exception (invalid_argument)
// if lists that share a table differ in length.
void add_record(Tables& tables, const RecordForm& form, std::size_t table, const void* record);

// Adds `count` contiguous elements to the list of the record in row `parent`, after those of the
// rows before it.
void add_elements(Tables& tables, const ListForm& list, std::uint32_t parent, const void* elements,
                  std::size_t count);

// Appends the trials of `part` to `run`, with rows and texts renumbered, except those whose id is
// in `left_out`. Of columns of `part` that are in its file, only some rows are in memory at once.
// Throws Exception.
void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out = {});

// The values of a column of /trials, in the order of the rows. Throws Exception.
std::vector<std::byte> trial_column(const Tables& tables, std::string_view name);
// The id of each trial, in the order of the rows.
std::vector<std::int32_t> trial_ids(const Tables& tables);

// Calls visit(some values) for all values of a column that was put together, in their order.
void for_each_piece(const Tables& tables, const ColumnSource& column,
                    const std::function<void(std::span<const std::byte>)>& visit);

// Reads all values once, and calls `progress` in between. Throws Exception: failed if a row or text
// does not exist; io; protocol.
void check_values(const Tables& tables, FileKind kind, const std::function<void()>& progress);

// For each table: the first child row of each row of its parent, and at the end the number of rows.
using ChildRows = std::vector<std::vector<std::uint64_t>>;
// Throws Exception: failed if rows are not in the order of their parents, or a parent does
// not exist. Tables that such a file lacks are empty. Calls `progress` in between.
ChildRows child_rows(
    const Tables& tables, FileKind kind, const std::function<void()>& progress = [] {});

} // namespace ncclprobe::store
