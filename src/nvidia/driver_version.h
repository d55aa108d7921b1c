// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ncclprobe::nvidia {

struct DriverVersion {
  std::optional<int> cuda; // the newest CUDA that the driver supports: 13000
  std::string problem;     // why that is unknown
};

// Asks the driver's library, in every build, and starts no GPU. `library`: what to load.
DriverVersion driver_version(const char* library = "libcuda.so.1");

} // namespace ncclprobe::nvidia
