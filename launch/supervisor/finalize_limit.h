// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::launch {

// MPI_Finalize waits for all supervisors, even for one that was frozen a moment before. While this
// object lives, a limit holds: beyond it the process says so and ends. One at a time.
class FinalizeLimit {
public:
  FinalizeLimit();
  ~FinalizeLimit();
  FinalizeLimit(const FinalizeLimit&) = delete;
  FinalizeLimit& operator=(const FinalizeLimit&) = delete;
};

} // namespace ncclprobe::launch
