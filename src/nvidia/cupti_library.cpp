// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/cupti_library.h"

#include "nvidia/cuda_error.h"

#include <cupti_version.h>

namespace ncclprobe::nvidia {
namespace {

// The CUPTI of the toolkit's own major version first: it must not be newer than the driver. In CUDA
// 11 each minor version has its own name.
std::vector<std::string> cupti_sonames() {
  constexpr int major = CUDART_VERSION / 1000;
  std::string first = major > 11 ? fmt::format("libcupti.so.{}", major)
                                 : fmt::format("libcupti.so.{}", cuda_version_text(CUDART_VERSION));
  return {first, "libcupti.so"};
}

} // namespace

CuptiLibrary::CuptiLibrary(const backend::Options& options)
    : library_("CUPTI", library_candidates(options, "cupti", cupti_sonames())) {
  decltype(&cuptiGetVersion) get_version = library_.require("cuptiGetVersion");
  std::uint32_t number = 0;
  if (get_version(&number) == CUPTI_SUCCESS)
    version_ = std::to_string(number);
}

} // namespace ncclprobe::nvidia
