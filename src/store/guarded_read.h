// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "store/child_jobs.h"
#include "store/image.h"

#include <cstdint>
#include <filesystem>
#include <vector>

// A damaged HDF5 file can crash or hang the HDF5 library itself (3 and 13 of 3,000 mutated files).
// So every file is read twice: first in a forked child with limits, and only if that succeeds in
// this process.
namespace ncclprobe::store {

struct ReadLimits {
  // The child's limit of processor time for one file, plus this for each MiB. A run file of 3.7 MiB
  // with 7.4 million samples takes 0.6 s.
  std::chrono::milliseconds cpu{1800};
  std::chrono::milliseconds cpu_per_mib{1000};
  std::chrono::milliseconds stall{700}; // longest part of that time without progress
  // Limit of elapsed time: the processor time plus this, because the disk may be slow.
  std::chrono::milliseconds wait{30'000};
  std::uint64_t memory_bytes = 2ULL << 30; // the child's growth; and
  std::uint64_t memory_per_byte = 64;      // this more for each byte of the file
};

// The same for one file, by its size.
ChildLimits limits_for(const std::filesystem::path& file, const ReadLimits& limits);

struct FileToRead {
  std::filesystem::path path;
  FileKind kind = FileKind::run;
};

// Reads all values of the files; one result for each. After success, outline_of() may read the file
// in this process. Errors: not_found, io, protocol (also if the child crashed), timed_out (it took
// too long: the file is damaged), unavailable (run_in_child()). Only the calling thread may be
// inside HDF5. Otherwise the child would wait for a lock that nobody holds, until its limit.
std::vector<Result<void>> check_guarded(const std::vector<FileToRead>& files,
                                        const ReadLimits& limits = {});
// read_outline() with errors as results.
Result<Tables> outline_of(
    const FileToRead& file, const Progress& progress = [] {});
// Reads files without their large columns, whose values are not checked. Errors: as
// check_guarded().
std::vector<Result<Tables>> read_outlines_guarded(const std::vector<FileToRead>& files,
                                                  const ReadLimits& limits = {});

} // namespace ncclprobe::store
