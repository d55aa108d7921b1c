// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_file.h"

#include "base/fd.h"
#include "base/json_document.h"
#include "store/chunk_codec.h"
#include "store/column_reader.h"
#include "store/guarded_read.h"
#include "store/trace_reading.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

struct RankTables {
  TraceOrigin origin;
  std::map<std::string, TraceTable> tables;
  std::map<std::string, std::vector<std::array<std::uint64_t, 3>>> index; // as TraceIndexRow
  // Sorted, for binary search: table, begin, length.
  std::vector<std::tuple<trace::Table, std::uint64_t, std::uint64_t>> long_durations;
};

// Checks numbers from a file or child that may be damaged, where a wrong one would do harm.
void check(const std::map<std::string, TraceTable>& tables, std::uint64_t file_bytes) {
  for (const auto& [name, table] : tables)
    for (const auto& [column, layout] : table.columns) {
      if (layout.value_bytes > 8 || layout.chunk_rows > 1 << 20)
        raise(Errc::protocol, "column {} has chunks of {} values of {} bytes", column,
              layout.chunk_rows, layout.value_bytes);
      for (const StoredChunk& chunk : layout.chunks)
        if (chunk.bytes > file_bytes || chunk.at > file_bytes - chunk.bytes)
          raise(Errc::protocol, "a chunk lies behind the end of the file");
      if (table.rows > layout.chunks.size() * layout.chunk_rows)
        raise(Errc::protocol, "column {} has fewer rows than its table", column);
    }
}

} // namespace

struct TraceFile::Impl {
  std::string path;
  base::Fd fd;
  TraceIdentity identity;
  std::vector<std::string> texts;
  std::vector<int> ranks;
  std::map<int, RankTables> tables;

  const TraceTable* find(int rank, trace::Table table) const {
    const auto& all = tables.at(rank).tables;
    auto found = all.find(trace::name_of(table));
    return found == all.end() ? nullptr : &found->second;
  }

  // Throws.
  void read(const TraceTable& table, const char* name, std::uint64_t first, std::uint64_t count,
            void* values, std::size_t value_bytes) const {
    if (count == 0)
      return;
    auto found = table.columns.find(name);
    if (found == table.columns.end())
      raise(Errc::protocol, "column {} is missing", name);
    const ColumnLayout& layout = found->second;
    if (layout.value_bytes != value_bytes || first + count > table.rows)
      raise(Errc::protocol, "column {} has another type than the schema says", name);
    auto* out = static_cast<std::byte*>(values);
    ChunkDecoder decoder;
    std::vector<std::byte> stored;
    std::vector<std::byte> edge;
    for (std::uint64_t chunk = first / layout.chunk_rows; chunk * layout.chunk_rows < first + count;
         ++chunk) {
      const StoredChunk& place = layout.chunks.at(chunk);
      stored.resize(place.bytes);
      read_at(fd.get(), place.at, stored);
      std::uint64_t begin = chunk * layout.chunk_rows;
      std::uint64_t end = begin + layout.chunk_rows;
      if (begin >= first && end <= first + count) {
        decoder.decode(stored, out + (begin - first) * value_bytes, value_bytes, layout.chunk_rows);
        continue;
      }
      edge.resize(layout.chunk_rows * value_bytes);
      decoder.decode(stored, edge.data(), value_bytes, layout.chunk_rows);
      std::uint64_t from = std::max(begin, first);
      std::uint64_t to = std::min(end, first + count);
      std::memcpy(out + (from - first) * value_bytes, edge.data() + (from - begin) * value_bytes,
                  (to - from) * value_bytes);
    }
  }

  template <typename T>
  std::vector<T> read_all(const TraceTable& table, const char* name) const {
    std::vector<T> values(table.rows);
    read(table, name, 0, table.rows, values.data(), sizeof(T));
    return values;
  }

  void read_index(const std::map<std::string, TraceTable>& stored, RankTables& rank) const {
    for (const auto& [name, table] : stored) {
      auto begin = read_all<std::uint64_t>(table, "begin_ns");
      auto last = read_all<std::uint64_t>(table, "last_begin_ns");
      auto end = read_all<std::uint64_t>(table, "end_ns");
      auto& index = rank.index[name];
      for (std::size_t i = 0; i < begin.size(); ++i)
        index.push_back({begin[i], last[i], end[i]});
    }
  }

  void read_long_durations(RankTables& rank) const {
    auto found = rank.tables.find(trace::name_of(trace::Table::long_duration));
    if (found == rank.tables.end())
      return;
    auto of = read_all<std::uint16_t>(found->second, "table");
    auto starts = read_all<std::uint64_t>(found->second, "start_ns");
    auto lengths = read_all<std::uint64_t>(found->second, "duration_ns");
    for (std::size_t i = 0; i < of.size(); ++i)
      rank.long_durations.emplace_back(static_cast<trace::Table>(of[i]), starts[i], lengths[i]);
    std::ranges::sort(rank.long_durations);
  }

  // The file's layout as describe_trace() told it. Throws.
  void take(const std::string& description) {
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0)
      raise(Errc::io, "{}", std::strerror(errno));
    auto file_bytes = static_cast<std::uint64_t>(info.st_size);
    TraceLayout layout;
    value_or_throw(base::read_json_or_cbor(description, base::readable(layout)));
    identity = std::move(layout.identity);
    texts = std::move(layout.texts);
    for (RankLayout& one : layout.ranks) {
      check(one.tables, file_bytes);
      check(one.index, file_bytes);
      RankTables rank{std::move(one.origin), std::move(one.tables), {}, {}};
      read_index(one.index, rank);
      read_long_durations(rank);
      ranks.push_back(one.rank);
      tables.emplace(one.rank, std::move(rank));
    }
  }
};

