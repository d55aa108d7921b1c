// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/clock_envelope.h"

#include "trace/ledger_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace ncclprobe::launch {

ClockReading envelope_of(std::span<const ClockPing> pings) {
  std::int64_t low = INT64_MIN, high = INT64_MAX, shortest = INT64_MAX;
  for (const ClockPing& ping : pings) {
    low = std::max(low, ping.answered_ns - ping.heard_ns);
    high = std::min(high, ping.answered_ns - ping.sent_ns);
    shortest = std::min(shortest, ping.heard_ns - ping.sent_ns);
  }
  ClockReading reading;
  reading.at_ns = std::midpoint(pings.front().sent_ns, pings.back().heard_ns);
  reading.offset_ns = std::midpoint(low, high);
  reading.error_ns = (std::abs(high - low) + 1) / 2;
  reading.round_trip_ns = shortest;
  return reading;
}

ClockReading compose(const ClockReading& own, const ClockReading& other, std::int64_t age_ns) {
  ClockReading sum = own;
  sum.offset_ns += other.offset_ns;
  sum.error_ns += other.error_ns;
  if (other.error_ns > 0) // the reference itself does not drift
    sum.error_ns +=
        std::llround(std::ceil(static_cast<double>(std::abs(age_ns)) * trace::k_most_drift));
  return sum;
}

} // namespace ncclprobe::launch
