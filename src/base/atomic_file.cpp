// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"

#include "base/fd.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

tl::unexpected<Error> io_error(const char* what, const std::filesystem::path& path, int number) {
  return fail(number == ENOENT ? Errc::not_found : Errc::io, "cannot {} {}: {}", what,
              path.string(), std::strerror(number));
}

Result<void> sync_path(const std::filesystem::path& path, int flags) {
  Fd fd(::open(path.c_str(), flags | O_CLOEXEC));
  if (!fd)
    return io_error("open", path, errno);
  if (::fsync(fd.get()) != 0)
    return io_error("sync", path, errno);
  return {};
}

} // namespace

Result<void> sync_file(const std::filesystem::path& path) {
  return sync_path(path, O_RDONLY);
}

Result<void> publish_file(const std::filesystem::path& temporary,
                          const std::filesystem::path& path) {
  NCCLPROBE_TRY(sync_path(temporary, O_RDONLY));
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return io_error("rename into", path, errno);
  auto folder = path.parent_path();
  return sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  auto temporary = path;
  temporary += ".tmp";
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd)
    return io_error("create", temporary, errno);
  while (!content.empty()) {
    ssize_t written = ::write(fd.get(), content.data(), content.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return io_error("write", temporary, errno);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (int number = fd.close())
    return io_error("close", temporary, number);
  return publish_file(temporary, path);
}

Result<std::string> read_file(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return io_error("open", path, errno);
  std::string content;
  char block[65536];
  while (true) {
    ssize_t count = ::read(fd.get(), block, sizeof block);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return io_error("read", path, errno);
    if (count == 0)
      return content;
    content.append(block, static_cast<std::size_t>(count));
  }
}

} // namespace ncclprobe::base
