// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/cuda_tables.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

#include <algorithm>

namespace ncclprobe::knowledge {
namespace {

std::optional<VersionNumber> version_of(const nlohmann::json& object, const char* field) {
  std::string text = text_of(object, field);
  if (text.empty())
    return std::nullopt;
  return value_or_throw(parse_version(text));
}

} // namespace

const std::vector<Toolkit>& cuda_toolkits() {
  static const std::vector<Toolkit> all = [] {
    std::vector<Toolkit> made;
    for (const auto& one : section("cuda", "toolkits"))
      made.push_back({text_of(one, "toolkit"), *version_of(one, "version"),
                      version_of(one, "driver_packaged"), text_of(one, "note")});
    return made;
  }();
  return all;
}

std::optional<VersionNumber> full_driver(const VersionNumber& cuda) {
  for (const Toolkit& one : cuda_toolkits())
    if (one.version.major() == cuda.major() && one.version.minor() == cuda.minor())
      return one.driver_packaged;
  return std::nullopt;
}

std::optional<VersionNumber> minor_compatibility_driver(int cuda_major) {
  static const auto families = section("cuda", "minor_version_families");
  for (const auto& one : families)
    if (one.at("major") == cuda_major)
      return version_of(one, "driver_least");
  return std::nullopt;
}

const std::vector<CudaTarget>& cuda_targets() {
  static const std::vector<CudaTarget> all = [] {
    std::vector<CudaTarget> made;
    for (const auto& one : section("cuda", "targets"))
      made.push_back({value_or_throw(parse_code_target(text_of(one, "sm"))),
                      text_of(one, "architecture"), version_of(one, "first_cuda"),
                      version_of(one, "first_driver_branch"), version_of(one, "last_driver_branch"),
                      version_of(one, "last_cuda_offline"), text_of(one, "note"),
                      texts_of(one, "sources")});
    return made;
  }();
  return all;
}

const CudaTarget* cuda_target(const ComputeCapability& capability) {
  auto found = std::ranges::find_if(cuda_targets(), [&](const auto& one) {
    return one.target == CodeTarget{capability, Reach::portable};
  });
  return found == cuda_targets().end() ? nullptr : &*found;
}

std::vector<int> compat_driver_branches(const VersionNumber& cuda) {
  for (const auto& one : section("cuda", "compat_packages")) {
    const VersionNumber package = *version_of(one, "cuda");
    if (package.major() == cuda.major() && package.minor() == cuda.minor())
      return one.at("driver_branches").get<std::vector<int>>();
  }
  return {};
}

std::optional<VersionNumber> cuda_of_ptx_isa(const VersionNumber& isa) {
  for (const auto& one : section("cuda", "ptx_isas"))
    if (version_of(one, "isa") == isa)
      return version_of(one, "cuda");
  return std::nullopt;
}

} // namespace ncclprobe::knowledge
