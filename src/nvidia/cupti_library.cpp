// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cupti_library.h"

#include "nvidia/cuda_error.h"

#include <cupti_version.h>

namespace ncclprobe::nvidia {
namespace {

// The toolkit's own major version first: CUPTI must not be newer than the driver. Up to CUDA 12 the
// soname carries major version 12 as well.
std::vector<std::string> sonames() {
  return {fmt::format("libcupti.so.{}", CUDART_VERSION / 1000), "libcupti.so"};
}

} // namespace

CuptiLibrary::CuptiLibrary(const backend::Options& options)
    : library_("CUPTI", library_candidates(options, "cupti", sonames())) {
  decltype(&cuptiGetVersion) get_version = nullptr;
  library_.require(get_version, "cuptiGetVersion", "");
  std::uint32_t number = 0;
  if (get_version(&number) == CUPTI_SUCCESS)
    version_ = std::to_string(number);
}

} // namespace ncclprobe::nvidia
