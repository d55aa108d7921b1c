// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/cost_points.h"
#include "analysis/predict/weighted_fit.h"

#include <optional>
#include <string>
#include <vector>

// LogGP: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: Incorporating Long Messages
// into the LogP Model", SPAA 1995. A message of m bytes takes
//
//   o + (m-1) G + L + o,
//
// and each of several messages in sequence takes max(g, o) + (m-1) G more. Here a collective among
// n ranks is treated as one message, and o is the time of the host's call that launches it. In
// latency mode (one launch at a time) it is timed on the device, which was kept busy until the call
// had returned (launch/worker/launch_timer.h). That time is L + (m-1) G, without o. Batches show
// max(g, o), and both show G. The host's calls are timed separately (model::Sample::launch_ns).
namespace ncclprobe::analysis::cost_model {

struct LogGp {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::string algorithm; // empty: unknown
  std::string protocol;
  std::uint64_t first_bytes = 0; // of the sizes measured in both modes
  std::uint64_t last_bytes = 0;
  Fit fit; // factors L (ns), max(g, o) (ns), G (ns per byte)
  // o: the shorter time of the host's calls one at a time and in a batch, because a batch that has
  // filled the queue waits in its calls; median over sizes. Absent in runs that did not time them.
  std::optional<double> overhead_ns;

  double latency_ns() const { return fit.factors[0]; }
  double gap_ns() const { return fit.factors[1]; } // gap or overhead, whichever is longer
  double gap_per_byte_ns() const { return fit.factors[2]; }
  // Calls take (nearly) as long as max(g, o): the host sets the pace, and g is at most that.
  // Nothing if o is unknown.
  std::optional<bool> is_bound_by_host() const;
};

// One for each collective, number of ranks and range of sizes that NCCL ran the same algorithm, if
// two sizes or more were measured in both modes. Both sorted as by cost_points(); points without a
// known algorithm come from with_nearest_algorithms().
std::vector<LogGp> loggp_models(const std::vector<Point>& batches,
                                const std::vector<Point>& single);

} // namespace ncclprobe::analysis::cost_model
