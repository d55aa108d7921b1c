// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::launch {

// MPI_Finalize waits for all supervisors, even for one that has just been frozen. While this object
// lives, a time limit holds; beyond it the process prints that and exits. Only one may exist.
class FinalizeLimit {
public:
  FinalizeLimit();
  ~FinalizeLimit();
  FinalizeLimit(const FinalizeLimit&) = delete;
  FinalizeLimit& operator=(const FinalizeLimit&) = delete;
};

} // namespace ncclprobe::launch
