// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Needs no header of CUDA, because workers without the backend are asked too.
#include "nvidia/driver_version.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace ncclprobe::nvidia {

DriverVersion driver_version(const char* library) {
  void* driver = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (driver == nullptr) {
    const char* words = dlerror();
    return {{}, words != nullptr ? words : "no CUDA driver"};
  }
  auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (ask == nullptr)
    return {{}, fmt::format("{} has no cuDriverGetVersion", library)};
  int version = 0;
  const int code = ask(&version);
  if (code != 0 || version <= 0)
    return {{}, fmt::format("cuDriverGetVersion of {} returned {}", library, code)};
  return {version, ""};
}

} // namespace ncclprobe::nvidia
