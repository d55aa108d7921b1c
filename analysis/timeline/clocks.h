// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/clock_model.h"
#include "analysis/timeline/rank_trace.h"
#include "base/fields.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// One clock for all ranks.
namespace ncclprobe::analysis::timeline {

// Of all ranks, to the clock of the first rank's host.
struct Clocks {
  struct OfRank {
    std::size_t host_index = 0;
    std::optional<ClockModel> host; // nothing: another host's clock without a comparison
    // %globaltimer to the rank's own host; nothing: not compared. Its error is relative to the GPU
    // of rank gpu_reference, if there is such a rank: GPUs whose clocks collectives compare are
    // known more accurately relative to each other than to their host.
    std::optional<ClockModel> gpu;
    std::optional<int> gpu_reference;
    std::optional<ClockModel> gpu_alone; // as `gpu`, without collectives
    bool by_gpu = false;                 // its times are the GPU's: no kernels were traced
    bool host_inferred = false;          // `host` follows from collectives alone
    // When the clocks are used, on each of them; before that is known, from the first to the last
    // reading.
    Span host_use, gpu_use;
  };
  std::map<int, OfRank> ranks;
  std::size_t hosts = 0;
  bool gpus_compared = false; // all clocks of GPUs have a gpu_reference
  // Readings between ranks of the first rank's host, which share its clock: their errors.
  std::size_t same_host_readings = 0;
  std::size_t same_host_contradictions = 0; // 0 is outside the reading's error
  double same_host_error_ns = 0;            // largest error of these

  // Hosts without a compared clock, aligned by collectives (clock_inference.h).
  std::size_t inferred_hosts = 0;
  std::uint64_t inferred_from = 0; // number of these collectives, for the host with the fewest

  // Readings that contradict all others, and clocks that do not follow one line.
  struct Contradicted {
    int rank = 0; // whose reading it is
    trace::ClockKind kind = trace::ClockKind::host;
    std::uint64_t at_ns = 0;   // by the clock that was read
    double after_first_ns = 0; // since the first reading of that clock
    double by_ns = 0;          // ContradictedReading::by_ns
  };
  std::vector<Contradicted> contradicted;
  std::uint64_t contradicted_events = 0; // ClockModel::contradicted_events
  struct Bent {
    int rank = 0; // the GPU's, or the first of the host
    trace::ClockKind kind = trace::ClockKind::host;
    std::size_t pieces = 0; // ClockModel::pieces and so on
    double bend_ns = 0;
    double widened_ns = 0;
  };
  std::vector<Bent> bent;
  // Ranks whose GPU's readings contradict its collectives: the clock follows the readings.
  std::vector<int> collectives_unused;

  bool all_known() const;
  // Some clocks come from collectives, which therefore cannot check them (is_held_out()).
  bool uses_collectives() const;
  // Error of the difference of two ranks' times at about that time of the common clock. For hosts'
  // clocks 0 on one host.
  double pair_error_ns(int a, int b, std::int64_t at_ns) const;
  // Each rank's largest contribution to the error of its difference to any other: relative to
  // hosts, or to each other. Either holds, but both ranks of a difference must use the same kind.
  enum class GpusKnown { to_hosts, to_each_other };
  double own_error_ns(int rank, std::int64_t at_ns, GpusKnown known) const;

  // The largest errors while the clocks are used; 0 if there are none.
  double worst_host_error_ns() const; // of hosts whose clock is known
  double worst_gpu_error_ns() const;  // of GPUs' clocks to their hosts
  // Of GPUs' clocks relative to each other, if collectives compared them; otherwise nothing.
  std::optional<double> worst_error_among_gpus_ns() const;

private:
  double gpu_error_to_host_ns(int rank, std::uint64_t gpu_ns) const;
  double gpu_error_ns(int rank, std::int64_t at_ns, GpusKnown known) const;
};
NCCLPROBE_FIELDS(Clocks, hosts, same_host_readings, same_host_contradictions, same_host_error_ns,
                 inferred_hosts, inferred_from, contradicted_events)
Clocks fit_clocks(const std::vector<RankHead>& ranks);

// A GPU's clock to its host. `reference`: that of rank head.gpu_collectives.reference; null:
// without collectives.
std::optional<ClockModel> fit_gpu_clock(const RankHead& head, const ClockModel* reference);

} // namespace ncclprobe::analysis::timeline
