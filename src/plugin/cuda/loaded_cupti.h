// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/cuda/cupti_abi.h"

#include <string>
#include <vector>

namespace ncclprobe::plugin {

// CUPTI in a process that is not ours: the library that the process has loaded, otherwise the one
// that belongs to its CUDA. Never a second: two of them would take each other's records.
struct LoadedCupti {
  cupti::Functions call;
  std::uint32_t version = 0;
  std::string path;
  std::string problem; // empty: it can be used
};

// Finds it once; the library stays loaded.
const LoadedCupti& loaded_cupti();

// The files to try if no CUPTI is loaded, from the files that the process has mapped, in order.
// `driver_major`: the newest CUDA that the driver supports; 0: unknown.
std::vector<std::string> cupti_candidates(const std::vector<std::string>& mapped, int driver_major);

// The tool that probably uses CUPTI, where CUPTI does not name it: by the mapped files and the
// value of CUDA_INJECTION64_PATH (may be null). Empty: unknown.
std::string probable_cupti_user(const std::vector<std::string>& mapped, const char* injection);

// The files that this process has mapped, each once.
std::vector<std::string> mapped_files();

} // namespace ncclprobe::plugin
