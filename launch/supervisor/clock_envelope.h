// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace ncclprobe::launch {

// Two clocks at one moment: reference = own + offset, to within the error.
struct ClockReading {
  std::int64_t at_ns = 0; // on the own clock
  std::int64_t offset_ns = 0;
  std::int64_t error_ns = 0;
  std::int64_t round_trip_ns = 0; // the shortest
};

// One question and its answer: sent at, answered at (on the other's clock), heard at.
struct ClockPing {
  std::int64_t sent_ns = 0;
  std::int64_t answered_ns = 0;
  std::int64_t heard_ns = 0;
};

// The answer was given between the two own times. So each ping bounds the offset from both sides,
// and all pings together bound it more closely (SKaMPI's envelope). The true offset is within the
// error, even if the clocks drifted apart during the pings. If the bounds exclude each other, as
// when a clock was set, the error is the gap between them. `pings` is not empty.
ClockReading envelope_of(std::span<const ClockPing> pings);

// `own` is a reading against a clock, `other` that clock's reading against the reference, `age_ns`
// ago. Returns the reading of own's clock against the reference. Errors add up, and so does the
// drift that is possible in that time.
ClockReading compose(const ClockReading& own, const ClockReading& other, std::int64_t age_ns);

} // namespace ncclprobe::launch