std::vector<Result<TraceFile>> TraceFile::open_all(const std::vector<fs::path>& paths) {
  std::vector<ChildJob> jobs;
  for (const fs::path& path : paths)
    jobs.push_back({path,
                    "read",
                    limits_for(path, {}),
                    [&path](const Progress& progress) -> Result<std::string> {
                      const TraceLayout layout = describe_trace(path, progress);
                      return base::json_or_cbor(base::writable(layout));
                    },
                    {}});
  std::vector<Result<std::string>> described = run_in_child(jobs);
  std::vector<Result<TraceFile>> files;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!described[i]) {
      files.push_back(fail(std::move(described[i].error())));
      continue;
    }
    auto impl = std::make_shared<Impl>();
    impl->path = paths[i].string();
    impl->fd = base::Fd(::open(paths[i].c_str(), O_RDONLY | O_CLOEXEC));
    if (!impl->fd) {
      files.push_back(fail(Errc::io, "cannot open {}: {}", impl->path, std::strerror(errno)));
      continue;
    }
    try {
      impl->take(*described[i]);
      files.push_back(TraceFile(std::move(impl)));
    } catch (const std::exception& error) {
      files.push_back(fail(Errc::protocol, "{} is damaged: {}", paths[i].string(), error.what()));
    }
  }
  return files;
}

Result<TraceFile> TraceFile::open(const fs::path& path) {
  return std::move(open_all({path}).front());
}

const TraceIdentity& TraceFile::identity() const {
  return impl_->identity;
}
const std::vector<int>& TraceFile::ranks() const {
  return impl_->ranks;
}
const TraceOrigin& TraceFile::origin(int rank) const {
  return impl_->tables.at(rank).origin;
}

const std::vector<std::string>& TraceFile::texts() const {
  return impl_->texts;
}

const std::string& TraceFile::text(trace::TextId id) const {
  static const std::string none;
  return id.id < impl_->texts.size() ? impl_->texts[id.id] : none;
}

std::uint64_t TraceFile::row_count(int rank, trace::Table table) const {
  const TraceTable* found = impl_->find(rank, table);
  return found ? found->rows : 0;
}

std::uint64_t TraceFile::first_ns(int rank) const {
  using enum trace::Table; // other tables may hold times of other clocks or rows
  std::uint64_t first = UINT64_MAX;
  for (trace::Table table :
       {span, operation, kernel, copy, api, synchronization, overhead, nccl_operation}) {
    const auto& index = impl_->tables.at(rank).index;
    auto found = index.find(trace::name_of(table));
    if (found == index.end())
      continue;
    for (const auto& [begin, last, end] : found->second) {
      if (begin == 0) // rows without times come first
        continue;
      first = std::min(first, begin);
      break;
    }
  }
  return first;
}

std::vector<TraceFile::Range> TraceFile::ranges(int rank, trace::Table table,
                                                const TraceWindow& window) const {
  const TraceTable* stored = impl_->find(rank, table);
  if (!stored || stored->rows == 0 || stored->columns.empty())
    return {};
  const auto& indexes = impl_->tables.at(rank).index;
  auto index = indexes.find(trace::name_of(table));
  std::vector<Range> ranges;
  const std::uint64_t chunk_rows = stored->columns.begin()->second.chunk_rows;
  for (std::uint64_t i = 0; i * chunk_rows < stored->rows; ++i) {
    if (index != indexes.end() && i < index->second.size()) {
      const auto& [begin, last, end] = index->second[i];
      if (begin >= window.until_ns || (end <= window.from_ns && last < window.from_ns))
        continue;
    }
    ranges.push_back({i * chunk_rows, std::min(chunk_rows, stored->rows - i * chunk_rows)});
  }
  return ranges;
}

bool TraceFile::has_column(int rank, trace::Table table, const char* name) const {
  const TraceTable* stored = impl_->find(rank, table);
  return stored != nullptr && stored->columns.contains(name);
}

Result<void> TraceFile::read_column(int rank, trace::Table table, const char* name, Range range,
                                    void* values, std::size_t value_bytes) const {
  const TraceTable* stored = impl_->find(rank, table);
  if (!stored)
    return {};
  try {
    impl_->read(*stored, name, range.first, range.count, values, value_bytes);
    return {};
  } catch (const Exception& error) {
    return fail(error.error().code, "{} is damaged: rank {}, {}/{}: {}", impl_->path, rank,
                trace::name_of(table), name, error.error().message);
  }
}

std::uint64_t TraceFile::long_duration_ns(int rank, trace::Table table,
                                          std::uint64_t start_ns) const {
  const auto& all = impl_->tables.at(rank).long_durations;
  auto found = std::ranges::lower_bound(all, std::tuple(table, start_ns, std::uint64_t{0}));
  bool known =
      found != all.end() && std::get<0>(*found) == table && std::get<1>(*found) == start_ns;
  return known ? std::get<2>(*found) : trace::k_long_duration;
}

} // namespace ncclprobe::store
