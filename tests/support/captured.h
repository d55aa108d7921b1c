// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/atomic_file.h"
#include "support/scratch_folder.h"

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace ncclprobe::support {

// The output of `act` on this descriptor.
template <typename Act>
std::string captured(int fd, Act act) {
  ScratchFolder folder;
  const base::Fd kept(::dup(fd));
  {
    const base::Fd file(::open((folder / "text").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ::dup2(file.get(), fd);
  }
  act();
  ::dup2(kept.get(), fd);
  return *base::read_file(folder / "text");
}

} // namespace ncclprobe::support
