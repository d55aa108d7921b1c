// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "knowledge/compute_capability.h"
#include "knowledge/version_number.h"

#include <optional>
#include <string>
#include <vector>

// CUDA toolkits, their packaged and minimum drivers, and the GPUs that they compile for.
namespace ncclprobe::knowledge {

struct Toolkit {
  std::string name;                             // "12.1", "12.2U1"
  VersionNumber version;                        // major and minor
  std::optional<VersionNumber> driver_packaged; // of Linux; absent: not sourced
  std::string note;
};
const std::vector<Toolkit>& cuda_toolkits(); // oldest first

// The packaged driver of the first release of this CUDA version, the first with all of its
// features. Nothing if it is unknown.
std::optional<VersionNumber> full_driver(const VersionNumber& cuda);

// The oldest driver that runs programs of a CUDA major, with fewer features (minor-version
// compatibility, from 11 on). Nothing for majors without it, or if it is unknown.
std::optional<VersionNumber> minor_compatibility_driver(int cuda_major);

// A target of nvcc, and the first and last versions with it.
struct CudaTarget {
  CodeTarget target;
  std::string architecture;                         // "Ada"
  std::optional<VersionNumber> first_cuda;          // absent: not sourced
  std::optional<VersionNumber> first_driver_branch; // 520 for r520
  std::optional<VersionNumber> last_driver_branch;  // absent: not dropped so far, or not sourced
  std::optional<VersionNumber> last_cuda;           // absent: not dropped so far, or not sourced
  std::string note;
  std::vector<std::string> sources;
};
const std::vector<CudaTarget>& cuda_targets();
const CudaTarget* cuda_target(const ComputeCapability& capability);

// Driver branches for which NVIDIA has a cuda-compat package of this CUDA version: 470 of
// "470.129.06".
std::vector<int> compat_driver_branches(const VersionNumber& cuda);

// The first CUDA whose drivers compile this version of PTX. Nothing if it is not in the table.
std::optional<VersionNumber> cuda_of_ptx_isa(const VersionNumber& isa);

} // namespace ncclprobe::knowledge
