// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ncclprobe::tuning {

struct TableFile {
  Table table;
  std::string sha256; // of the file's bytes, in hexadecimal digits
};
// Errors: not_found, io; protocol as those of parse_table().
Result<TableFile> read_table_file(const std::filesystem::path& path);

// The name of a table and its content in one text, "PATH@SHA256": the value of
// NCCLPROBE_TUNER_TABLE.
struct TableReference {
  std::filesystem::path path;
  std::string sha256;
};
std::string to_text(const TableReference& reference);
// Errors: invalid_argument.
Result<TableReference> parse_table_reference(std::string_view text);

// Errors: invalid_argument if every user may write the file, io.
Result<void> check_permissions(const std::filesystem::path& path);

// The table that the reference means. Errors: those of read_table_file() and check_permissions();
// mismatch if the file's SHA-256 is another.
Result<Table> read_referenced_table(const TableReference& reference);

} // namespace ncclprobe::tuning
