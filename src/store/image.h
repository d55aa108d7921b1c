// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/column_reader.h"
#include "store/tables.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

// Tables as the bytes of an HDF5 file, and back. HDF5 itself never touches a disk: it works on
// memory, and the bytes are written and read by us. So a full disk or a kill cannot catch it in the
// middle of a change, and file systems without locks (HDF5 1.10 locks what it opens) do not matter.
namespace ncclprobe::store {

// Throws base::Exception (failed).
std::string write_image(const Tables& tables, FileKind kind);

// Throws base::Exception (protocol): not HDF5, not ours, newer schema, of another kind, damaged.
// `name` is the file's, for messages. A damaged image can crash or hang the HDF5 library: images
// that were not just made here go through guarded_read.h.
// It calls `progress` at least for every million values that were read.
Tables read_image(std::string_view image, const std::string& name, FileKind kind,
                  const std::function<void()>& progress);

// A file without the rows of its large tables, which stay where they are (column_reader.h). Unlike
// read_image() it lets HDF5 read the file where it lies. Throws as that does; not_found.
struct Outline {
  Tables tables; // samples, conditions and marks are empty
  TableSource samples;
  TableSource conditions;
  TableSource marks;
};
Outline read_outline(const std::filesystem::path& path, FileKind kind,
                     const std::function<void()>& progress);

} // namespace ncclprobe::store
