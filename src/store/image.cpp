// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/image.h"

#include "store/hdf5_attribute.h"
#include "store/memory_file.h"
#include "store/model_rows.h"
#include "store/row_reader.h"
#include "store/run_file.h"
#include "store/superblock.h"
#include "store/trace_reading.h"

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::raise;

constexpr hsize_t k_chunk_rows = 65'536; // 64 to 512 KiB: one chunk fits the default chunk cache
constexpr hsize_t k_deflate_from_bytes = 512; // below, starting zlib costs more than it saves
constexpr unsigned k_deflate_level = 1;
constexpr hsize_t k_rows_at_once = 16 * k_chunk_rows; // when reading: some 50 ms

// --- writing ---

Hdf5Properties column_layout(hsize_t rows, std::size_t value_bytes) {
  Hdf5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate", "dataset");
  check_hdf5(H5Pset_obj_track_times(layout.get(), false), "H5Pset_obj_track_times", "dataset");
  if (rows == 0)
    return layout; // chunks cannot be empty
  hsize_t chunk = std::min(rows, k_chunk_rows);
  check_hdf5(H5Pset_chunk(layout.get(), 1, &chunk), "H5Pset_chunk", "dataset");
  if (rows * value_bytes >= k_deflate_from_bytes) {
    if (value_bytes > 1)
      check_hdf5(H5Pset_shuffle(layout.get()), "H5Pset_shuffle", "dataset");
    check_hdf5(H5Pset_deflate(layout.get(), k_deflate_level), "H5Pset_deflate", "dataset");
  }
  check_hdf5(H5Pset_fletcher32(layout.get()), "H5Pset_fletcher32", "dataset");
  return layout;
}

