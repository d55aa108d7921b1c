// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/scratch_file.h"

#include "base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ncclprobe::store {

std::uint64_t ScratchFile::append(std::span<const std::byte> bytes) {
  if (!fd_) {
    constexpr std::string_view suffix = ".tmp"; // fold() removes it if a kill comes before unlink()
    std::string name = (folder_ / ".scratch-XXXXXX").string().append(suffix);
    fd_ = base::Fd(::mkostemps(name.data(), suffix.size(), O_CLOEXEC));
    if (!fd_)
      raise(Errc::io, "cannot create {}: {}", name, std::strerror(errno));
    ::unlink(name.c_str());
  }
  const std::uint64_t at = size_;
  size_ += bytes.size();
  while (!bytes.empty()) {
    ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      raise(Errc::io, "cannot write a scratch file in {}: {}", folder_.string(),
            std::strerror(errno));
    bytes = bytes.subspan(written);
  }
  return at;
}

void ScratchFile::read(std::uint64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    ssize_t count = ::pread(fd_.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      raise(Errc::io, "cannot read a scratch file in {}: {}", folder_.string(),
            count < 0 ? std::strerror(errno) : "it is too short");
    at += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(count);
  }
}

} // namespace ncclprobe::store
