// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"
#include "store/record_form.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

// The tables of a run file, version 2.0, which docs/run-file-tables.md lists. They follow from the
// fields of model::RunHeader and model::TrialRecord: a new field there is a column here. A field
// that later files have and earlier ones lack is described as base::grown.
//
//   /            attributes schema = "ncclprobe.run", schema_version = [2, 0],
//                kind = "run" (folded file), "header" or "trial" (parts of it)
//   /<table>     one group per table, one 1-D dataset per column; all columns of a table have
//                the same length; the dataset's attribute "about" says what it means
//   /strings     blob: the bytes of all texts, each once; offset: text i is
//                blob[offset[i]:offset[i+1]].
//                Texts are stored as captured: usually UTF-8, never guaranteed. Text 0 is empty.
//
// Columns: numbers are little-endian; yes/no is u8 with 0 or 1; enumerations are u8 with the
// attribute "labels" (label of value v is labels[v]); texts are u32, the row in /strings. "row in
// /t" means position in table t. Lists of ranks are texts such as "0,1,5". A column with absent
// values has the attribute "missing": the number that marks them. Rows are in the order of their
// parents. Filters: shuffle, deflate (columns of 512 bytes and more) and fletcher32, which every
// HDF5 has. Documents are JSON, or CBOR (first byte is neither '{' nor '[') if a text in them is
// not UTF-8.
namespace ncclprobe::store {

inline constexpr const char* k_schema_name = "ncclprobe.run";
inline constexpr int k_schema_major = 2; // raised when old readers would be wrong
inline constexpr int k_schema_minor = 0;

// The three kinds of file: the whole run, the data known before the first trial, one trial.
enum class FileKind { run, header, trial };

struct RunForm {
  std::vector<TableForm> tables; // first those of the header, then those of trials
  RecordForm header;             // in the first table
  RecordForm trial;              // in the table with this number
  std::size_t trials = 0;

  // The range of tables that a file of this kind has: from, to.
  std::pair<std::size_t, std::size_t> tables_of(FileKind kind) const;
  // Throws Exception (invalid_argument) if there is none of this name.
  std::size_t column(std::size_t table, std::string_view name) const;
};
const RunForm& run_form();

} // namespace ncclprobe::store
