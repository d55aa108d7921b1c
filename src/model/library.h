// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fields.h"

#include <string>

namespace ncclprobe::model {

// A shared library as a process found it. Unavailable values are empty.
struct Library {
  std::string name;    // "nccl", "cuda_driver", "cuda_runtime", "nvml", "cupti", "cublaslt", "gloo"
  std::string version; // "2.28.3"; empty if the library is missing
  std::string path;    // file that was loaded
  std::string problem; // why it is missing, unusable, or not the requested one
  bool operator==(const Library&) const = default;
};
NCCLPROBE_DESCRIBE(
    Library, NCCLPROBE_COLUMN(name, "which library: nccl, cuda_driver, cublaslt, gloo, ..."),
    NCCLPROBE_COLUMN(version, "version, as the library reports it; empty: not found"),
    NCCLPROBE_COLUMN(path, "path of the loaded file, symbolic links resolved"),
    NCCLPROBE_COLUMN(
        problem,
        "why it cannot be used, or is not the one that the trial requested; empty: no problem"))

} // namespace ncclprobe::model
