// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/cuda_tables.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

#include <algorithm>

namespace ncclprobe::knowledge {
namespace {

struct DriverFamily {
  int major = 0; // of CUDA
  VersionNumber driver_least;
};
struct CompatPackage {
  VersionNumber cuda;
  std::vector<int> driver_branches;
};
struct PtxIsa {
  VersionNumber isa, cuda;
};
NCCLPROBE_FIELDS(DriverFamily, major, driver_least)
NCCLPROBE_FIELDS(CompatPackage, cuda, driver_branches)
NCCLPROBE_FIELDS(PtxIsa, isa, cuda)

} // namespace

NCCLPROBE_PARTLY_LENIENT_FIELDS(Toolkit, (name, version), (driver_packaged, note))
NCCLPROBE_PARTLY_LENIENT_FIELDS(CudaTarget, (target, architecture, sources),
                                (first_cuda, first_driver_branch, last_driver_branch, last_cuda,
                                 note))

const std::vector<Toolkit>& cuda_toolkits() {
  static const auto all = rows<Toolkit>("cuda", "toolkits");
  return all;
}

std::optional<VersionNumber> full_driver(const VersionNumber& cuda) {
  for (const Toolkit& one : cuda_toolkits())
    if (one.version.major() == cuda.major() && one.version.minor() == cuda.minor())
      return one.driver_packaged;
  return std::nullopt;
}

std::optional<VersionNumber> minor_compatibility_driver(int cuda_major) {
  static const auto families = rows<DriverFamily>("cuda", "minor_version_families");
  for (const DriverFamily& one : families)
    if (one.major == cuda_major)
      return one.driver_least;
  return std::nullopt;
}

const std::vector<CudaTarget>& cuda_targets() {
  static const auto all = rows<CudaTarget>("cuda", "targets");
  return all;
}

const CudaTarget* cuda_target(const ComputeCapability& capability) {
  auto found = std::ranges::find(cuda_targets(), CodeTarget{capability, Reach::portable},
                                 &CudaTarget::target);
  return found == cuda_targets().end() ? nullptr : &*found;
}

std::vector<int> compat_driver_branches(const VersionNumber& cuda) {
  for (const CompatPackage& one : rows<CompatPackage>("cuda", "compat_packages"))
    if (one.cuda.major() == cuda.major() && one.cuda.minor() == cuda.minor())
      return one.driver_branches;
  return {};
}

std::optional<VersionNumber> cuda_of_ptx_isa(const VersionNumber& isa) {
  for (const PtxIsa& one : rows<PtxIsa>("cuda", "ptx_isas"))
    if (one.isa == isa)
      return one.cuda;
  return std::nullopt;
}

} // namespace ncclprobe::knowledge
