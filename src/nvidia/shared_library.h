// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <string>
#include <vector>

namespace ncclprobe::nvidia {

// Candidate files of a library, in search order. If the options name a file, it is the only one.
// Otherwise: its sonames as the loader finds them, then in the library folders of CUDA_HOME and
// /usr/local/cuda.
std::vector<std::string> library_candidates(const backend::Options& options,
                                            const std::string& name,
                                            const std::vector<std::string>& sonames);

// A library loaded at run time. Its symbols stay private to it (RTLD_LOCAL). It stays loaded until
// the process ends: NCCL and the driver keep threads that must not lose their code.
class SharedLibrary {
public:
  // The first candidate that loads. Throws Errc::unsupported with the candidates, the loader's
  // message and where to get the library.
  SharedLibrary(std::string display_name, const std::vector<std::string>& candidates,
                const std::string& source = "");

  const std::string& path() const { return path_; } // path of the loaded file

  // Becomes a pointer to whatever type of function it initializes.
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  // Null if the library lacks the function.
  Symbol optional(const char* symbol) const;
  // Throws Errc::unsupported with the path, `version` (may be empty) and the name of the missing
  // function.
  Symbol require(const char* symbol, const std::string& version = "") const;

private:
  std::string display_name_;
  std::string path_;
  void* handle_ = nullptr;
};

} // namespace ncclprobe::nvidia
