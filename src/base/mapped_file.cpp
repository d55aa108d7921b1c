// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/mapped_file.h"

#include "base/fd.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace ncclprobe::base {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file)
    return fail(errno == ENOENT ? Errc::not_found : Errc::io, "cannot open {}: {}", path.string(),
                std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return fail(Errc::io, "cannot inspect {}: {}", path.string(), std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_size == 0)
    return fail(Errc::invalid_argument, "{} is {}", path.string(),
                S_ISREG(status.st_mode) ? "empty" : "not a regular file");
  auto size = static_cast<std::size_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED)
    return fail(Errc::io, "cannot map {}: {}", path.string(), std::strerror(errno));
  return MappedFile(data, size);
}

void MappedFile::release() const {
  if (data_ != nullptr)
    ::madvise(data_, size_,
              MADV_DONTNEED); // a private mapping that nobody wrote to: no data is lost
}

MappedFile::~MappedFile() {
  if (data_ != nullptr)
    ::munmap(data_, size_);
}

} // namespace ncclprobe::base
