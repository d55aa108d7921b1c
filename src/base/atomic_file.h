// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "base/fd.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ncclprobe::base {

// May an existing file be replaced?
enum class Overwrite { no, yes };

// A file that appears completely or not at all: a reader sees the old one or the new one, never a
// part. It is created in the open folder under a random name that nobody can have taken before
// (O_EXCL; links are not followed), and commit() renames it. The destructor does not commit: it
// removes the temporary file.
class AtomicFile {
public:
  // `workshop`: the folder for the temporary file, on the same file system; default: the folder of
  // `path`. Errors: not_found (no such folder), io, with the system's message.
  static Result<AtomicFile> create(const std::filesystem::path& path,
                                   const std::filesystem::path& workshop = {});
  AtomicFile(AtomicFile&& other) noexcept = default;
  AtomicFile& operator=(AtomicFile&& other) = delete;
  ~AtomicFile();

  int fd() const { return file_.get(); }
  // For libraries that open files by name, here or in a forked child.
  std::filesystem::path path_to_open() const;

  Result<void> write(std::string_view bytes);
  // fsync, rename, fsync of the folder. Errors: io; invalid_argument if a file exists that must not
  // be replaced.
  Result<void> commit(Overwrite overwrite);

private:
  AtomicFile(std::filesystem::path path, Fd workshop, Fd folder, std::string name, Fd file)
      : path_(std::move(path)), workshop_(std::move(workshop)), folder_(std::move(folder)),
        temporary_(std::move(name)), file_(std::move(file)) {}

  std::filesystem::path path_;
  Fd workshop_;           // the folder of the temporary file
  Fd folder_;             // folder of `path_`, if it differs
  std::string temporary_; // name in the workshop; without a descriptor the file no longer exists
  Fd file_;
};

// The same for existing content. Replaces an existing file.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Much larger than any document that is read as a whole: topologies, plans, surveys of a cluster.
inline constexpr std::size_t k_most_document_bytes = std::size_t{256} << 20;

// Whole content of a file, pipe or device, up to `most_bytes`. Errors: not_found, io;
// invalid_argument, naming the limit, if there is more.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::size_t most_bytes = k_most_document_bytes);

// The same for a text: also invalid_argument at its first zero byte.
Result<std::string> read_text(const std::filesystem::path& path,
                              std::size_t most_bytes = k_most_document_bytes);

// "cannot open run.h5: No such file or directory"; not_found for ENOENT, otherwise io.
tl::unexpected<Error> system_error(const char* what, const std::filesystem::path& path, int number);

} // namespace ncclprobe::base
