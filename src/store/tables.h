// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/column_reader.h"
#include "store/run_form.h"
#include "store/strings.h"

#include <cstdint>
#include <filesystem>
#include <set>
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
};

// Adds the record at `record`, and the rows of its lists. Throws Exception (invalid_argument)
// if lists that share a table differ in length.
void add_record(Tables& tables, const RecordForm& form, std::size_t table, const void* record);

// Appends the trials of `part` to `run`, with rows and texts renumbered, except those whose id is
// in `left_out`. All columns are in memory.
void append_trials(Tables& run, const Tables& part, const std::set<std::int32_t>& left_out = {});

// The id of each trial, in the order of the rows.
std::vector<std::int32_t> trial_ids(const Tables& tables);

// Reads the columns that are not in memory. Throws Exception: failed if that exceeds
// `most_bytes`, or if a row or text does not exist; io; protocol.
void load_all(Tables& tables, FileKind kind, std::uint64_t most_bytes);

// For each table: the first child row of each row of its parent, and at the end the number of rows.
using ChildRows = std::vector<std::vector<std::uint64_t>>;
// Throws Exception: failed if rows are not in the order of their parents, or a parent does
// not exist. Tables that such a file lacks are empty.
ChildRows child_rows(const Tables& tables, FileKind kind);

} // namespace ncclprobe::store
