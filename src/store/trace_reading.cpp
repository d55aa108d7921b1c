// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_reading.h"

#include "base/atomic_file.h"
#include "store/chunk_codec.h"
#include "store/superblock.h"
#include "store/trace_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>

namespace ncclprobe::store {
namespace {

constexpr std::uint64_t k_most_chunk_rows = 1 << 20;

std::vector<int> ranks_of(hid_t file) {
  std::vector<int> ranks;
  for (const std::string& name : link_names(file))
    if (name.starts_with("rank_")) {
      int rank = -1;
      auto [end, error] = std::from_chars(name.data() + 5, name.data() + name.size(), rank);
      if (error != std::errc() || rank < 0 || rank_group_name(rank) != name)
        raise(Errc::failed, "/{} is not a rank", name);
      ranks.push_back(rank);
    }
  std::ranges::sort(ranks);
  return ranks;
}

// A column of /strings as a whole.
template <typename T>
std::vector<T> read_whole(hid_t group, const char* name) {
  Hdf5Dataset dataset(H5Dopen2(group, name, H5P_DEFAULT), "H5Dopen2", name);
  ColumnLayout layout = read_layout(dataset.get(), name);
  if (layout.value_bytes != sizeof(T))
    raise(Errc::failed, "column {} has another type than the schema says", name);
  std::vector<T> values(layout.chunks.size() * layout.chunk_rows);
  std::vector<std::byte> stored;
  ChunkDecoder decoder;
  for (std::size_t i = 0; i < layout.chunks.size(); ++i) {
    read_chunk(dataset.get(), layout, i, stored, name);
    decoder.decode(stored, values.data() + i * layout.chunk_rows, sizeof(T), layout.chunk_rows);
  }
  values.resize(layout.rows);
  return values;
}

std::vector<std::string> read_trace_texts(hid_t file) {
  Hdf5Group group(H5Gopen2(file, "strings", H5P_DEFAULT), "H5Gopen2", "strings");
  auto blob = read_whole<char>(group.get(), "blob");
  auto offsets = read_whole<std::uint64_t>(group.get(), "offset");
  if (offsets.size() < 2 || offsets.front() != 0 || offsets.back() != blob.size() ||
      !std::ranges::is_sorted(offsets))
    raise(Errc::failed, "/strings/offset does not fit /strings/blob");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    texts.emplace_back(blob.data() + offsets[i], offsets[i + 1] - offsets[i]);
  return texts;
}

TraceTable table_of(hid_t parent, const char* name) {
  Hdf5Group group(H5Gopen2(parent, name, H5P_DEFAULT), "H5Gopen2", name);
  TraceTable table{read_number<std::uint64_t>(group.get(), "n_valid"), {}};
  for (const std::string& column : link_names(group.get())) {
    Hdf5Dataset dataset(H5Dopen2(group.get(), column.c_str(), H5P_DEFAULT), "H5Dopen2", column);
    const ColumnLayout& layout =
        table.columns.emplace(column, read_layout(dataset.get(), column.c_str())).first->second;
    if (layout.rows < table.rows)
      raise(Errc::failed, "column {}/{} has {} rows of {}", name, column, layout.rows, table.rows);
  }
  return table;
}

std::map<std::string, TraceTable> tables_of(hid_t parent, const std::string& name,
                                            const Progress& progress) {
  Hdf5Group group(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), "H5Gopen2", name);
  std::map<std::string, TraceTable> tables;
  for (const std::string& table : link_names(group.get())) {
    tables.emplace(table, table_of(group.get(), table.c_str()));
    progress();
  }
  return tables;
}

TraceLayout layout_of(OpenTrace& trace, const Progress& progress) {
  const hid_t file = trace.file.get();
  TraceLayout layout{trace.identity, std::move(trace.texts), {}};
  for (int rank : trace.ranks) {
    const std::string name = rank_group_name(rank);
    const std::string index = "index/" + name;
    Hdf5Group group(H5Gopen2(file, name.c_str(), H5P_DEFAULT), "H5Gopen2", name);
    RankLayout& one = layout.ranks.emplace_back(
        RankLayout{rank, read_origin(group.get()), tables_of(file, name, progress), {}});
    if (has_link(file, "index") && has_link(file, index.c_str()))
      one.index = tables_of(file, index, progress);
  }
  return layout;
}

} // namespace

Hdf5File open_hdf5_file(const std::filesystem::path& path) {
  std::error_code trouble;
  const auto status = std::filesystem::status(path, trouble);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    raise(Errc::protocol, "{} is not a regular file, and so not an HDF5 file", path.string());
  std::ifstream file(path, std::ios::binary);
  std::array<char, k_hdf5_signature.size()> signature{};
  if (!file)
    raise(Errc::not_found, "cannot read {}", path.string());
  file.read(signature.data(), signature.size());
  if (std::string_view(signature.data(), signature.size()) != k_hdf5_signature)
    raise(Errc::protocol, "{} is not an HDF5 file", path.string());
  prepare_hdf5();
  Hdf5Properties access(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate", "file access");
  check_hdf5(H5Pset_file_locking(access.get(), false, true), "H5Pset_file_locking", "off");
  return Hdf5File(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "H5Fopen", path.string());
}

bool has_link(hid_t group, const char* name) {
  return H5Lexists(group, name, H5P_DEFAULT) > 0;
}

std::vector<std::string> link_names(hid_t group) {
  std::vector<std::string> names;
  H5L_iterate_t take = [](hid_t, const char* name, const H5L_info_t*, void* all) -> herr_t {
    try {
      static_cast<std::vector<std::string>*>(all)->emplace_back(name);
      return 0;
    } catch (const std::exception&) { // must not pass through C code
      return -1;
    }
  };
  check_hdf5(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &names), "H5Literate",
             "group");
  return names;
}

