// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/spool_set.h"

#include "base/fd.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Result;

Result<std::shared_ptr<const std::byte>> map_file(const std::filesystem::path& path,
                                                  std::uint64_t bytes) {
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  void* address = fd ? ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0) : MAP_FAILED;
  if (address == MAP_FAILED)
    return base::fail(Errc::io, "cannot read the spool {}: {}", path.string(),
                      std::strerror(errno));
  return std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(address),
      [bytes](const std::byte* at) { ::munmap(const_cast<std::byte*>(at), bytes); });
}

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
    if (block.table == trace::Table::text) {
      spool.texts.push_back(strings_.intern(block.text()).id);
    } else {
      found.push_back({block.table, block.rank, block.rows, at});
      if (block.rank >= 0)
        spool.ranks.insert(block.rank);
    }
    at += block.bytes.size();
  });
  if (!summary && found.empty())
    return base::fail(std::move(summary.error()));
  std::error_code ignored;
  const std::uint64_t size = std::filesystem::file_size(path, ignored);
  NCCLPROBE_TRY_ASSIGN(spool.map, map_file(path, size));
  if (spool.ranks.empty() && !found.empty())
    spool.ranks.insert(0);
  for (const Found& one : found)
    blocks_[{one.rank >= 0 ? one.rank : *spool.ranks.begin(), one.table}].push_back(
        {spool.map.get() + one.at, one.rows, number});

  trace::SpoolHeader header;
  std::memcpy(static_cast<void*>(&header), spool.map.get(), sizeof header);
  spool.origin = {text_of(header.host), text_of(header.boot_id), header.process,
                  header.start_ns,      header.realtime_ns,      size - at};
  if (!summary)
    remarks.push_back(fmt::format("{}; the {} bytes from there on are left out",
                                  summary.error().message, size - at));
  else if (size > at)
    remarks.push_back(fmt::format("{}: its process ended before it finished the last block: {} "
                                  "bytes are left out",
                                  path.filename().string(), size - at));
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

std::uint64_t SpoolSet::rows(int rank, trace::Table table) const {
  auto found = blocks_.find({rank, table});
  std::uint64_t rows = 0;
  if (found != blocks_.end())
    for (const Block& block : found->second)
      rows += block.rows;
  return rows;
}

} // namespace ncclprobe::store
