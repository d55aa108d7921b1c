// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/tables.h"

#include <filesystem>
#include <functional>
#include <string>

// Converts tables to the bytes of an HDF5 file and back. HDF5 itself never writes to a disk: it
// works in memory, and we write the bytes. So a full disk or a kill cannot interrupt it in the
// middle of a change.
namespace ncclprobe::store {

// Throws Exception (failed).
std::string write_image(const Tables& tables, FileKind kind);

// Reads the tables of a file without the values of large columns. Those stay in the file until they
// are needed, and are read without HDF5 (column_reader.h). Throws Exception: protocol (not
// HDF5, not ours, of another version or kind, damaged), not_found. A damaged file can crash or hang
// the HDF5 library, so files that were not just made here go through guarded_read.h. Calls
// `progress` at least once per million values.
Tables read_outline(const std::filesystem::path& path, FileKind kind,
                    const std::function<void()>& progress);

} // namespace ncclprobe::store
