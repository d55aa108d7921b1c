// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <string>

namespace ncclprobe::nvidia {

// CUPTI, the profiling interface. For now only its version is asked for.
class CuptiLibrary {
public:
  explicit CuptiLibrary(const backend::Options& options); // throws Errc::unsupported
  const std::string& path() const { return library_.path(); }
  std::string version() const { return version_; } // CUPTI counts by itself: "130001"

private:
  SharedLibrary library_;
  std::string version_;
};

} // namespace ncclprobe::nvidia
