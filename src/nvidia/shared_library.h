// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// Which files may hold a library, in the order of trying: the one that the options name for it, and
// nothing else; or its sonames as the loader finds them, then in the library folders of CUDA_HOME
// and /usr/local/cuda.
std::vector<std::string> library_candidates(const backend::Options& options,
                                            const std::string& name,
                                            const std::vector<std::string>& sonames);

// A library loaded at run time. Its symbols stay private to it (RTLD_LOCAL), and it stays mapped
// until the process ends: NCCL and the driver keep threads that must not lose their code.
class SharedLibrary {
public:
  // The first candidate that loads. Throws Errc::unsupported with what was tried, the loader's
  // words and where to get it.
  SharedLibrary(std::string display_name, const std::vector<std::string>& candidates,
                const std::string& source = "");

  const std::string& path() const { return path_; } // of the file that was loaded

  // Null if the library has no such function.
  template <typename Function>
  Function optional(const char* symbol) const {
    return reinterpret_cast<Function>(address(symbol));
  }
  // Throws Errc::unsupported with the path, `version` (may be empty) and the missing name.
  template <typename Function>
  void require(Function& function, const char* symbol, const std::string& version) const {
    function = optional<Function>(symbol);
    if (function == nullptr)
      raise_missing(symbol, version);
  }

private:
  void* address(const char* symbol) const;
  [[noreturn]] void raise_missing(const char* symbol, const std::string& version) const;

  std::string display_name_;
  std::string path_;
  void* handle_ = nullptr;
};

} // namespace ncclprobe::nvidia
