// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/sha256.h"

#include <algorithm>
#include <cctype>
#include <sys/stat.h>

namespace ncclprobe::tuning {
namespace {

Result<std::string> read_bytes(const std::filesystem::path& path) {
  return base::read_text(path, k_most_table_bytes);
}

Result<TableFile> parsed(const std::filesystem::path& path, const std::string& bytes) {
  NCCLPROBE_TRY_ASSIGN(Table table, parse_table(bytes, path.string()));
  return TableFile{std::move(table), base::sha256(bytes)};
}

} // namespace

Result<TableFile> read_table_file(const std::filesystem::path& path) {
  NCCLPROBE_TRY_ASSIGN(const std::string bytes, read_bytes(path));
  return parsed(path, bytes);
}

std::string to_text(const TableReference& reference) {
  return reference.path.string() + "@" + reference.sha256;
}

Result<TableReference> parse_table_reference(std::string_view text) {
  const std::size_t at = text.rfind('@');
  const std::string_view digits = at == std::string_view::npos ? "" : text.substr(at + 1);
  const bool hexadecimal = std::ranges::all_of(
      digits, [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); });
  if (digits.size() != base::k_sha256_digits || !hexadecimal || at == 0)
    return fail(Errc::invalid_argument,
                "'{}' is not the path of a table, '@', and its SHA-256 in 64 digits", text);
  return TableReference{text.substr(0, at), std::string(digits)};
}

Result<void> check_permissions(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return base::system_error("look at", path, errno);
  if ((status.st_mode & S_IWOTH) != 0)
    return fail({Errc::invalid_argument,
                 fmt::format("{} may be written by every user", path.string()),
                 fmt::format("chmod o-w {}", path.string())});
  return {};
}

Result<Table> read_referenced_table(const TableReference& reference) {
  NCCLPROBE_TRY_ASSIGN(const std::string bytes, read_bytes(reference.path));
  NCCLPROBE_TRY(check_permissions(reference.path));
  if (const std::string found = base::sha256(bytes); found != reference.sha256)
    return fail({Errc::mismatch,
                 fmt::format("{} differs from the table that the job asks for: its SHA-256 is {}, "
                             "not {}",
                             reference.path.string(), found, reference.sha256),
                 "all ranks need the same file; copy it to this host again"});
  NCCLPROBE_TRY_ASSIGN(TableFile file, parsed(reference.path, bytes));
  return std::move(file.table);
}

} // namespace ncclprobe::tuning
