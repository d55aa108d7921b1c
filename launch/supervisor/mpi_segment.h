// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ncclprobe::launch {

// The file in /dev/shm through which Open MPI 4 moves data between the ranks of a host. Open MPI
// removes it only in MPI_Finalize, so it would stay for good after a kill -9 of mpirun. Once all
// ranks of the host have mapped it, nobody needs its name. So it is removed here, and an empty file
// is created again before the end, because Open MPI prints an error if it finds nothing to remove.
// Other MPIs have no such file; then this does nothing.
class MpiSegment {
public:
  // Finds it among the files that this process has mapped. `rank_on_host` as Open MPI counts: in
  // the order of the ranks in MPI_COMM_WORLD.
  explicit MpiSegment(int rank_on_host);

  // Call it once all ranks of the host have mapped the file.
  void remove_name();
  // Call it before MPI_Finalize.
  void restore_name();

  const std::filesystem::path& path() const { return path_; } // empty: no such file

private:
  std::filesystem::path path_;
  bool removed_ = false;
};

} // namespace ncclprobe::launch
