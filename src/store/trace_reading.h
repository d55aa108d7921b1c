// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/child_jobs.h"
#include "store/column_layout.h"
#include "store/hdf5_attribute.h"
#include "store/trace_format.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

// Reads everything of a trace file except the values, with HDF5. A damaged file can crash HDF5, so
// call it in a child (child_jobs.h), or for files that a child has read. All functions throw
// Exception (protocol). Included by store/*.cpp alone.
namespace ncclprobe::store {

struct OpenTrace {
  std::string path;
  Hdf5File file;
  TraceIdentity identity;
  std::vector<int> ranks;
  std::vector<std::string> texts;
};
OpenTrace open_trace(const std::filesystem::path& path);

// Opens any HDF5 file for reading in place.
Hdf5File open_hdf5_file(const std::filesystem::path& path);

bool has_link(hid_t group, const char* name);
std::vector<std::string> link_names(hid_t group);
TraceOrigin read_origin(hid_t rank_group);
ColumnLayout read_layout(hid_t dataset, const char* name);
// Chunk `number` of a column as it is stored, packed.
void read_chunk(hid_t dataset, const ColumnLayout& layout, std::size_t number,
                std::vector<std::byte>& stored, const char* name);

// The layout of a trace file.
struct TraceTable {
  std::uint64_t rows = 0;
  std::map<std::string, ColumnLayout> columns;
};
NCCLPROBE_FIELDS(TraceTable, rows, columns)
struct RankLayout {
  int rank = 0;
  TraceOrigin origin;
  std::map<std::string, TraceTable> tables; // by name
  std::map<std::string, TraceTable> index;
};
NCCLPROBE_FIELDS(RankLayout, rank, origin, tables, index)
struct TraceLayout {
  TraceIdentity identity;
  std::vector<std::string> texts;
  std::vector<RankLayout> ranks;
};
NCCLPROBE_FIELDS(TraceLayout, identity, texts, ranks)
// Throws protocol, with the file's name.
TraceLayout describe_trace(const std::filesystem::path& path, const Progress& progress);

} // namespace ncclprobe::store
