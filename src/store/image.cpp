// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/image.h"

#include "store/hdf5_attribute.h"
#include "store/memory_file.h"
#include "store/trace_reading.h"

#include <algorithm>
#include <new>
#include <optional>
#include <stdexcept>

namespace ncclprobe::store {
namespace {

constexpr hsize_t k_chunk_rows = 65'536; // 64 to 512 KiB: one chunk fits the default chunk cache
constexpr hsize_t k_deflate_from_bytes = 512; // below, starting zlib costs more than it saves
constexpr unsigned k_deflate_level = 1;
constexpr hsize_t k_rows_at_once = 16 * k_chunk_rows; // when reading: some 50 ms
constexpr std::uint64_t k_left_from_bytes = 1 << 20;  // columns that stay in the file until needed

// In memory and in the file.
hid_t type_of(Number number) {
  switch (number) {
  case Number::u8:
    return H5T_STD_U8LE;
  case Number::i32:
    return H5T_STD_I32LE;
  case Number::u32:
    return H5T_STD_U32LE;
  case Number::i64:
    return H5T_STD_I64LE;
  case Number::u64:
    return H5T_STD_U64LE;
  default:
    return H5T_IEEE_F64LE;
  }
}

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

// pieces(take) calls take(some values) for all values of the column, in their order.
template <typename Pieces>
Hdf5Dataset write_column(hid_t group, const char* name, Number number, hsize_t rows,
                         Pieces pieces) {
  Hdf5Space space(H5Screate_simple(1, &rows, nullptr), "H5Screate_simple", name);
  auto layout = column_layout(rows, bytes_of(number));
  Hdf5Dataset dataset(
      H5Dcreate2(group, name, type_of(number), space.get(), H5P_DEFAULT, layout.get(), H5P_DEFAULT),
      "H5Dcreate2", name);
  hsize_t first = 0;
  pieces([&](std::span<const std::byte> values) {
    const hsize_t count = values.size() / bytes_of(number);
    if (count == 0)
      return;
    check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr),
               "H5Sselect_hyperslab", name);
    Hdf5Space memory(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", name);
    check_hdf5(H5Dwrite(dataset.get(), type_of(number), memory.get(), space.get(), H5P_DEFAULT,
                        values.data()),
               "H5Dwrite", name);
    first += count;
  });
  return dataset;
}

void write_table(hid_t file, const Tables& tables, std::size_t number, FileKind kind) {
  const TableForm& form = run_form().tables[number];
  const Table& table = tables.tables[number];
  Hdf5Group group = create_group(file, form.name.c_str());
  if (kind == FileKind::run) // only ncclprobe reads parts
    write_text(group.get(), "about", form.about);
  for (std::size_t c = 0; c < form.columns.size(); ++c) {
    const ColumnForm& column = form.columns[c];
    Hdf5Dataset dataset =
        write_column(group.get(), column.name.c_str(), column.number, table.rows,
                     [&](const auto& take) { for_each_piece(tables, table.columns[c], take); });
    const bool is_text = column.holds == ColumnForm::Holds::texts;
    if (kind == FileKind::run)
      write_text(dataset.get(), "about", column.about + (is_text ? " (row in /strings)" : ""));
    if (!column.labels.empty())
      write_texts(dataset.get(), "labels", column.labels);
    if (column.missing)
      write_attribute(dataset.get(), "missing",
                      Hdf5Type(H5Tcopy(type_of(column.number)), "H5Tcopy", "missing"),
                      Hdf5Space(H5Screate(H5S_SCALAR), "H5Screate", "missing"), &*column.missing);
    dataset.close(column.name);
  }
  group.close(form.name);
}

void write_strings(hid_t file, const Strings& strings) {
  std::string blob;
  std::vector<std::uint64_t> offsets{0};
  for (std::uint32_t number = 0; number < strings.size(); ++number) {
    blob += strings.at(number);
    offsets.push_back(blob.size());
  }
  Hdf5Group group = create_group(file, "strings");
  auto write = [&](const char* name, Number number, const auto& values) {
    write_column(group.get(), name, number, values.size(), [&](const auto& take) {
      take(std::as_bytes(std::span(values)));
    }).close(name);
  };
  write("blob", Number::u8, blob);
  write("offset", Number::u64, offsets);
  group.close("strings");
}

void write_tables(hid_t file, const Tables& tables, FileKind kind) {
  write_schema(file, k_schema_name, k_schema_major, k_schema_minor);
  write_text(file, "kind", std::string(base::to_string(kind)));
  const auto [first, end] = run_form().tables_of(kind);
  // Half of a trial's columns are in tables without rows, and HDF5 takes as long for these as for
  // others. So parts leave such tables out.
  for (std::size_t t = first; t < end; ++t)
    if (kind == FileKind::run || tables.tables[t].rows > 0)
      write_table(file, tables, t, kind);
  write_strings(file, tables.strings);
}

// --- reading ---

// A file that is being read.
struct Reading {
  hid_t file;
  FileKind kind;
  const std::function<void()>& progress;
};

Hdf5Dataset open_column(hid_t group, const char* name, Number number) {
  Hdf5Dataset dataset(H5Dopen2(group, name, H5P_DEFAULT), "H5Dopen2", name);
  Hdf5Properties made(H5Dget_create_plist(dataset.get()), "H5Dget_create_plist", name);
  if (H5Pget_external_count(made.get()) != 0 || H5Pget_layout(made.get()) == H5D_VIRTUAL)
    raise(Errc::failed, "column {} lies in another file", name);
  Hdf5Type type(H5Dget_type(dataset.get()), "H5Dget_type", name);
  if (H5Tequal(type.get(), type_of(number)) <= 0)
    raise(Errc::failed, "column {} has another type than the schema says", name);
  return dataset;
}

// deflate packs at most 1032 to 1. A larger number of rows is damage.
void check_row_count(std::uint64_t rows, std::uint64_t stored_bytes, const char* name) {
  if (rows / 1100 > stored_bytes)
    raise(Errc::failed, "column {} claims {} rows in {} bytes", name, rows, stored_bytes);
}

hsize_t rows_of(const Hdf5Dataset& dataset, const char* name) {
  Hdf5Space space(H5Dget_space(dataset.get()), "H5Dget_space", name);
  if (H5Sget_simple_extent_ndims(space.get()) != 1)
    raise(Errc::failed, "column {} is not 1-D", name);
  hsize_t rows = 0;
  check_hdf5(H5Sget_simple_extent_dims(space.get(), &rows, nullptr), "H5Sget_simple_extent_dims",
             name);
  check_row_count(rows, H5Dget_storage_size(dataset.get()), name);
  return rows;
}

std::vector<std::byte> read_column(const Hdf5Dataset& dataset, const char* name, Number number,
                                   const Reading& reading) {
  const hsize_t rows = rows_of(dataset, name);
  Hdf5Space space(H5Dget_space(dataset.get()), "H5Dget_space", name);
  std::vector<std::byte> values(rows * bytes_of(number));
  for (hsize_t first = 0; first < rows; first += k_rows_at_once) {
    const hsize_t count = std::min(k_rows_at_once, rows - first);
    check_hdf5(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr),
               "H5Sselect_hyperslab", name);
    Hdf5Space memory(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", name);
    check_hdf5(H5Dread(dataset.get(), type_of(number), memory.get(), space.get(), H5P_DEFAULT,
                       values.data() + first * bytes_of(number)),
               "H5Dread", name);
    reading.progress();
  }
  return values;
}

std::vector<std::uint8_t> numbers_of_labels(hid_t dataset, const ColumnForm& column) {
  std::vector<std::uint8_t> numbers;
  for (const std::string& label : read_texts(dataset, "labels")) {
    auto found = std::ranges::find(column.labels, label);
    if (found == column.labels.end())
      raise(Errc::failed, "column {} has the label '{}', which is none of {}", column.name, label,
            fmt::join(column.labels, ", "));
    numbers.push_back(static_cast<std::uint8_t>(found - column.labels.begin()));
  }
  return numbers;
}

// Where the column's chunks lie, if it is written as we write large columns.
std::optional<ColumnLayout> find_layout(hid_t dataset, const char* name) {
  try {
    return read_layout(dataset, name);
  } catch (const Exception&) {
    return std::nullopt;
  }
}

// The chunks are unpacked outside the guarded child, so their cost is bounded here.
void check_layout(const ColumnLayout& layout, const char* name, const Reading& reading) {
  hsize_t file_bytes = 0;
  check_hdf5(H5Fget_filesize(reading.file, &file_bytes), "H5Fget_filesize", name);
  std::uint64_t stored_bytes = 0;
  for (const StoredChunk& chunk : layout.chunks)
    if ((stored_bytes += chunk.bytes) > file_bytes)
      raise(Errc::failed, "column {} claims more bytes than the file has", name);
  check_row_count(layout.rows, stored_bytes, name);
}

// Returns its number of rows.
std::uint64_t read_source(hid_t group, const ColumnForm& column, const Reading& reading,
                          ColumnSource& source) {
  const char* name = column.name.c_str();
  Hdf5Dataset dataset = open_column(group, name, column.number);
  const std::uint64_t rows = rows_of(dataset, name);
  if (rows * bytes_of(column.number) >= k_left_from_bytes)
    source.layout = find_layout(dataset.get(), name);
  if (source.layout)
    check_layout(*source.layout, name, reading);
  else
    source.values = read_column(dataset, name, column.number, reading);
  if (!column.labels.empty())
    source.numbers = numbers_of_labels(dataset.get(), column);
  reading.progress();
  return rows;
}

void read_table(const Reading& reading, const TableForm& form, Tables& tables, Table& table) {
  const char* name = form.name.c_str();
  // As write_tables() leaves them out.
  const bool may_be_absent = form.may_be_absent || (reading.kind != FileKind::run &&
                                                    form.size != TableForm::Size::one_row);
  if (may_be_absent && !has_link(reading.file, name))
    return;
  Hdf5Group group(H5Gopen2(reading.file, name, H5P_DEFAULT), "H5Gopen2", name);
  std::optional<std::uint64_t> rows;
  std::vector<std::size_t> absent;
  for (std::size_t c = 0; c < form.columns.size(); ++c) {
    const ColumnForm& column = form.columns[c];
    if (column.may_be_absent && !has_link(group.get(), column.name.c_str())) {
      absent.push_back(c);
      continue;
    }
    const std::uint64_t own = read_source(group.get(), column, reading, table.columns[c]);
    if (rows.value_or(own) != own)
      raise(Errc::failed, "column {} has {} rows, others {}", column.name, own, *rows);
    rows = own;
  }
  table.rows = rows.value_or(0);
  if (form.size == TableForm::Size::one_row && table.rows != 1)
    raise(Errc::failed, "/{} has {} rows instead of one", name, table.rows);
  for (std::size_t c : absent) {
    const ColumnForm& column = form.columns[c];
    std::vector<std::byte>& values = table.columns[c].values;
    values.resize(table.rows * bytes_of(column.number));
    column.store(column.sample, 0, table.rows, tables.strings, values.data());
  }
}

void read_strings(const Reading& reading, Strings& strings) {
  Hdf5Group group(H5Gopen2(reading.file, "strings", H5P_DEFAULT), "H5Gopen2", "strings");
  auto whole = [&](const char* name, Number number) {
    return read_column(open_column(group.get(), name, number), name, number, reading);
  };
  const std::vector<std::byte> blob = whole("blob", Number::u8);
  const std::vector<std::byte> stored = whole("offset", Number::u64);
  std::vector<std::uint64_t> offsets(stored.size() / sizeof(std::uint64_t));
  std::memcpy(offsets.data(), stored.data(), stored.size());
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != blob.size() ||
      !std::ranges::is_sorted(offsets))
    raise(Errc::failed, "/strings/offset does not fit /strings/blob");
  strings.clear();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    strings.append(
        {reinterpret_cast<const char*>(blob.data()) + offsets[i], offsets[i + 1] - offsets[i]});
}

