// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Phases of steps, by the program's NVTX ranges: what the host did when. Its kernels may run later.
namespace ncclprobe::analysis::timeline {

struct PhaseName {
  std::string name;
  std::string domain; // of NVTX; empty: the default
  auto operator<=>(const PhaseName&) const = default;
};
using PhasePath = std::vector<PhaseName>; // the phase, after the one that contains it

// Sums over one rank's steps of a cell. A step lasts from the call of its first operation to that
// of the next step; steps without a known end are left out.
struct Phases {
  std::uint64_t steps = 0;
  std::int64_t length_ns = 0;
  std::map<PhasePath, std::int64_t> ns; // in which at least one thread was in the phase
};

// Texts that differ only in their digits, if there are more than k_most_numbered: "iteration 1",
// "iteration 2" and so on are one phase, "iteration #".
class NumberedNames {
public:
  static constexpr std::size_t k_most_numbered = 16;

  explicit NumberedNames(const std::vector<std::string>& texts);
  std::string of(trace::TextId text) const;

private:
  const std::vector<std::string>& texts_;
  std::map<std::string, std::size_t, std::less<>> alike_; // texts, by what they have in common
};

// When the rank's host was in each phase: the outermost two levels of ranges. A range that covers
// more than one whole step is no phase of a step, and does not count as a level.
std::map<PhasePath, Spans> spans_of_phases(const RankTrace& trace, const OperationIndex& operations,
                                           const NumberedNames& names);

// Empty without ranges.
ByCell<Phases> phases_of(const RankTrace& trace, const OperationIndex& operations,
                         const NumberedNames& names);

} // namespace ncclprobe::analysis::timeline
