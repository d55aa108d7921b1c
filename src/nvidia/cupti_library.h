// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <string>

namespace ncclprobe::nvidia {

// Finds CUPTI, the profiling interface. What it records: activity_library.h.
class CuptiLibrary {
public:
  explicit CuptiLibrary(const backend::Options& options); // throws Errc::unsupported
  const std::string& path() const { return library_.path(); }
  std::string version() const { return version_; } // CUPTI's own numbering: "130001"
  const SharedLibrary& library() const { return library_; }

private:
  SharedLibrary library_;
  std::string version_;
};

} // namespace ncclprobe::nvidia