// Throws protocol unless the file is ours and of a version that we can read.
void check_identity(hid_t file, const std::string& name, FileKind kind) {
  check_schema(file, name, {k_schema_name, "run file", k_schema_major});
  std::string found = read_texts(file, "kind").at(0);
  if (found != base::to_string(kind))
    raise(Errc::protocol, "{} is of kind '{}', not '{}'", name, found, base::to_string(kind));
}

} // namespace

std::string write_image(const Tables& tables, FileKind kind) {
  prepare_hdf5();
  MemoryFile file;
  write_tables(file.get(), tables, kind);
  return file.close();
}

void write_on_disk(const std::filesystem::path& path, const Tables& tables, FileKind kind) {
  Hdf5File file = create_hdf5_file(path);
  write_tables(file.get(), tables, kind);
  file.close(path.string());
}

Tables read_outline(const std::filesystem::path& path, FileKind kind,
                    const std::function<void()>& progress) {
  const std::string name = path.string();
  std::error_code ignored;
  if (std::filesystem::file_size(path, ignored) == 0)
    raise(Errc::protocol, "{} is empty", name);
  try {
    const Hdf5File file = open_hdf5_file(path);
    check_identity(file.get(), name, kind);
    const Reading reading{file.get(), kind, progress};
    Tables tables;
    tables.file = path;
    read_strings(reading, tables.strings);
    const auto [first, end] = run_form().tables_of(kind);
    for (std::size_t t = first; t < end; ++t)
      read_table(reading, run_form().tables[t], tables, tables.tables[t]);
    return tables;
  } catch (const Exception& error) {
    if (error.error().code == Errc::protocol || error.error().code == Errc::not_found)
      throw;
    raise(Errc::protocol, "{} is damaged: {}", name, error.error().message);
  } catch (const std::bad_alloc&) {
    raise(Errc::protocol, "{} is damaged: it needs more memory than there is", name);
  } catch (const std::length_error&) {
    raise(Errc::protocol, "{} is damaged: it has an impossible length", name);
  }
}

} // namespace ncclprobe::store
