// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/hdf5_handle.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

// Types, attributes and groups that all our HDF5 files share. Included only by store/*.cpp.
namespace ncclprobe::store {

// --- a column's C++ type in memory and in the file ---

template <typename T>
hid_t memory_type() {
  if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::uint8_t>)
    return H5T_NATIVE_UINT8;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return H5T_NATIVE_UINT16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return H5T_NATIVE_INT32;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return H5T_NATIVE_UINT32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return H5T_NATIVE_INT64;
  else {
    static_assert(std::is_same_v<T, std::uint64_t>);
    return H5T_NATIVE_UINT64;
  }
}

template <typename T>
hid_t file_type() {
  if constexpr (sizeof(T) == 1)
    return H5T_STD_U8LE;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return H5T_STD_U16LE;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return H5T_STD_I32LE;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return H5T_STD_U32LE;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return H5T_STD_I64LE;
  else
    return H5T_STD_U64LE;
}

// --- writing ---

void write_text(hid_t object, const char* name, const std::string& text);
void write_texts(hid_t object, const char* name, const std::vector<std::string>& texts);
void write_attribute(hid_t object, const char* name, const Hdf5Type& type, const Hdf5Space& space,
                     const void* data);
template <typename T>
void write_number(hid_t object, const char* name, T number) {
  write_attribute(object, name, Hdf5Type(H5Tcopy(memory_type<T>()), "H5Tcopy", name),
                  Hdf5Space(H5Screate(H5S_SCALAR), "H5Screate", name), &number);
}

// Attributes schema and schema_version.
void write_schema(hid_t file, const char* schema, int major, int minor);

Hdf5Group create_group(hid_t parent, const char* name);

// --- reading ---

bool has_attribute(hid_t object, const char* name);

// An attribute that is a text or a list of texts.
std::vector<std::string> read_texts(hid_t object, const char* name);

template <typename T>
T read_number(hid_t object, const char* name) {
  Hdf5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "H5Aopen", name);
  Hdf5Space space(H5Aget_space(attribute.get()), "H5Aget_space", name);
  if (H5Sget_simple_extent_npoints(space.get()) != 1)
    raise(Errc::failed, "attribute {} is not one number", name);
  T value{};
  check_hdf5(H5Aread(attribute.get(), memory_type<T>(), &value), "H5Aread", name);
  return value;
}

// Checks that the file is ours and has a version that we read; throws protocol otherwise. Returns
// its minor version.
struct Schema {
  const char* name;
  const char* what; // "run file"
  int major;
};
int check_schema(hid_t file, const std::string& path, const Schema& schema);

} // namespace ncclprobe::store
