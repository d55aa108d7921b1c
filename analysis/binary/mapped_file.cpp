// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/mapped_file.h"

#include "base/fd.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace ncclprobe::analysis {
namespace {

constexpr std::size_t k_most_bytes = std::size_t{16} << 30; // the largest libraries have two

} // namespace

base::Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe must not make us wait for a writer.
  base::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return base::fail(errno == ENOENT ? base::Errc::not_found : base::Errc::io,
                      "cannot open {}: {}", path.string(), std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return base::fail(base::Errc::io, "cannot look at {}: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_size == 0)
    return base::fail(base::Errc::invalid_argument, "{} is {}", path.string(),
                      S_ISREG(status.st_mode) ? "empty" : "no regular file");
  auto size = static_cast<std::size_t>(status.st_size);
  if (size > k_most_bytes)
    return base::fail(base::Errc::invalid_argument,
                      "{} has more than {} GiB, which is the most that is read", path.string(),
                      k_most_bytes >> 30);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return base::fail(base::Errc::io, "cannot map {}: {}", path.string(), std::strerror(errno));
  return MappedFile(data, size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr)
    ::munmap(data_, size_);
}

} // namespace ncclprobe::analysis
