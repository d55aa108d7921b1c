// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/spool_set.h"

#include <algorithm>

namespace ncclprobe::store {
namespace {

template <std::size_t N>
std::string text_of(const std::array<char, N>& bytes) {
  return {bytes.begin(), std::ranges::find(bytes, '\0')};
}

} // namespace

Result<void> SpoolSet::add(const std::filesystem::path& path, std::vector<std::string>& remarks) {
  const std::size_t number = spools_.size();
  Spool spool;
  struct Found {
    trace::Table table;
    int rank;
    std::uint32_t rows;
    std::uint64_t at;
  };
  std::vector<Found> found;
  std::uint64_t at = sizeof(trace::SpoolHeader);
  auto summary = trace::read_spool(path, [&](const trace::SpoolBlock& block) {
    at += sizeof(trace::BlockHeader);
    if (block.table == trace::Table::strings) {
      spool.texts.push_back(strings_.intern(block.text()));
    } else {
      found.push_back({block.table, block.rank, block.rows, at});
      if (block.rank >= 0)
        spool.ranks.insert(block.rank);
    }
    at += block.bytes.size();
  });
  if (!summary && found.empty())
    return fail(std::move(summary.error()));
  NCCLPROBE_TRY_ASSIGN(spool.file, base::MappedFile::open(path));
  const std::string_view bytes = spool.file.bytes();
  if (spool.ranks.empty() && !found.empty())
    spool.ranks.insert(0);
  for (const Found& one : found)
    blocks_[{one.rank >= 0 ? one.rank : *spool.ranks.begin(), one.table}].push_back(
        {bytes.data() + one.at, one.rows, number});

  trace::SpoolHeader header;
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  spool.origin = {text_of(header.host), text_of(header.boot_id), header.process,
                  header.start_ns,      header.realtime_ns,      bytes.size() - at};
  if (!summary)
    remarks.push_back(fmt::format("{}; the {} bytes from there on are left out",
                                  summary.error().message, bytes.size() - at));
  else if (bytes.size() > at)
    remarks.push_back(fmt::format("{}: its process ended before it finished the last block: {} "
                                  "bytes are left out",
                                  path.filename().string(), bytes.size() - at));
  spools_.push_back(std::move(spool));
  return {};
}

std::vector<int> SpoolSet::ranks() const {
  std::set<int> all;
  for (const Spool& spool : spools_)
    all.insert(spool.ranks.begin(), spool.ranks.end());
  return {all.begin(), all.end()};
}

TraceOrigin SpoolSet::origin(int rank) const {
  TraceOrigin origin;
  bool first = true;
  for (const Spool& spool : spools_) {
    if (!spool.ranks.contains(rank))
      continue;
    std::uint64_t left_out = origin.bytes_left_out + spool.origin.bytes_left_out;
    if (std::exchange(first, false))
      origin = spool.origin;
    origin.bytes_left_out = left_out;
  }
  return origin;
}

void SpoolSet::release(int rank) const {
  for (const Spool& spool : spools_)
    if (spool.ranks.contains(rank))
      spool.file.release();
}

std::uint64_t SpoolSet::rows(int rank, trace::Table table) const {
  auto found = blocks_.find({rank, table});
  std::uint64_t rows = 0;
  if (found != blocks_.end())
    for (const Block& block : found->second)
      rows += block.rows;
  return rows;
}

} // namespace ncclprobe::store
