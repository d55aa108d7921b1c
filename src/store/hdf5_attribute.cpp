// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/hdf5_attribute.h"

#include <array>

namespace ncclprobe::store {

namespace {

Hdf5Type text_type() {
  Hdf5Type type(H5Tcopy(H5T_C_S1), "H5Tcopy", "string");
  check_hdf5(H5Tset_size(type.get(), H5T_VARIABLE), "H5Tset_size", "string");
  check_hdf5(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset", "string");
  return type;
}

} // namespace

void write_attribute(hid_t object, const char* name, const Hdf5Type& type, const Hdf5Space& space,
                     const void* data) {
  Hdf5Attribute attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2",
      name);
  check_hdf5(H5Awrite(attribute.get(), type.get(), data), "H5Awrite", name);
  attribute.close(name);
}

void write_text(hid_t object, const char* name, const std::string& text) {
  const char* data = text.c_str();
  write_attribute(object, name, text_type(), Hdf5Space(H5Screate(H5S_SCALAR), "H5Screate", name),
                  &data);
}

void write_texts(hid_t object, const char* name, const std::vector<std::string>& texts) {
  std::vector<const char*> data;
  for (const std::string& text : texts)
    data.push_back(text.c_str());
  hsize_t count = data.size();
  write_attribute(object, name, text_type(),
                  Hdf5Space(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", name),
                  data.data());
}

void write_schema(hid_t file, const char* schema, int major, int minor) {
  write_text(file, "schema", schema);
  hsize_t two = 2;
  std::array<std::int32_t, 2> version{major, minor};
  write_attribute(file, "schema_version", Hdf5Type(H5Tcopy(H5T_NATIVE_INT32), "H5Tcopy", "int"),
                  Hdf5Space(H5Screate_simple(1, &two, nullptr), "H5Screate_simple", "two"),
                  version.data());
}

Hdf5Group create_group(hid_t parent, const char* name) {
  // Keeps the links of all columns in the group's header. By default more than 8 move to a heap.
  Hdf5Properties properties(H5Pcreate(H5P_GROUP_CREATE), "H5Pcreate", "group");
  check_hdf5(H5Pset_link_phase_change(properties.get(), 64, 48), "H5Pset_link_phase_change", name);
  return Hdf5Group(H5Gcreate2(parent, name, H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                   "H5Gcreate2", name);
}

bool has_attribute(hid_t object, const char* name) {
  return check_hdf5(H5Aexists(object, name), "H5Aexists", name) > 0; // fails if the file is damaged
}

std::vector<std::string> read_texts(hid_t object, const char* name) {
  Hdf5Attribute attribute(H5Aopen(object, name, H5P_DEFAULT), "H5Aopen", name);
  Hdf5Type type(H5Aget_type(attribute.get()), "H5Aget_type", name);
  Hdf5Space space(H5Aget_space(attribute.get()), "H5Aget_space", name);
  if (H5Tis_variable_str(type.get()) <= 0)
    raise(Errc::failed, "attribute {} is not a text", name);
  auto count =
      check_hdf5(H5Sget_simple_extent_npoints(space.get()), "H5Sget_simple_extent_npoints", name);
  if (count > 256)
    raise(Errc::failed, "attribute {} has {} texts", name, count);
  std::vector<char*> data(count);
  Hdf5Type wanted = text_type();
  check_hdf5(H5Aread(attribute.get(), wanted.get(), data.data()), "H5Aread", name);
  std::vector<std::string> texts;
  for (const char* text : data)
    texts.emplace_back(text ? text : "");
  check_hdf5(H5Dvlen_reclaim(wanted.get(), space.get(), H5P_DEFAULT, data.data()),
             "H5Dvlen_reclaim", name);
  return texts;
}

int check_schema(hid_t file, const std::string& path, const Schema& schema) {
  if (!has_attribute(file, "schema") ||
      read_texts(file, "schema") != std::vector<std::string>{schema.name})
    raise(Errc::protocol, "{} is an HDF5 file, but no {} of ncclprobe", path, schema.what);
  std::array<std::int32_t, 2> version{};
  Hdf5Attribute attribute(H5Aopen(file, "schema_version", H5P_DEFAULT), "H5Aopen",
                          "schema_version");
  Hdf5Space space(H5Aget_space(attribute.get()), "H5Aget_space", "schema_version");
  if (H5Sget_simple_extent_npoints(space.get()) != 2)
    raise(Errc::failed, "schema_version has not two numbers");
  check_hdf5(H5Aread(attribute.get(), H5T_NATIVE_INT32, version.data()), "H5Aread",
             "schema_version");
  if (version[0] != schema.major)
    throw Exception({Errc::protocol,
                     fmt::format("{} has schema version {}.{}; this ncclprobe reads {}.x", path,
                                 version[0], version[1], schema.major),
                     version[0] > schema.major
                         ? "it was written by a newer ncclprobe: read it with that one"
                         : "it was written by an older ncclprobe: read it with that one"});
  return version[1];
}

} // namespace ncclprobe::store
