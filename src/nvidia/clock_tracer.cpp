// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/clock_tracer.h"

#include "base/clock.h"

namespace ncclprobe::nvidia {
namespace {

// Interval of the clock readings. A reading takes a millisecond, so not after every small cell.
constexpr std::int64_t k_between_readings_ns = 1'000'000'000;

} // namespace

void ClockTracer::flush() {
  if (base::monotonic_ns() - last_reading_ns_ >= k_between_readings_ns)
    read_clocks();
}

void ClockTracer::finish() {
  read_clocks();
}

void ClockTracer::read_clocks() {
  for (const GpuClocks::Reading& reading : clocks_->read_all()) {
    auto rank = request_.rank_of_device.find(reading.gpu);
    if (rank != request_.rank_of_device.end())
      request_.spool->append(rank->second, reading.row);
  }
  last_reading_ns_ = base::monotonic_ns();
}

} // namespace ncclprobe::nvidia
