// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <string>
#include <vector>

// What limits a collective on a machine: the narrowest set of links that its data must cross.
//
// Bus bandwidth is that of nccl-tests (doc/PERFORMANCE.md there): algorithm bandwidth S/t, times
// 2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter, all_to_all, gather and scatter,
// 1 for broadcast, reduce and send_recv. S is the buffer of all n ranks' data where there is one.
//
// For every group A of the ranks, the data that must leave it crosses the links that lead out.
// Their capacity cap(A) is a maximum flow (Ford and Fulkerson). With k ranks in A:
//   all_reduce, all_gather, reduce_scatter by rings: every ring leaves A at least once, and
//     busbw is what all rings carry together:               busbw <= cap(A)
//   broadcast (A with the root), reduce (A without it): S     busbw <= cap(A)
//   all_to_all: k(n-k) blocks of S/n                          busbw <= cap(A) (n-1)/(k(n-k))
//   gather (A without the root): k blocks of S/n              busbw <= cap(A) (n-1)/k
//   scatter (A with the root): n-k blocks of S/n              busbw <= cap(A) (n-1)/(n-k)
//   send_recv: S for each rank of A whose successor is not in it
// The ceiling is the minimum over the groups that links suggest: each GPU, all that NVLinks
// connect, all below each PCI device, each host, and their complements. Any group gives a true
// bound, so the ceiling is never too low. In trees of PCIe links and with NVSwitches it is exact.
// Links of unknown rate count as unlimited and are named; so do possible NVLinks that no source
// describes. Hosts of one NVLink domain are connected by it, others by their network ports. If no
// port of a host is known and up, there is no result. Algorithms other than rings can exceed the
// ceiling: trees, and switches that reduce (NVLS), see `in_switch_gb_per_s`.
namespace ncclprobe::topology {

enum class Traffic { ring, broadcast, reduce, all_to_all, gather, scatter, send_recv };

// The place of a rank.
struct RankGpu {
  int host = 0; // position in Machine::hosts
  int gpu = 0;  // Gpu::index
  bool operator==(const RankGpu&) const = default;
};

struct Bottleneck {
  std::optional<double> busbw_gb_per_s; // nothing if no limiting link's rate is known
  std::vector<std::string> links;       // saturated links: "GPU 3 to NVSwitch: 18 NVLinks"
  std::string derivation;               // "450 GB/s out of GPU 3"
  std::vector<std::string> unknown;     // links that count as unlimited
  // all_reduce by NVSwitches that reduce: each GPU sends S(1+1/n) and receives as much, so busbw <=
  // port 2(n-1)/(n+1). Only with NVSwitches and compute capability 9.0 or higher, on one host or in
  // one NVLink domain.
  std::optional<double> in_switch_gb_per_s;
  // Includes the hosts' network ports. They are assumed to be on one network without a bottleneck
  // of its own.
  bool over_network = false;
};

// `ranks` by rank; the root is rank 0. Errors: none; fewer than two ranks have no bottleneck.
Bottleneck bottleneck(const Machine& machine, const std::vector<RankGpu>& ranks, Traffic traffic);

// One rank per GPU, host by host.
std::vector<RankGpu> rank_per_gpu(const Machine& machine);

} // namespace ncclprobe::topology