TraceOrigin read_origin(hid_t group) {
  return {read_texts(group, "host").at(0),
          read_texts(group, "boot_id").at(0),
          read_number<std::uint32_t>(group, "process"),
          read_number<std::uint64_t>(group, "opened_ns"),
          read_number<std::uint64_t>(group, "opened_realtime_ns"),
          read_number<std::uint64_t>(group, "bytes_left_out")};
}

ColumnLayout read_layout(hid_t dataset, const char* name) {
  Hdf5Type type(H5Dget_type(dataset), "H5Dget_type", name);
  Hdf5Space space(H5Dget_space(dataset), "H5Dget_space", name);
  Hdf5Properties made(H5Dget_create_plist(dataset), "H5Dget_create_plist", name);
  if (H5Tget_class(type.get()) != H5T_INTEGER || H5Sget_simple_extent_ndims(space.get()) != 1 ||
      (H5Tget_size(type.get()) > 1 && H5Tget_order(type.get()) != H5T_ORDER_LE))
    raise(Errc::failed, "column {} is not a list of little-endian integers", name);
  ColumnLayout layout;
  layout.value_bytes = H5Tget_size(type.get());
  layout.is_signed = H5Tget_sign(type.get()) == H5T_SGN_2;
  hsize_t rows = 0;
  check_hdf5(H5Sget_simple_extent_dims(space.get(), &rows, nullptr), "H5Sget_simple_extent_dims",
             name);
  layout.rows = rows;
  if (rows == 0)
    return layout;
  hsize_t chunk = 0;
  if (H5Pget_layout(made.get()) != H5D_CHUNKED || H5Pget_chunk(made.get(), 1, &chunk) != 1 ||
      chunk == 0 || chunk > k_most_chunk_rows)
    raise(Errc::failed, "column {} is not in chunks as ncclprobe writes them", name);
  std::vector<H5Z_filter_t> filters;
  for (int i = 0; i < H5Pget_nfilters(made.get()); ++i)
    filters.push_back(H5Pget_filter2(made.get(), static_cast<unsigned>(i), nullptr, nullptr,
                                     nullptr, 0, nullptr, nullptr));
  std::vector<H5Z_filter_t> ours{H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
  if (layout.value_bytes > 1)
    ours.insert(ours.begin(), H5Z_FILTER_SHUFFLE);
  if (filters != ours)
    raise(Errc::failed, "column {} has other filters than ncclprobe writes", name);
  layout.chunk_rows = chunk;
  for (hsize_t at = 0; at < rows; at += chunk) {
    unsigned skipped = 0;
    haddr_t place = HADDR_UNDEF;
    hsize_t bytes = 0;
    check_hdf5(H5Dget_chunk_info_by_coord(dataset, &at, &skipped, &place, &bytes),
               "H5Dget_chunk_info_by_coord", name);
    if (place == HADDR_UNDEF || skipped != 0)
      raise(Errc::failed, "column {} lacks the rows from {} on", name, at);
    layout.chunks.push_back({place, bytes});
  }
  return layout;
}

void read_chunk(hid_t dataset, const ColumnLayout& layout, std::size_t number,
                std::vector<std::byte>& stored, const char* name) {
  const hsize_t at = number * layout.chunk_rows;
  std::uint32_t filters = 0;
  stored.resize(layout.chunks[number].bytes);
  check_hdf5(H5Dread_chunk(dataset, H5P_DEFAULT, &at, &filters, stored.data()), "H5Dread_chunk",
             name);
}

OpenTrace open_trace(const std::filesystem::path& path) {
  try {
    OpenTrace trace{path.string(), open_hdf5_file(path), {}, {}, {}};
    hid_t file = trace.file.get();
    check_schema(file, path.string(), {k_trace_schema_name, "trace", k_trace_schema_major});
    if (!has_attribute(file, "complete") || read_number<std::uint8_t>(file, "complete") != 1)
      raise(Errc::failed, "it was not finished");
    trace.identity = {read_number<std::int32_t>(file, "trial"), read_texts(file, "run_id").at(0),
                      read_texts(file, "level").at(0)};
    trace.ranks = ranks_of(file);
    trace.texts = read_trace_texts(file);
    return trace;
  } catch (const Exception& error) {
    if (error.error().code == Errc::not_found ||
        (error.error().code == Errc::protocol && error.error().message.find(path.string()) == 0))
      throw;
    raise(Errc::protocol, "{} is damaged: {}", path.string(), error.error().message);
  }
}

TraceLayout describe_trace(const std::filesystem::path& path, const Progress& progress) {
  OpenTrace trace = open_trace(path);
  try {
    return layout_of(trace, progress);
  } catch (const std::exception& error) {
    raise(Errc::protocol, "{} is damaged: {}", path.string(), error.what());
  }
}

} // namespace ncclprobe::store
