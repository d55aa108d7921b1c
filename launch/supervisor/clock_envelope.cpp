// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/clock_envelope.h"

#include "trace/ledger_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace ncclprobe::launch {

ClockReading envelope_of(std::span<const ClockPing> pings) {
  ClockReading reading;
  reading.at_ns = std::midpoint(pings.front().sent_ns, pings.back().heard_ns);
  const std::int64_t first_ns = pings.front().answered_ns - pings.front().sent_ns;
  double low = -INFINITY, high = INFINITY; // bounds, relative to the first reading
  std::int64_t shortest = INT64_MAX;
  for (const ClockPing& ping : pings) {
    // Since then, or until then, the clocks may have drifted.
    const auto away_ns = static_cast<double>(
        std::max(std::abs(ping.sent_ns - reading.at_ns), std::abs(ping.heard_ns - reading.at_ns)));
    const double drift_ns = away_ns * trace::k_most_drift;
    auto beside = [first_ns](std::int64_t ns) { return static_cast<double>(ns - first_ns); };
    low = std::max(low, beside(ping.answered_ns - ping.heard_ns) - drift_ns);
    high = std::min(high, beside(ping.answered_ns - ping.sent_ns) + drift_ns);
    shortest = std::min(shortest, ping.heard_ns - ping.sent_ns);
  }
  const double middle = std::round(low + (high - low) / 2);
  reading.offset_ns = first_ns + static_cast<std::int64_t>(middle);
  reading.error_ns = static_cast<std::int64_t>(
      std::ceil(std::max(std::abs(high - middle), std::abs(middle - low))));
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
