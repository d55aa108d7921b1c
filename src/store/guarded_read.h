// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/child_jobs.h"
#include "store/tables.h"

#include <cstdint>
#include <filesystem>
#include <vector>

// A damaged HDF5 file can crash or hang the HDF5 library itself (3 and 13 of 3,000 mutated files).
// So every file is read twice: first in a forked child with limits, and only if that ends well
// here.
namespace ncclprobe::store {

struct ReadLimits {
  std::int64_t cpu_s = 10;                 // the child's processor time for one file; and
  std::int64_t cpu_s_per_mib = 1;          // this more for each MiB of it
  std::int64_t wall_factor = 3;            // waiting for the disk is allowed for, within reason
  std::uint64_t memory_bytes = 2ULL << 30; // the child's growth; and
  std::uint64_t memory_per_byte = 64;      // this more for each byte of the file
};

// The same for one file, by its size.
ChildLimits limits_for(const std::filesystem::path& file, const ReadLimits& limits);

struct FileToRead {
  std::filesystem::path path;
  FileKind kind = FileKind::run;
};

// One result for each file. Errors: not_found, io, protocol (also: the child died or took too
// long). Only the calling thread may be inside HDF5, or the child would wait for a lock nobody
// holds and run into its limit.
std::vector<base::Result<Tables>> read_guarded(const std::vector<FileToRead>& files,
                                               const ReadLimits& limits = {});

} // namespace ncclprobe::store
