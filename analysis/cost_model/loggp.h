// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/cost_model/cost_points.h"
#include "analysis/cost_model/weighted_fit.h"

#include <string>
#include <vector>

// LogGP: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: Incorporating Long Messages
// into the LogP Model", SPAA 1995. A message of m bytes by itself takes
//
//   o + (m-1) G + L + o,
//
// and of messages one behind the other each takes max(g, o) + (m-1) G more. Here a collective among
// n ranks is taken as one message. Launched one at a time (latency mode) it shows L + 2o, in
// batches max(g, o), and both show G.
//
// What no run has: how long the host's calls take (o). So L and o are known as the sum alone, and
// max(g, o) cannot be told from g. Neither is made up.
namespace ncclprobe::analysis::cost_model {

struct LogGp {
  model::Collective collective = model::Collective::all_reduce;
  int ranks = 0;
  std::string algorithm; // empty: not known
  std::string protocol;
  std::uint64_t first_bytes = 0; // that were measured in both modes
  std::uint64_t last_bytes = 0;
  Fit fit; // factors L + 2o (ns), max(g, o) (ns), G (ns per byte)

  double latency_and_overheads_ns() const { return fit.factors[0]; }
  double gap_ns() const { return fit.factors[1]; }
  double gap_per_byte_ns() const { return fit.factors[2]; }
};

// One for each collective, number of ranks and run of sizes that NCCL carried out alike, if two
// sizes or more were measured in batches and by themselves. Both sorted as cost_points() does.
std::vector<LogGp> loggp_models(const std::vector<Point>& batches,
                                const std::vector<Point>& single);

} // namespace ncclprobe::analysis::cost_model
