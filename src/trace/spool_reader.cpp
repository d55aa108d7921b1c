// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_reader.h"

#include "trace/rows.h"

#include <fstream>
#include <optional>

namespace ncclprobe::trace {
namespace {

// A spool has millions of rows, which writers pass on in thousands.
constexpr std::uint64_t k_most_block_bytes = std::uint64_t{1} << 30;

std::optional<std::size_t> row_bytes_of(Table table) {
  if (table == Table::strings)
    return 1;
  std::optional<std::size_t> found;
  std::apply(
      [&](const auto&... row) {
        ((table == row.k_table ? void(found = sizeof row) : void()), ...);
      },
      AllRows{});
  return found;
}

Result<SpoolHeader> header_of(std::ifstream& file, const std::filesystem::path& path) {
  SpoolHeader header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != k_spool_magic)
    return fail(Errc::protocol, "{} is not a trace spool", path.string());
  if (header.version != k_rows_version)
    return fail(Errc::protocol,
                "{} was written by another version of ncclprobe (rows {}, not {}): use that "
                "one to read it",
                path.string(), header.version, k_rows_version);
  return header;
}

} // namespace

Result<SpoolHeader> read_spool_header(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(Errc::not_found, "cannot read the spool {}", path.string());
  return header_of(file, path);
}

Result<SpoolSummary> read_spool(const std::filesystem::path& path,
                                const std::function<void(const SpoolBlock&)>& visit) {
  std::error_code trouble;
  std::uint64_t size = std::filesystem::file_size(path, trouble);
  if (trouble)
    return fail(Errc::not_found, "cannot read the spool {}: {}", path.string(), trouble.message());
  std::ifstream file(path, std::ios::binary);
  SpoolSummary summary;
  NCCLPROBE_TRY_ASSIGN(summary.header, header_of(file, path));
  std::uint64_t at = sizeof summary.header;
  std::vector<std::byte> bytes;
  while (size - at >= sizeof(BlockHeader)) {
    BlockHeader header;
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header))
      return fail(Errc::io, "{} could not be read at byte {}", path.string(), at);
    auto expected = row_bytes_of(header.table);
    if (header.magic != k_block_magic || !expected || *expected != header.row_bytes)
      return fail(Errc::protocol, "{} is damaged at byte {}: no block of rows begins there",
                  path.string(), at);
    std::uint64_t length = static_cast<std::uint64_t>(header.rows) * header.row_bytes;
    if (length > k_most_block_bytes)
      return fail(Errc::protocol,
                  "{} is damaged at byte {}: a block of {} MiB, but none has more than {}",
                  path.string(), at, length >> 20, k_most_block_bytes >> 20);
    if (length > size - at - sizeof header)
      break; // its process ended while writing it
    bytes.resize(length);
    if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(length)))
      return fail(Errc::io, "{} could not be read at byte {}", path.string(), at);
    at += sizeof header + length;
    visit({header.table, header.rank, header.rows, bytes});
  }
  summary.bytes_left_out = size - at;
  return summary;
}

} // namespace ncclprobe::trace
