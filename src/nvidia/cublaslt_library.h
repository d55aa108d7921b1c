// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvidia/shared_library.h"

#include <string>

namespace ncclprobe::nvidia {

// cuBLASLt, for matrix products beside communication. For now only its version is asked for. Half a
// gigabyte of library: opened only where it is wanted.
class CublasLtLibrary {
public:
  explicit CublasLtLibrary(const backend::Options& options); // throws Errc::unsupported
  const std::string& path() const { return library_.path(); }
  std::string version() const { return version_; } // "13.1.0"

private:
  SharedLibrary library_;
  std::string version_;
};

} // namespace ncclprobe::nvidia
