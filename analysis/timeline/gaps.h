// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"
#include "base/fields.h"

#include <array>
#include <cstdint>

namespace ncclprobe::analysis::timeline {

// Why a stream was idle between two of its activities in one batch. launch_late: the host began to
// launch the second after the first had ended. event: the stream waited for an event later than the
// first's end, which only traces of calls show. other: neither; unknown: its launch was not
// recorded.
enum class GapCause { launch_late, event, other, unknown };
inline constexpr std::size_t k_gap_causes = 4;
const char* name_of(GapCause cause);

struct Gaps {
  struct Sum {
    std::uint64_t count = 0;
    std::int64_t length_ns = 0;
  };
  std::array<Sum, k_gap_causes> causes;
  bool events_traced = false; // otherwise waits for events are among the others
  Sum& of(GapCause cause) { return causes[static_cast<std::size_t>(cause)]; }
  const Sum& of(GapCause cause) const { return causes[static_cast<std::size_t>(cause)]; }
  void add(const Gaps& other);
};
NCCLPROBE_FIELDS(Gaps::Sum, count, length_ns)

// Gaps next to ncclprobe's own kernels do not belong to the job, and are omitted.
ByCell<Gaps> find_gaps(const RankTrace& trace, const Activities& activities,
                       const OperationIndex& operations);

} // namespace ncclprobe::analysis::timeline
