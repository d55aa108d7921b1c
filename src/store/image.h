// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/tables.h"

#include <filesystem>
#include <functional>
#include <string>

// Converts tables to an HDF5 file and back.
namespace ncclprobe::store {

// The file's bytes. HDF5 works in memory, so no full disk can interrupt it. Throws Exception
// (failed).
std::string write_image(const Tables& tables, FileKind kind);

// Writes a file to the disk, for tables that are too large for memory. Throws Exception
// (failed, io). HDF5 is unusable in a process in which a write failed, so run it in a child
// (file_making.h).
void write_on_disk(const std::filesystem::path& path, const Tables& tables, FileKind kind);

// Reads the tables of a file without the values of large columns. Those stay in the file until they
// are needed, and are read without HDF5 (column_reader.h). Throws Exception: protocol (not
// HDF5, not ours, of another version or kind, damaged), not_found. A damaged file can crash or hang
// the HDF5 library, so files that were not just made here go through guarded_read.h. Calls
// `progress` at least once per million values.
Tables read_outline(const std::filesystem::path& path, FileKind kind,
                    const std::function<void()>& progress);

} // namespace ncclprobe::store
