// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/nccl_tables.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {
namespace {

// Empty without such a field.
VersionNumber version_in(const nlohmann::json& object, const char* name) {
  std::string text = text_of(object, name);
  return text.empty() ? VersionNumber{} : value_or_throw(parse_version(text));
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

bool KnownBadNccl::concerns(const VersionNumber& nccl) const {
  return nccl <= until && (!from || nccl >= *from);
}

std::string KnownBadNccl::text() const {
  const std::string versions = !from            ? "up to " + until.text()
                               : *from == until ? until.text()
                                                : from->text() + " to " + until.text();
  return fmt::format("NCCL {} {}: {}; take {}", versions, what, when, way_out);
}

const std::vector<KnownBadNccl>& known_bad_nccl() {
  static const std::vector<KnownBadNccl> all = [] {
    std::vector<KnownBadNccl> made;
    for (const auto& one : section("nccl", "known_bad")) {
      KnownBadNccl bad;
      if (one.contains("from"))
        bad.from = version_in(one, "from");
      bad.until = version_in(one, "until");
      bad.capability_from =
          value_or_throw(parse_compute_capability(text_of(one, "capability_from")));
      bad.needs_nvlink = optional_of<bool>(one, "needs_nvlink").value_or(false);
      bad.arm_host = optional_of<bool>(one, "arm_host").value_or(false);
      bad.when = text_of(one, "when");
      bad.what = text_of(one, "what");
      bad.way_out = text_of(one, "way_out");
      bad.sources = texts_of(one, "sources");
      made.push_back(std::move(bad));
    }
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
