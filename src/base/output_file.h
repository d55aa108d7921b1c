// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"

#include <filesystem>
#include <optional>
#include <string_view>

// Result files that the user names: one rule for all commands.
//
// An existing file is replaced only with --force, and then as a whole, with its permissions.
// Anything other than a regular file (a device, a pipe, a socket, /dev/stdout) is written into and
// never replaced. A symbolic link is followed and kept: to a device or similar always, to a file
// only with --force. It is never followed if another user made the link, because it may lead
// anywhere. A block device loses its contents, so it needs --force too.
namespace ncclprobe::base {

struct Destination {
  std::filesystem::path file; // empty: none is named
  Overwrite overwrite = Overwrite::no;
};

class OutputFile {
public:
  // Errors: invalid_argument (it exists and may not be replaced; it is a folder), not_found (its
  // folder), io.
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

// Writes everything at once.
Result<void> write_output_file(const Destination& destination, std::string_view content);

// Checks whether it could be written now, before long work starts. Leaves nothing there, and opens
// only regular files.
Result<void> check_output_file(const Destination& destination);

// The target of a regular file that is written in another way, after following links. Errors as
// those of open(); also invalid_argument, with this reason, if the existing file is not regular.
Result<std::filesystem::path> regular_output_path(const Destination& destination,
                                                  std::string_view reason);

} // namespace ncclprobe::base
