// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/mpi_segment.h"

#include "base/fd.h"

#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>

namespace ncclprobe::launch {

// "/dev/shm/vader_segment.<host>.<uid>.<job>.<rank on host>" (btl_vader_component.c, since 4.0.2).
MpiSegment::MpiSegment(int rank_on_host) {
  const std::string start = "/dev/shm/vader_segment.";
  const std::string end = "." + std::to_string(rank_on_host);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::size_t at = line.find(start);
    if (at != std::string::npos && line.ends_with(end))
      path_ = line.substr(at);
  }
}

void MpiSegment::remove_name() {
  if (!path_.empty())
    removed_ = ::unlink(path_.c_str()) == 0;
}

void MpiSegment::restore_name() {
  if (removed_)
    base::Fd(::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
  removed_ = false;
}

} // namespace ncclprobe::launch
