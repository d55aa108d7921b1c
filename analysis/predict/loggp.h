// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/predict/cost_points.h"
#include "analysis/predict/weighted_fit.h"

#include <optional>
#include <string>
#include <vector>

// LogGP: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: Incorporating Long Messages
// into the LogP Model", SPAA 1995. A message of m bytes by itself takes
//
//   o + (m-1) G + L + o,
//
// and of messages one behind the other each takes max(g, o) + (m-1) G more. Here a collective among
// n ranks is taken as one message, and o is the time of the host's call that launches it. Launched
// one at a time (latency mode) it is timed on the device, which was kept busy until the call had
// returned (launch/worker/launch_timer.h): o is not in that time, which is L + (m-1) G. Batches
// show max(g, o), and both G. The host's calls are timed by themselves (model::Sample::launch_ns).
namespace ncclprobe::analysis::cost_model {

struct LogGp {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::string algorithm; // empty: not known
  std::string protocol;
  std::uint64_t first_bytes = 0; // that were measured in both modes
  std::uint64_t last_bytes = 0;
  Fit fit; // factors L (ns), max(g, o) (ns), G (ns per byte)
  // o: of the host's calls one at a time and in a batch the shorter, as a batch that has filled
  // the queue waits in its calls; median over sizes. Absent in runs that did not time them.
  std::optional<double> overhead_ns;

  double latency_ns() const { return fit.factors[0]; }
  double gap_ns() const { return fit.factors[1]; } // or overhead, whichever is longer
  double gap_per_byte_ns() const { return fit.factors[2]; }
  // Calls take (nearly) as long as max(g, o): the host sets the pace, and g is no longer than that.
  // Nothing where o is not known.
  std::optional<bool> is_bound_by_host() const;
};

// One for each collective, number of ranks and run of sizes that NCCL carried out alike, if two
// sizes or more were measured in batches and by themselves. Both sorted as cost_points() does; of
// those without a known algorithm, that of with_nearest_algorithms().
std::vector<LogGp> loggp_models(const std::vector<Point>& batches,
                                const std::vector<Point>& single);

} // namespace ncclprobe::analysis::cost_model
