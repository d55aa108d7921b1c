// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_graph.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

// What a rank's host did before it handed an operation over, by its NVTX ranges. It had handed over
// the operation before, so all that follows was launched since then.
namespace ncclprobe::analysis::job {

class HostPhases {
public:
  explicit HostPhases(const StepGraph& graph);

  // By number; a phase's own name is the last of its path.
  const std::vector<timeline::PhasePath>& phases() const { return phases_; }

  // The phase in which the host was longer than usual, by at least half of its lateness; -1: none.
  int of_late_host(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const;
  // The phase in which nearly everything was launched; -1: several, or none.
  int of_launches(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const;
  // Whether at least half of the lateness was loading. Never without ranges that load.
  bool loads_longer(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const;

  double loading_ns(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const;

private:
  // Of one phase, or of all, before one operation.
  struct Piece {
    std::uint32_t operation = 0;
    int phase = 0; // k_all, k_loading, or by number
    std::int64_t ns = 0;
  };
  using Pieces = std::vector<Piece>; // by operation, then phase

  void read(std::uint32_t run, std::uint32_t rank);
  void find_usual();
  // Of one operation: each piece, and how much longer it is than usual.
  struct Excess {
    int phase = 0;
    double ns = 0, excess_ns = 0;
  };
  std::vector<Excess> excesses(std::uint32_t run, std::uint32_t rank,
                               std::uint32_t operation) const;
  int innermost(const std::vector<Excess>& all, double Excess::*part, double least_ns) const;

  const StepGraph& graph_;
  std::vector<timeline::PhasePath> phases_;
  std::vector<std::vector<Pieces>> pieces_;               // by run and rank
  std::map<std::pair<std::uint32_t, int>, double> usual_; // by slot and phase
};

} // namespace ncclprobe::analysis::job