template <typename T>
Hdf5Dataset write_column(hid_t group, const char* name, const T* values, hsize_t rows) {
  Hdf5Space space(H5Screate_simple(1, &rows, nullptr), "H5Screate_simple", name);
  auto layout = column_layout(rows, sizeof(T));
  Hdf5Dataset dataset(
      H5Dcreate2(group, name, file_type<T>(), space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
      "H5Dcreate2", name);
  if (rows > 0)
    check_hdf5(H5Dwrite(dataset.get(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
               "H5Dwrite", name);
  return dataset;
}

template <typename T>
Stored<T> to_stored(const T& value) {
  if constexpr (std::is_same_v<T, Text>)
    return value.id;
  else
    return static_cast<Stored<T>>(value);
}

template <typename Row, typename T>
void write_column_of(hid_t group, const base::Column<Row, T>& column, const std::vector<Row>& rows,
                     FileKind kind) {
  std::vector<Stored<T>> values;
  values.reserve(rows.size());
  for (const Row& row : rows)
    values.push_back(to_stored(row.*column.field));
  Hdf5Dataset dataset = write_column(group, column.name, values.data(), values.size());
  if constexpr (std::is_enum_v<T>)
    write_texts(dataset.get(), "labels", labels_of<T>());
  if (kind == FileKind::run) {
    std::string about = column.about;
    if constexpr (std::is_same_v<T, Text>)
      about += " (row in /strings)";
    write_text(dataset.get(), "about", about);
  }
  dataset.close(column.name);
}

template <typename Row>
void write_table(hid_t file, const char* name, const std::vector<Row>& rows, FileKind kind) {
  Hdf5Group group = create_group(file, name);
  std::apply(
      [&](const auto&... column) { (write_column_of(group.get(), column, rows, kind), ...); },
      columns(Row{}));
  group.close(name);
}

void write_strings(hid_t file, const Strings& strings) {
  std::string blob;
  std::vector<std::uint64_t> offsets{0};
  for (std::uint32_t id = 0; id < strings.size(); ++id) {
    blob += strings.at({id});
    offsets.push_back(blob.size());
  }
  Hdf5Group group = create_group(file, "strings");
  write_column(group.get(), "blob", blob.data(), blob.size()).close("blob");
  write_column(group.get(), "offset", offsets.data(), offsets.size()).close("offset");
  group.close("strings");
}

void write_run_group(hid_t file, const Tables& tables) {
  model::RunHeader header = header_from(tables);
  Hdf5Group group = create_group(file, "run");
  write_text(group.get(), "run_id", header.run_id);
  write_text(group.get(), "started_utc", header.started_utc);
  write_text(group.get(), "ncclprobe_version", header.ncclprobe_version);
  write_text(group.get(), "mpi_version", header.mpi_version);
  write_text(group.get(), "command", fmt::format("{}", fmt::join(header.argv, " ")));
  write_number(group.get(), "seed", header.seed);
  write_text(group.get(), "backend", header.backend);
  write_text(group.get(), "backend_reason", header.backend_reason);
  write_number<std::uint8_t>(group.get(), "synthetic", header.synthetic ? 1 : 0);
  write_number<std::int32_t>(group.get(), "planned_trials", header.planned_trials);
  const std::string& document = tables.header_document;
  write_column(group.get(), "header", document.data(), document.size()).close("header");
  group.close("run");
}

// --- reading ---

// A file that is being read.
struct Reading {
  hid_t file;
  int minor; // of its schema
  const std::function<void()>& progress;
};

template <typename T>
void check_column(const Hdf5Dataset& dataset, const char* name) {
  Hdf5Properties made(H5Dget_create_plist(dataset.get()), "H5Dget_create_plist", name);
  if (H5Pget_external_count(made.get()) != 0 || H5Pget_layout(made.get()) == H5D_VIRTUAL)
    raise(Errc::failed, "column {} lies in another file", name);
  Hdf5Type type(H5Dget_type(dataset.get()), "H5Dget_type", name);
  if (H5Tequal(type.get(), file_type<T>()) <= 0)
    raise(Errc::failed, "column {} has another type than the schema says", name);
}

// deflate packs at most 1032 to 1: more rows than that are a damaged number, not data.
void check_row_count(std::uint64_t rows, std::uint64_t stored_bytes, const char* name) {
  if (rows / 1100 > stored_bytes)
    raise(Errc::failed, "column {} claims {} rows in {} bytes", name, rows, stored_bytes);
}

template <typename T>
std::vector<T> read_column(const Hdf5Dataset& dataset, const char* name, const Reading& reading) {
  check_column<T>(dataset, name);
  Hdf5Space space(H5Dget_space(dataset.get()), "H5Dget_space", name);
  if (H5Sget_simple_extent_ndims(space.get()) != 1)
    raise(Errc::failed, "column {} is not 1-D", name);
  hsize_t rows = 0;
  check_hdf5(H5Sget_simple_extent_dims(space.get(), &rows, nullptr), "H5Sget_simple_extent_dims",
             name);
  check_row_count(rows, H5Dget_storage_size(dataset.get()), name);
  std::vector<T> values(rows);
  for (hsize_t first = 0; first < rows; first += k_rows_at_once) {
    const hsize_t count = std::min(k_rows_at_once, rows - first);
    check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr),
               "H5Sselect_hyperslab", name);
    Hdf5Space memory(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", name);
    check_hdf5(H5Dread(dataset.get(), memory_type<T>(), memory.get(), space.get(), H5P_DEFAULT,
                       values.data() + first),
               "H5Dread", name);
    reading.progress();
  }
  return values;
}

template <typename T>
std::vector<T> read_column(hid_t group, const char* name, const Reading& reading) {
  return read_column<T>(Hdf5Dataset(H5Dopen2(group, name, H5P_DEFAULT), "H5Dopen2", name), name,
                        reading);
}

// Our value of each number in the file: by label, so that a reader whose enumeration has grown or
// was reordered still reads right.
template <typename T>
std::vector<T> values_of_labels(hid_t dataset, const char* name) {
  std::vector<T> values;
  for (const std::string& label : read_texts(dataset, "labels")) {
    auto value = model::parse_enum<T>(label, name);
    if (!value)
      raise(Errc::failed, "column {}: {}", name, value.error().text());
    values.push_back(*value);
  }
  return values;
}

// A column that is younger than the file keeps its defaults. It may be there all the same: builds
// between two versions wrote it.
template <typename Row, typename T>
void read_column_of(hid_t group, const base::Column<Row, T>& column, const Reading& reading,
                    std::vector<Row>& rows, bool& first) {
  if (column.since_minor > reading.minor && H5Lexists(group, column.name, H5P_DEFAULT) <= 0)
    return;
  Hdf5Dataset dataset(H5Dopen2(group, column.name, H5P_DEFAULT), "H5Dopen2", column.name);
  auto stored = read_column<Stored<T>>(dataset, column.name, reading);
  if (std::exchange(first, false))
    rows.resize(stored.size());
  if (stored.size() != rows.size())
    raise(Errc::failed, "column {} has {} rows, others {}", column.name, stored.size(),
          rows.size());
  if constexpr (std::is_enum_v<T>) {
    auto values = values_of_labels<T>(dataset.get(), column.name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (stored[i] >= values.size())
        raise(Errc::failed, "column {} has unknown value {}", column.name, stored[i]);
      rows[i].*column.field = values[stored[i]];
    }
  } else {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if constexpr (std::is_same_v<T, Text>)
        (rows[i].*column.field).id = stored[i];
      else
        rows[i].*column.field = static_cast<T>(stored[i]);
    }
  }
}

template <typename Row>
void read_table(const char* name, const Reading& reading, std::vector<Row>& rows) {
  if (table_since_minor(Row{}) > reading.minor)
    return;
  Hdf5Group group(H5Gopen2(reading.file, name, H5P_DEFAULT), "H5Gopen2", name);
  bool first = true;
  std::apply(
      [&](const auto&... column) {
        (read_column_of(group.get(), column, reading, rows, first), ...);
      },
      columns(Row{}));
}

// Where the column's chunks lie, if it is written as we write large columns.
std::optional<ColumnLayout> find_layout(hid_t dataset, const char* name) {
  try {
    return read_layout(dataset, name);
  } catch (const base::Exception&) {
    return std::nullopt;
  }
}

// The chunks are unpacked outside of the guarded child, so what they may cost is bounded here.
void check_layout(const ColumnLayout& layout, const char* name, const Reading& reading) {
  hsize_t file_bytes = 0;
  check_hdf5(H5Fget_filesize(reading.file, &file_bytes), "H5Fget_filesize", name);
  std::uint64_t stored_bytes = 0;
  for (const StoredChunk& chunk : layout.chunks)
    if ((stored_bytes += chunk.bytes) > file_bytes)
      raise(Errc::failed, "column {} claims more bytes than the file has", name);
  check_row_count(layout.rows, stored_bytes, name);
}

template <typename Row, typename T>
ColumnSource describe_column(hid_t group, const base::Column<Row, T>& column,
                             const Reading& reading, std::optional<std::uint64_t>& rows) {
  ColumnSource source;
  source.absent =
      column.since_minor > reading.minor && H5Lexists(group, column.name, H5P_DEFAULT) <= 0;
  if (source.absent)
    return source;
  Hdf5Dataset dataset(H5Dopen2(group, column.name, H5P_DEFAULT), "H5Dopen2", column.name);
  check_column<Stored<T>>(dataset, column.name);
  source.layout = find_layout(dataset.get(), column.name);
  std::uint64_t own_rows = 0;
  if (source.layout) {
    own_rows = source.layout->rows;
    check_layout(*source.layout, column.name, reading);
  } else {
    const auto values = read_column<Stored<T>>(dataset, column.name, reading);
    const auto bytes = std::as_bytes(std::span(values));
    source.values.assign(bytes.begin(), bytes.end());
    own_rows = values.size();
  }
  if (rows.value_or(own_rows) != own_rows)
    raise(Errc::failed, "column {} has {} rows, others {}", column.name, own_rows, *rows);
  rows = own_rows;
  if constexpr (std::is_enum_v<T>)
    for (T value : values_of_labels<T>(dataset.get(), column.name))
      source.numbers.push_back(static_cast<std::uint8_t>(value));
  reading.progress();
  return source;
}

template <typename Row>
TableSource describe_table(const char* name, const Reading& reading) {
  TableSource source;
  if (table_since_minor(Row{}) > reading.minor)
    return source;
  Hdf5Group group(H5Gopen2(reading.file, name, H5P_DEFAULT), "H5Gopen2", name);
  std::optional<std::uint64_t> rows;
  std::apply(
      [&](const auto&... column) {
        (source.columns.push_back(describe_column(group.get(), column, reading, rows)), ...);
      },
      columns(Row{}));
  source.rows = rows.value_or(0);
  return source;
}

void read_strings(const Reading& reading, Strings& strings) {
  Hdf5Group group(H5Gopen2(reading.file, "strings", H5P_DEFAULT), "H5Gopen2", "strings");
  auto blob = read_column<char>(group.get(), "blob", reading);
  auto offsets = read_column<std::uint64_t>(group.get(), "offset", reading);
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != blob.size() ||
      !std::ranges::is_sorted(offsets))
    raise(Errc::failed, "/strings/offset does not fit /strings/blob");
  strings.clear();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    strings.append({blob.data() + offsets[i], offsets[i + 1] - offsets[i]});
}

