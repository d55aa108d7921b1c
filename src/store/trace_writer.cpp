// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/trace_writer.h"

#include <algorithm>

namespace ncclprobe::store {
namespace {

Hdf5Properties chunked(std::uint64_t chunk_rows, std::size_t value_bytes) {
  Hdf5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate", "dataset");
  check_hdf5(H5Pset_obj_track_times(layout.get(), false), "H5Pset_obj_track_times", "dataset");
  check_hdf5(H5Pset_fill_time(layout.get(), H5D_FILL_TIME_NEVER), "H5Pset_fill_time", "dataset");
  hsize_t chunk = chunk_rows;
  check_hdf5(H5Pset_chunk(layout.get(), 1, &chunk), "H5Pset_chunk", "dataset");
  if (value_bytes > 1)
    check_hdf5(H5Pset_shuffle(layout.get()), "H5Pset_shuffle", "dataset");
  check_hdf5(H5Pset_deflate(layout.get(), k_deflate_level), "H5Pset_deflate", "dataset");
  check_hdf5(H5Pset_fletcher32(layout.get()), "H5Pset_fletcher32", "dataset");
  return layout;
}

} // namespace

std::string rank_group_name(int rank) {
  return fmt::format("rank_{:05}", rank);
}

TraceTableWriter::TraceTableWriter(hid_t parent, const std::string& name,
                                   std::span<const TraceColumn> columns, std::uint64_t rows,
                                   ChunkEncoder& encoder)
    : group_(create_group(parent, name.c_str())), columns_(columns.begin(), columns.end()),
      rows_(rows), chunk_rows_(std::clamp<std::uint64_t>(rows, 1, k_trace_chunk_rows)),
      encoder_(encoder) {
  hsize_t count = rows;
  Hdf5Space space(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", name);
  for (const TraceColumn& column : columns_) {
    auto layout = chunked(chunk_rows_, column.value_bytes);
    datasets_.emplace_back(H5Dcreate2(group_.get(), column.name, column.type, space.get(),
                                      H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                           "H5Dcreate2", column.name);
    write_text(datasets_.back().get(), "about", column.about);
    if (!column.labels.empty())
      write_texts(datasets_.back().get(), "labels", column.labels);
  }
  write_number(group_.get(), "n_valid", rows);
}

void TraceTableWriter::write(std::size_t column, std::uint64_t first_row, const void* values,
                             std::size_t count) {
  const std::size_t value_bytes = columns_[column].value_bytes;
  if (count < chunk_rows_) { // HDF5 stores whole chunks; repeating the last value costs nothing
    const auto* bytes = static_cast<const std::byte*>(values);
    padded_.assign(bytes, bytes + count * value_bytes);
    while (padded_.size() < chunk_rows_ * value_bytes)
      padded_.insert(padded_.end(), bytes + (count - 1) * value_bytes, bytes + count * value_bytes);
    values = padded_.data();
  }
  auto packed = encoder_.encode(values, value_bytes, chunk_rows_);
  hsize_t at = first_row;
  check_hdf5(
      H5Dwrite_chunk(datasets_[column].get(), H5P_DEFAULT, 0, &at, packed.size(), packed.data()),
      "H5Dwrite_chunk", columns_[column].name);
}

void TraceTableWriter::close() {
  for (std::size_t i = 0; i < datasets_.size(); ++i)
    datasets_[i].close(columns_[i].name);
  group_.close("table");
}

TraceWriter::TraceWriter(const std::filesystem::path& file, const TraceIdentity& identity)
    : file_(create_hdf5_file(file)), index_(create_group(file_.get(), "index")) {
  write_schema(file_.get(), k_trace_schema_name, k_trace_schema_major, k_trace_schema_minor);
  write_number<std::int32_t>(file_.get(), "trial", identity.trial);
  write_text(file_.get(), "run_id", identity.run_id);
  write_text(file_.get(), "level", identity.level);
}

Hdf5Group TraceWriter::add_rank(int rank, const TraceOrigin& origin) {
  Hdf5Group group = create_group(file_.get(), rank_group_name(rank).c_str());
  write_number<std::int32_t>(group.get(), "rank", rank);
  write_text(group.get(), "host", origin.host);
  write_text(group.get(), "boot_id", origin.boot_id);
  write_number(group.get(), "process", origin.process);
  write_number(group.get(), "opened_ns", origin.opened_ns);
  write_number(group.get(), "opened_realtime_ns", origin.opened_realtime_ns);
  write_number(group.get(), "bytes_left_out", origin.bytes_left_out);
  return group;
}

hid_t TraceWriter::index_group(int rank) {
  if (rank_indexes_.empty() || rank_indexes_.back().first != rank) {
    rank_indexes_.clear();
    rank_indexes_.emplace_back(rank, create_group(index_.get(), rank_group_name(rank).c_str()));
  }
  return rank_indexes_.back().second.get();
}

void TraceWriter::add_index(int rank, const std::string& table,
                            const std::vector<TraceIndexRow>& index) {
  auto shape = trace_columns<TraceIndexRow>();
  TraceTableWriter writer(index_group(rank), table, shape, index.size(), encoder_);
  for (std::size_t first = 0; first < index.size(); first += writer.chunk_rows())
    write_chunk(writer, first,
                std::span(index).subspan(
                    first, std::min<std::size_t>(writer.chunk_rows(), index.size() - first)));
  writer.close();
}

void TraceWriter::finish(const Strings& strings) {
  std::string blob;
  std::vector<std::uint64_t> offsets{0};
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    blob += strings.at(id);
    offsets.push_back(blob.size());
  }
  Hdf5Group group = create_group(file_.get(), "strings");
  auto add = [&](const TraceColumn& column, const auto& values) { // no table: lengths differ
    hsize_t count = values.size();
    Hdf5Space space(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", column.name);
    auto layout = chunked(std::clamp<hsize_t>(count, 1, k_trace_chunk_rows), column.value_bytes);
    Hdf5Dataset dataset(H5Dcreate2(group.get(), column.name, column.type, space.get(), H5P_DEFAULT,
                                   count > 0 ? layout.get() : H5P_DEFAULT, H5P_DEFAULT),
                        "H5Dcreate2", column.name); // chunks cannot be empty
    if (count > 0)
      check_hdf5(H5Dwrite(dataset.get(), column.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
                 "H5Dwrite", column.name);
    write_text(dataset.get(), "about", column.about);
    dataset.close(column.name);
  };
  add({"blob", "bytes of all texts", file_type<std::uint8_t>(), 1}, blob);
  add({"offset", "text i is blob[offset[i]:offset[i+1]]", file_type<std::uint64_t>(), 8}, offsets);
  group.close("strings");
  write_number<std::uint8_t>(file_.get(), "complete", 1);
  rank_indexes_.clear();
  index_.close("index");
  file_.close("trace file");
}

} // namespace ncclprobe::store
