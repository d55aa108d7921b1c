// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/settings.h"

#include "base/units.h"
#include "model/parse_enum.h"

namespace ncclprobe::host {

namespace {

constexpr std::uint64_t k_least_chunk_bytes = 1024;
constexpr std::uint64_t k_most_chunk_bytes = 1024 * 1024 * 1024;

} // namespace

HostSettings HostSettings::parse(const std::map<std::string, std::string>& environment) {
  HostSettings settings;
  if (auto found = environment.find("NCCLPROBE_GLOO_ALGORITHM"); found != environment.end())
    settings.algorithm =
        base::value_or_throw(model::parse_enum<AlgorithmChoice>(found->second, found->first));
  if (auto found = environment.find("NCCLPROBE_GLOO_CHUNK_BYTES"); found != environment.end()) {
    auto bytes = base::parse_bytes(found->second);
    if (!bytes || *bytes < k_least_chunk_bytes || *bytes > k_most_chunk_bytes)
      base::raise(base::Errc::invalid_argument, "{}={}: expected a size from 1K to 1G",
                  found->first, found->second);
    settings.chunk_bytes = *bytes;
  }
  return settings;
}

AllReduceAlgorithm HostSettings::all_reduce_algorithm(int, std::uint64_t) const {
  return algorithm == AlgorithmChoice::ring ? AllReduceAlgorithm::ring : AllReduceAlgorithm::bcube;
}

} // namespace ncclprobe::host