// Is the file ours, and of a version we read? Throws protocol. Returns its minor version.
int check_identity(hid_t file, const std::string& name, FileKind kind) {
  int minor = check_schema(file, name, {k_schema_name, "run file", k_schema_major});
  std::string found = read_texts(file, "kind").at(0);
  if (found != model::to_string(kind))
    raise(Errc::protocol, "{} is of kind '{}', not '{}'", name, found, model::to_string(kind));
  return minor;
}

} // namespace

std::string write_image(const Tables& tables, FileKind kind) {
  prepare_hdf5();
  MemoryFile file;
  write_schema(file.get(), k_schema_name, k_schema_major, k_schema_minor);
  write_text(file.get(), "kind", std::string(model::to_string(kind)));
  if (kind != FileKind::trial)
    write_run_group(file.get(), tables);
  for_each_table(tables, kind, [&](const char* name, const auto& rows) {
    write_table(file.get(), name, rows, kind);
  });
  write_strings(file.get(), tables.strings);
  return file.close();
}

namespace {

// Whatever goes wrong in `read` is damage of the file of this name. Throws protocol, not_found.
template <typename Read>
auto or_damaged(const std::string& name, Read read) {
  try {
    return read();
  } catch (const base::Exception& error) {
    if (error.error().code == Errc::protocol || error.error().code == Errc::not_found)
      throw;
    raise(Errc::protocol, "{} is damaged: {}", name, error.error().message);
  } catch (const std::bad_alloc&) {
    raise(Errc::protocol, "{} is damaged: it asks for more memory than there is", name);
  } catch (const std::length_error&) {
    raise(Errc::protocol, "{} is damaged: it has an impossible length", name);
  }
}

// Calls read_rows(name of the table, rows) for each table.
template <typename ReadRows>
Tables read_tables(const Reading& reading, FileKind kind, ReadRows read_rows) {
  Tables tables;
  if (kind != FileKind::trial) {
    Hdf5Group group(H5Gopen2(reading.file, "run", H5P_DEFAULT), "H5Gopen2", "run");
    auto document = read_column<char>(group.get(), "header", reading);
    tables.header_document.assign(document.begin(), document.end());
  }
  for_each_table(tables, kind, read_rows);
  read_strings(reading, tables.strings);
  check_references(tables);
  return tables;
}

} // namespace

