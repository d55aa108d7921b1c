// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ncclprobe::host {

enum class AllReduceAlgorithm { ring, bcube };

enum class AlgorithmChoice { automatic, ring, bcube };
constexpr auto enum_names(AlgorithmChoice) {
  using enum AlgorithmChoice;
  return std::to_array<std::pair<AlgorithmChoice, std::string_view>>(
      {{automatic, "auto"}, {ring, "ring"}, {bcube, "bcube"}});
}

// Process settings of the CPU backend (TrialSpec::process). Within a process, `algorithm` and
// `chunk_bytes` of a cell replace the first two (model/in_process.h):
//
//   NCCLPROBE_GLOO_ALGORITHM    auto (default), ring, bcube: all_reduce's algorithm
//   NCCLPROBE_GLOO_CHUNK_BYTES  1K to 1G, default 1M: largest piece that all_reduce (ring only),
//                               reduce and reduce_scatter send at once
//   GLOO_SOCKET_IFNAME          interface to use; see network_address.h
struct HostSettings {
  AlgorithmChoice algorithm = AlgorithmChoice::automatic;
  std::size_t chunk_bytes = 1024 * 1024;

  // Throws Exception (invalid_argument) that names the variable and its valid values.
  static HostSettings parse(const std::map<std::string, std::string>& environment);

  static bool reads(std::string_view name);

  // The algorithm of an all_reduce of that size.
  AllReduceAlgorithm all_reduce_algorithm(int ranks, std::uint64_t bytes) const;
};

} // namespace ncclprobe::host
