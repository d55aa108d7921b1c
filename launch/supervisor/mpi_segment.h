// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ncclprobe::launch {

// The file in /dev/shm through which Open MPI 4 moves data between the ranks of a host. Open MPI
// removes it in MPI_Finalize only, so a kill -9 of mpirun would leave it there for good. Once all
// ranks of the host have mapped it, nobody needs its name: it is removed here, and for the end made
// anew, empty, because Open MPI complains loudly if it finds nothing to remove. With another MPI
// there is no such file, and nothing is done.
class MpiSegment {
public:
  // Looks among the files that this process has mapped. `rank_on_host` as Open MPI counts: in the
  // order of the ranks in MPI_COMM_WORLD.
  explicit MpiSegment(int rank_on_host);

  // All ranks of the host have mapped it.
  void remove_name();
  // MPI_Finalize is next.
  void restore_name();

  const std::filesystem::path& path() const { return path_; } // empty: there is none

private:
  std::filesystem::path path_;
  bool removed_ = false;
};

} // namespace ncclprobe::launch