Tables read_image(std::string_view image, const std::string& name, FileKind kind,
                  const std::function<void()>& progress) {
  if (image.empty())
    raise(Errc::protocol, "{} is empty", name);
  if (!image.starts_with(k_hdf5_signature))
    raise(Errc::protocol, "{} is no HDF5 file", name);
  prepare_hdf5();
  return or_damaged(name, [&] {
    const Hdf5File file = open_memory_file(image);
    const Reading reading{file.get(), check_identity(file.get(), name, kind), progress};
    Tables tables = read_tables(
        reading, kind, [&](const char* table, auto& rows) { read_table(table, reading, rows); });
    check_sample_counts(tables);
    return tables;
  });
}

Outline read_outline(const std::filesystem::path& path, FileKind kind,
                     const std::function<void()>& progress) {
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) == 0)
    raise(Errc::protocol, "{} is empty", path.string());
  return or_damaged(path.string(), [&] {
    const Hdf5File file = open_hdf5_file(path);
    const Reading reading{file.get(), check_identity(file.get(), path.string(), kind), progress};
    Outline outline;
    outline.tables = read_tables(reading, kind, [&](const char* table, auto& rows) {
      using Row = typename std::decay_t<decltype(rows)>::value_type;
      if constexpr (std::is_same_v<Row, SampleRow>)
        outline.samples = describe_table<Row>(table, reading);
      else if constexpr (std::is_same_v<Row, ConditionRow>)
        outline.conditions = describe_table<Row>(table, reading);
      else if constexpr (std::is_same_v<Row, MarkRow>)
        outline.marks = describe_table<Row>(table, reading);
      else
        read_table(table, reading, rows);
    });
    return outline;
  });
}

} // namespace ncclprobe::store
