// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/run.h"
#include "store/guarded_read.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

// What lies in the parts folder and beside it.
namespace ncclprobe::store {

inline constexpr const char* k_header_name = "header.h5";
// The files of a run that this one replaces (begin_run()).
inline constexpr const char* k_replaced_run_name = "replaced.h5";
inline constexpr const char* k_replaced_traces_name = "replaced.trace";
std::filesystem::path trial_path(const std::filesystem::path& run_file, int trial);

// "trial-*.h5" in the parts folder, by name; empty if there is no folder. Errors: io.
Result<std::vector<std::filesystem::path>> list_trial_parts(const std::filesystem::path& run_file);

// write_image() as a file, atomically; leaves nothing behind when it fails. Errors: io, failed.
Result<void> store_image(const std::filesystem::path& path, const Tables& tables, FileKind kind);
// The same for tables that are too large for memory. HDF5 writes in a child, in the folder
// `workshop`.
Result<void> store_on_disk(const std::filesystem::path& path, const Tables& tables, FileKind kind,
                           const std::filesystem::path& workshop);

// The files of a run: the run file, or else the header; the parts; then the header beside a run
// file.
struct RunFiles {
  std::vector<FileToRead> files;
  bool folded = false;        // there is a run file
  std::size_t parts = 0;      // from files[1] on
  bool header_beside = false; // the last of them
};
// Errors: not_found, io.
Result<RunFiles> run_files(const std::filesystem::path& run_file);

// The run file and the header beside it must be of one run: somebody may have put another file
// there while the run was going on. Errors: invalid_argument.
Result<void> check_same_run(const std::filesystem::path& run_file, const model::RunHeader& folded,
                            const model::RunHeader& beside);
// Says what to do about a file that has the run file's name and is not of the run.
Error with_advice_of_name(Error error, const std::filesystem::path& run_file);

// A file, and which of its trials others replace, by id.
struct SourceOfTrials {
  FileToRead file;
  std::set<std::int32_t> replaced;
};

// Where all that is known of a run is: in the run file if there is one, and in header and parts
// beside it. Files beside the run file are as new or newer (of a resumed run), and take precedence.
struct Gathered {
  model::RunHeader header;
  bool new_header = false;              // it differs from the run file's
  std::optional<SourceOfTrials> folded; // the run file
  std::vector<FileToRead> news; // parts that bring what the run file lacks or has differently
  std::vector<std::filesystem::path> parts; // all that can be read
  std::vector<std::string> damaged;         // "trial-000007.h5: reason"
};
// Errors: not_found, protocol, io, invalid_argument (files of two runs).
Result<Gathered> gather(const std::filesystem::path& run_file);

} // namespace ncclprobe::store
