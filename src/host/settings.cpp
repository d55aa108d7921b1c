// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/settings.h"

#include "base/units.h"
#include "model/parse_enum.h"

namespace ncclprobe::host {

namespace {

constexpr std::uint64_t k_least_chunk_bytes = 1024;
constexpr std::uint64_t k_most_chunk_bytes = 1024 * 1024 * 1024;

// From these sizes on the ring is faster. Ranks on 2 cores, min of 4 batches, ring against bcube: 2
// ranks 64 KiB 1.5/0.13 ms, 16 MiB 30/23 ms; 4 ranks 64 KiB 3.6/1.9 ms, 4 MiB 9.1/11.6 ms, 16 MiB
// 62/76 ms.
constexpr int k_ranks_for_ring = 3;
constexpr std::uint64_t k_bytes_for_ring = 4 * 1024 * 1024;

} // namespace

HostSettings HostSettings::parse(const std::map<std::string, std::string>& environment) {
  HostSettings settings;
  if (auto found = environment.find("NCCLPROBE_GLOO_ALGORITHM"); found != environment.end())
    settings.algorithm =
        value_or_throw(model::parse_enum<AlgorithmChoice>(found->second, found->first));
  if (auto found = environment.find("NCCLPROBE_GLOO_CHUNK_BYTES"); found != environment.end()) {
    auto bytes = base::parse_bytes(found->second);
    if (!bytes || *bytes < k_least_chunk_bytes || *bytes > k_most_chunk_bytes)
      raise(Errc::invalid_argument, "{}={}: expected a size from 1K to 1G", found->first,
            found->second);
    settings.chunk_bytes = *bytes;
  }
  return settings;
}

bool HostSettings::reads(std::string_view name) {
  return name == "NCCLPROBE_GLOO_ALGORITHM" || name == "NCCLPROBE_GLOO_CHUNK_BYTES" ||
         name == "GLOO_SOCKET_IFNAME";
}

AllReduceAlgorithm HostSettings::all_reduce_algorithm(int ranks, std::uint64_t bytes) const {
  switch (algorithm) {
  case AlgorithmChoice::ring:
    return AllReduceAlgorithm::ring;
  case AlgorithmChoice::bcube:
    return AllReduceAlgorithm::bcube;
  case AlgorithmChoice::automatic:
    break;
  }
  return ranks >= k_ranks_for_ring && bytes >= k_bytes_for_ring ? AllReduceAlgorithm::ring
                                                                : AllReduceAlgorithm::bcube;
}

} // namespace ncclprobe::host
