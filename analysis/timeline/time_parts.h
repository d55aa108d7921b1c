// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/timeline/activities.h"
#include "base/fields.h"

#include <cstdint>
#include <vector>

namespace ncclprobe::analysis::timeline {

// How a section of one rank's time was spent. Communication C, computation K, and the part of C in
// which all running communication waits for another rank: sets of moments.
struct TimeParts {
  std::int64_t length_ns = 0;
  std::int64_t communication_ns = 0; // |C|
  std::int64_t hidden_ns = 0;        // |C and K|
  // These add up to length_ns.
  std::int64_t compute_ns = 0;          // |K|
  std::int64_t exposed_wait_ns = 0;     // C without K, waiting
  std::int64_t exposed_transfer_ns = 0; // C without K, the rest
  std::int64_t memory_ns = 0;           // copies, without C and K
  std::int64_t helper_ns = 0;           // ncclprobe's own, without all of these
  std::int64_t idle_ns = 0;

  std::int64_t exposed_ns() const { return exposed_wait_ns + exposed_transfer_ns; }
  void add(const TimeParts& other);
  bool operator==(const TimeParts&) const = default;
};
NCCLPROBE_FIELDS(TimeParts, length_ns, communication_ns, hidden_ns, compute_ns, exposed_wait_ns,
                 exposed_transfer_ns, memory_ns, helper_ns, idle_ns)

// When a rank was busy, by kind. Uses DeviceActivity::ready_ns.
struct BusySets {
  Spans compute, communication, memory, helper;
  Spans transfer; // communication that does not wait
};
BusySets busy_sets(const Activities& activities);

// One for each window.
std::vector<TimeParts> parts_of(const BusySets& busy, const Spans& windows);

// Communication of one stream within the windows.
struct StreamParts {
  std::uint16_t stream = 0;
  std::uint64_t kernels = 0; // communication that begins in a window
  std::int64_t communication_ns = 0;
  std::int64_t hidden_ns = 0; // after computation on any stream
};
std::vector<StreamParts> streams_of(const Activities& activities, const Spans& compute,
                                    const Spans& windows);

} // namespace ncclprobe::analysis::timeline
