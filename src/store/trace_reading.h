// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/child_jobs.h"
#include "store/column_layout.h"
#include "store/hdf5_attribute.h"
#include "store/trace_format.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// What HDF5 has to say of a trace file: everything but the values themselves. A damaged file can
// crash HDF5: call it in a child (child_jobs.h), or for files that one has read. All of it throws
// base::Exception (protocol). Included by store/*.cpp alone.
namespace ncclprobe::store {

struct OpenTrace {
  std::string path;
  Hdf5File file;
  TraceIdentity identity;
  std::vector<int> ranks;
  std::vector<std::string> texts;
};
OpenTrace open_trace(const std::filesystem::path& path);

// Any HDF5 file, to read it where it lies.
Hdf5File open_hdf5_file(const std::filesystem::path& path);

bool has_link(hid_t group, const char* name);
std::vector<std::string> link_names(hid_t group);
TraceOrigin read_origin(hid_t rank_group);
ColumnLayout read_layout(hid_t dataset, const char* name);
// Chunk `number` of a column as it is stored, packed.
void read_chunk(hid_t dataset, const ColumnLayout& layout, std::size_t number,
                std::vector<std::byte>& stored, const char* name);

// The layout of the whole file, as a document for TraceFile. Throws protocol, with the file's name.
std::string describe_trace(const std::filesystem::path& path, const Progress& progress);

} // namespace ncclprobe::store
