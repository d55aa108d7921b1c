// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/backend.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ncclprobe::backend {

// The behaviour that the synthetic backend simulates. Process settings (TrialSpec::process) change
// it, which gives a sweep something to find, and so do settings of cells (model/in_process.h),
// whose names are the lower-case ends of these:
//
//   NCCLPROBE_SYNTHETIC_ALPHA_NS   5000   latency of one step of a ring, in ns
//   NCCLPROBE_SYNTHETIC_GB_PER_S   100    bandwidth of one link (1 GB/s = 1 byte per ns); with
//                                         decimals if need be
//   NCCLPROBE_SYNTHETIC_NOISE_PPM  10000  half width of the noise on each call, in parts
//                                         per million
//   NCCLPROBE_SYNTHETIC_COPY_PPM   0      how much longer, in parts per million, collectives and
//                                         copies between host and device take while one of the
//                                         others runs on the device; what was enqueued first is
//                                         not slowed down
//   NCCLPROBE_SYNTHETIC_FAIL       -      start: connect() throws; unsupported, error: enqueueing
//                                         throws; crash: the process aborts; hang: no stream
//                                         becomes idle
struct SyntheticSettings {
  enum class Failure { none, start, unsupported, error, crash, hang };

  std::int64_t alpha_ns = 5000;
  std::int64_t bytes_per_us = 100'000;
  std::int64_t noise_ppm = 10'000;
  std::int64_t copy_ppm = 0;
  Failure failure = Failure::none;

  // Throws Exception (invalid_argument) naming the variable.
  static SyntheticSettings parse(const std::map<std::string, std::string>& environment);
};

// Every call costs this much: even a collective of one rank is not free.
inline constexpr std::int64_t k_synthetic_launch_ns = 2000;

// Device memory that a process takes at its start, and with each communicator. The rest is buffers.
inline constexpr std::uint64_t k_synthetic_context_bytes = std::uint64_t{512} << 20;
inline constexpr std::uint64_t k_synthetic_communicator_bytes = std::uint64_t{256} << 20;

// Time of one call without noise, by the alpha-beta formulas of ring algorithms, B = bytes per ns,
// m = count * size of type, n = ranks:
//   all_reduce                   launch + 2(n-1) alpha + 2(n-1)m / (nB)
//   all_gather, reduce_scatter,
//   all_to_all, gather, scatter  launch +  (n-1) alpha +  (n-1)m / B
//   broadcast, reduce            launch +  (n-1) alpha +        m / B
//   send_recv                    launch +        alpha +        m / B
// all_to_all_v and hypercube are made of sends and receives, each of which costs a send_recv.
// Integers only, rounded down: the same on every machine.
std::int64_t synthetic_cost_ns(const SyntheticSettings&, model::Collective, std::uint64_t count,
                               model::DataType, int ranks);

// The path of a copy or a pointer walk: one device's own memory, the link between two devices, or
// the path between a device and the host.
enum class SyntheticRoad { local, link, host };
// Copies, without noise: link launch + alpha + m/B as send_recv, local launch + m / 10B, host
// launch + alpha + 8m / B.
std::int64_t synthetic_copy_ns(const SyntheticSettings&, std::uint64_t bytes, SyntheticRoad);
// Duration of `cost_ns` of work that begins at `start_ns`. The work takes copy_ppm longer during
// these spans (begin, end), in which something else runs. The spans are sorted by time.
using BusySpans = std::vector<std::pair<std::int64_t, std::int64_t>>;
std::int64_t synthetic_slowed_ns(const SyntheticSettings&, std::int64_t start_ns,
                                 std::int64_t cost_ns, const BusySpans& others);
// Launch time plus, for each hop, alpha / 5 on a link, a third of that locally, twice that to the
// host.
std::int64_t synthetic_chase_ns(const SyntheticSettings&, std::uint64_t hops, SyntheticRoad);

// A product of matrices: launch + flops at 50 Tflop/s (f32), 400 (tf32) or 800 (f16, bf16).
std::int64_t synthetic_gemm_ns(const GemmCall&);
// Kernels that stream through memory: launch + bytes at 4 TB/s.
std::int64_t synthetic_memory_ns(std::uint64_t bytes);

// `cost_ns` with the noise of one call: uniform within +- noise_ppm, plus a quarter of that
// amplitude for the whole trial, because fresh processes differ. Depends only on its arguments.
std::int64_t with_noise(std::int64_t cost_ns, const SyntheticSettings&, const Options&,
                        std::uint64_t call);

} // namespace ncclprobe::backend
