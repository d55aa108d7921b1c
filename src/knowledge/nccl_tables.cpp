// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/nccl_tables.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {
namespace {

// Empty without such a field.
VersionNumber version_in(const nlohmann::json& link, const char* name) {
  std::string text = text_of(link, name);
  return text.empty() ? VersionNumber{} : base::value_or_throw(parse_version(text));
}

} // namespace

const std::vector<NcclDefaultBuild>& nccl_default_builds() {
  static const std::vector<NcclDefaultBuild> all = [] {
    std::vector<NcclDefaultBuild> made;
    for (const auto& one : section("nccl", "default_builds"))
      made.push_back(
          {text_of(one, "built_with"), targets_of(one, "cubin"), targets_of(one, "ptx")});
    return made;
  }();
  return all;
}

const std::vector<FeatureChain>& feature_chains() {
  static const std::vector<FeatureChain> all = [] {
    std::vector<FeatureChain> made;
    for (const auto& one : section("nccl", "feature_chains")) {
      FeatureChain chain{
          text_of(one, "feature"), {}, text_of(one, "note"), texts_of(one, "sources")};
      for (const auto& link : one.at("all_of")) {
        chain.links.push_back({text_of(link, "text"), text_of(link, "needs"),
                               version_in(link, "least"), version_in(link, "least_cuda")});
      }
      made.push_back(std::move(chain));
    }
    return made;
  }();
  return all;
}

} // namespace ncclprobe::knowledge
