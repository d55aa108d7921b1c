// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/job/step_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

// Sums over delays, from which the tables of late_causes.h are made.
namespace ncclprobe::analysis::job {

// An operation whose gap or transfer is longer than usual.
struct ExcessPlace {
  std::uint32_t run = 0, rank = 0, operation = 0;
  PathCause cause = PathCause::computing;
  auto key() const { return std::tuple(run, rank, operation, cause); }
};

struct SumOfBlocks {
  double all = 0;
  std::vector<double> blocks;
  void add(std::size_t block, std::size_t of, double value) {
    blocks.resize(of);
    blocks[block] += value;
    all += value;
  }
  void add(const SumOfBlocks& other) {
    blocks.resize(std::max(blocks.size(), other.blocks.size()));
    for (std::size_t i = 0; i < other.blocks.size(); ++i)
      blocks[i] += other.blocks[i];
    all += other.all;
  }
};

// How much of a delay lies in each phase of a host; -1: in none.
struct SumOfPhases {
  std::map<int, double> ns;
  void add(const SumOfPhases& other) {
    for (const auto& [phase, of_phase] : other.ns)
      ns[phase] += of_phase;
  }
  // The phase with at least half of it; -1: none.
  int main() const {
    double all = 0;
    for (const auto& [phase, of_phase] : ns)
      all += of_phase;
    for (const auto& [phase, of_phase] : ns)
      if (2 * of_phase >= all)
        return phase;
    return -1;
  }
};

struct HoldUpSum {
  SumOfBlocks sum;
  std::map<std::uint32_t, double> by_step;
  SumOfPhases phases;
  std::vector<ExcessPlace> places;
  void add(const HoldUpSum& other) {
    sum.add(other.sum);
    phases.add(other.phases);
    for (const auto& [step, excess_ns] : other.by_step)
      by_step[step] += excess_ns;
    places.insert(places.end(), other.places.begin(), other.places.end());
  }
};

struct CauseSum {
  std::uint64_t times = 0;
  double delay_ns = 0;
  SumOfPhases phases;
  std::vector<ExcessPlace> places;
  void add(const CauseSum& other) {
    times += other.times;
    delay_ns += other.delay_ns;
    phases.add(other.phases);
    places.insert(places.end(), other.places.begin(), other.places.end());
  }
};

} // namespace ncclprobe::analysis::job
