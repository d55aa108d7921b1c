// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"

#include <filesystem>
#include <optional>
#include <string_view>

// Files that the user names for results: one rule for all commands.
//
// A file that is there is replaced only if the user says so (--force), and then as a whole, with
// its permissions. What is there and is no regular file (a device, a pipe, a socket, /dev/stdout)
// is written into and never replaced. A symbolic link is followed, and stays: to a device or the
// like always; to a file only if the user says so, and never if another user made the link, as that
// may lead anywhere. A block device loses what it holds, so it is asked for as well.
namespace ncclprobe::base {

struct Destination {
  std::filesystem::path file; // empty: none is named
  Overwrite overwrite = Overwrite::no;
};

class OutputFile {
public:
  // Errors: invalid_argument (it is there and may not be replaced; it is a folder), not_found (of
  // its folder), io.
  static Result<OutputFile> open(const Destination& destination);
  Result<void> write(std::string_view bytes);
  // Without it a regular file does not appear.
  Result<void> finish();

private:
  OutputFile(std::filesystem::path path, Overwrite overwrite)
      : path_(std::move(path)), overwrite_(overwrite) {}

  std::filesystem::path path_;
  Overwrite overwrite_;
  std::optional<AtomicFile> whole_; // of a regular file; otherwise
  Fd stream_;                       // what is written into
};

// All of it at once.
Result<void> write_output_file(const Destination& destination, std::string_view content);

// Whether it could be written now: before something is done that takes long. Nothing is left there.
// Nothing is opened that is no regular file.
Result<void> check_output_file(const Destination& destination);

// Where a regular file goes to that is written in another way: behind symbolic links. Errors as
// those of open(); also invalid_argument, with this reason, if what is there is no regular file.
Result<std::filesystem::path> regular_output_path(const Destination& destination,
                                                  std::string_view reason);

} // namespace ncclprobe::base
