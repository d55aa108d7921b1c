// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fd.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace ncclprobe::fuzz {

// A nameless file in memory, for readers that take a path.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written <= 0)
        std::abort(); // no memory
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

private:
  base::Fd fd_;
};

} // namespace ncclprobe::fuzz
