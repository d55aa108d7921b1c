// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/nccl_tables.h"

#include "knowledge/document.h"
#include "knowledge/json_fields.h"

namespace ncclprobe::knowledge {

NCCLPROBE_PARTLY_LENIENT_FIELDS(KnownBadNccl,
                                (until, capability_from, when, what, way_out, sources),
                                (from, needs_nvlink, arm_host))
NCCLPROBE_PARTLY_LENIENT_FIELDS(FeatureChain::Link, (text), (needs, least, least_cuda))
NCCLPROBE_PARTLY_LENIENT_FIELDS(FeatureChain, (feature, links, sources), (note))

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
  static const auto all = rows<KnownBadNccl>("nccl", "known_bad");
  return all;
}

const std::vector<FeatureChain>& feature_chains() {
  static const auto all = rows<FeatureChain>("nccl", "feature_chains");
  return all;
}

} // namespace ncclprobe::knowledge
