// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_file.h"
#include "store/trace_making.h"
#include "store/trace_reading.h"
#include "store/trace_writer.h"

#include <optional>
#include <set>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

// Copies columns of texts with new numbers, and all other columns unchanged and packed.
class RankCopy {
public:
  RankCopy(const OpenTrace& from, int rank, const std::vector<std::uint32_t>& new_ids,
           TraceWriter& to)
      : from_(from), rank_(rank), new_ids_(new_ids), to_(to),
        source_(H5Gopen2(from.file.get(), rank_group_name(rank).c_str(), H5P_DEFAULT), "H5Gopen2",
                rank_group_name(rank)),
        group_(to.add_rank(rank, read_origin(source_.get()))) {}

  template <typename Row>
  std::uint64_t copy_table() {
    const std::string name = trace::name_of(Row::k_table);
    if (!has_link(source_.get(), name.c_str()))
      return 0;
    Hdf5Group source(H5Gopen2(source_.get(), name.c_str(), H5P_DEFAULT), "H5Gopen2", name);
    Hdf5Group target = create_group(group_.get(), name.c_str());
    auto rows = read_number<std::uint64_t>(source.get(), "n_valid");
    write_number(target.get(), "n_valid", rows);
    for_each_column<Row>([&](const auto& column) {
      if (column.since_minor > 0 && !has_link(source.get(), column.name))
        return; // the part is older
      copy(source.get(), column.name, target.get());
      using T = typename std::decay_t<decltype(column)>::Value;
      if constexpr (std::is_same_v<T, trace::TextId>)
        renumber(target.get(), column.name);
    });
    if (std::string path = "index/" + rank_group_name(rank_);
        has_link(from_.file.get(), path.c_str()))
      if (path += "/" + name; has_link(from_.file.get(), path.c_str()))
        check_hdf5(H5Ocopy(from_.file.get(), path.c_str(), to_.index_group(rank_), name.c_str(),
                           H5P_DEFAULT, H5P_DEFAULT),
                   "H5Ocopy", path);
    return rows;
  }

private:
  static void copy(hid_t from, const char* name, hid_t to) {
    check_hdf5(H5Ocopy(from, name, to, name, H5P_DEFAULT, H5P_DEFAULT), "H5Ocopy", name);
  }

  void renumber(hid_t table, const char* name) {
    Hdf5Dataset dataset(H5Dopen2(table, name, H5P_DEFAULT), "H5Dopen2", name);
    ColumnLayout layout = read_layout(dataset.get(), name);
    std::vector<std::uint32_t> ids(layout.chunk_rows);
    std::vector<std::byte> stored;
    for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
      read_chunk(dataset.get(), layout, i, stored, name);
      decoder_.decode(stored, ids.data(), sizeof ids[0], ids.size());
      for (std::uint32_t& id : ids) {
        if (id >= new_ids_.size())
          raise(Errc::protocol, "{} points to text {} of {}", name, id, new_ids_.size());
        id = new_ids_[id];
      }
      const hsize_t at = i * layout.chunk_rows;
      auto packed = to_.encoder().encode(ids.data(), sizeof ids[0], ids.size());
      check_hdf5(H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &at, packed.size(), packed.data()),
                 "H5Dwrite_chunk", name);
    }
    dataset.close(name);
  }

  const OpenTrace& from_;
  int rank_;
  const std::vector<std::uint32_t>& new_ids_;
  TraceWriter& to_;
  Hdf5Group source_;
  Hdf5Group group_;
  ChunkDecoder decoder_;
};

// Copies the ranks of one part that the target lacks. Throws.
void copy_part(const fs::path& path, Strings& strings, TraceWriter& writer, std::set<int>& ranks,
               TraceReport& report) {
  OpenTrace part = open_trace(path);
  std::vector<std::uint32_t> new_ids;
  for (const std::string& text : part.texts)
    new_ids.push_back(strings.intern(text));
  for (int rank : part.ranks) {
    if (!ranks.insert(rank).second)
      continue;
    RankCopy copy(part, rank, new_ids, writer);
    std::apply(
        [&](auto... row) { ((report.rows += copy.template copy_table<decltype(row)>()), ...); },
        trace::AllRows{});
    ++report.ranks;
  }
}

// Copies all parts. Returns the number of a part that proved damaged after half of it was written.
std::optional<std::size_t> copy_parts(const std::vector<fs::path>& paths, TraceWriter& writer,
                                      TraceReport& report) {
  Strings strings;
  std::set<int> ranks;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    try {
      copy_part(paths[i], strings, writer, ranks, report);
    } catch (const Exception& error) {
      if (error.error().code != Errc::protocol)
        throw;
      report.remarks.push_back(error.error().text());
      return i;
    }
  }
  writer.finish(strings);
  return std::nullopt;
}

Result<TraceReport> merge_here(std::vector<fs::path> paths, const fs::path& file,
                               const TraceIdentity& identity) {
  TraceReport report;
  while (!paths.empty()) {
    report.ranks = 0;
    report.rows = 0;
    TraceWriter writer(file, identity);
    auto damaged = copy_parts(paths, writer, report);
    if (!damaged)
      return report;
    paths.erase(paths.begin() + static_cast<std::ptrdiff_t>(*damaged));
  }
  return fail(Errc::protocol, "{}", report.remarks.back());
}

} // namespace

Result<TraceReport> merge_traces(const std::vector<fs::path>& parts, const fs::path& target,
                                 const fs::path& workshop) {
  if (parts.empty())
    return fail(Errc::not_found, "there are no traces for {}", target.string());
  // Each is opened alone, because one that crashes HDF5 would stop the others.
  std::vector<Result<TraceFile>> tried = TraceFile::open_all(parts);
  std::vector<fs::path> good;
  std::vector<std::string> remarks;
  TraceIdentity identity;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!tried[i]) {
      remarks.push_back(tried[i].error().text());
      continue;
    }
    const TraceIdentity& its = tried[i]->identity();
    if (good.empty())
      identity = its;
    if (identity.level.empty()) // made from the remains of a killed run
      identity.level = its.level;
    if (its.trial != identity.trial || its.run_id != identity.run_id)
      return fail(Errc::mismatch, "{} is of trial {}, {} of trial {} or of another run",
                  good.front().string(), identity.trial, parts[i].string(), its.trial);
    good.push_back(parts[i]);
  }
  if (good.empty())
    return fail(std::move(tried.back().error()));
  tried.clear();
  auto report = make_trace_file(
      target, workshop, [&](const fs::path& file) { return merge_here(good, file, identity); });
  if (report)
    report->remarks.insert(report->remarks.begin(), remarks.begin(), remarks.end());
  return report;
}

} // namespace ncclprobe::store
