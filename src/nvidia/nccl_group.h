// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/nccl_library.h"

#include <optional>

namespace ncclprobe::nvidia {

// An NCCL group of our own, for example the sends and receives of an all-to-all. Call end(); after
// an error the destructor closes the group, and NCCL then drops its contents.
class NcclGroup {
public:
  explicit NcclGroup(const NcclLibrary& nccl) : nccl_(nccl) {
    NCCLPROBE_NCCL_CALL(nccl_, group_start());
  }
  ~NcclGroup() {
    if (open_)
      (void)nccl_.group_end();
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void end() {
    open_ = false;
    NCCLPROBE_NCCL_CALL(nccl_, group_end());
  }
  // Use it instead of end(): nothing of the group is launched. Only if the library has the call;
  // nothing if it gives no estimate.
  std::optional<double> end_with_estimate_us() {
    open_ = false;
    NcclLibrary::SimulationInfo info;
    info.version = static_cast<unsigned>(nccl_.version_code);
    if (nccl_.group_simulate_end(&info) != ncclSuccess || !(info.estimated_us > 0))
      return std::nullopt;
    return info.estimated_us;
  }

private:
  const NcclLibrary& nccl_;
  bool open_ = true;
};

} // namespace ncclprobe::nvidia
