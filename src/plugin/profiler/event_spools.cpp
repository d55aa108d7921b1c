// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/profiler/event_spools.h"

#include <algorithm>
#include <unistd.h>

namespace ncclprobe::plugin {
namespace {

// For communicators, provenance and losses.
constexpr std::uint64_t k_reserve_bytes = 64 << 10;
// Rows are written some time after their events.
constexpr std::uint64_t k_latest_write_ns = 250'000'000;

} // namespace

bool EventSpools::make_room(std::size_t bytes, std::uint64_t at_ns) {
  const std::uint64_t most =
      limits_.most_bytes == 0
          ? UINT64_MAX
          : limits_.most_bytes -
                std::min(limits_.most_bytes, whole_.bytes_written() + k_reserve_bytes);
  if (limits_.last_ns == 0)
    return bytes <= most;
  // Two complete spools and the current one hold at least two periods.
  const std::uint64_t period = at_ns / (limits_.last_ns / (k_spools - 1) + k_latest_write_ns);
  const std::uint64_t share = most / k_spools;
  if (bytes > share)
    return false;
  if (turns_.empty() || period != period_ || current().bytes_written() + bytes > share) {
    begin_spool();
    period_ = period;
  }
  return !turns_.empty();
}

void EventSpools::begin_spool() {
  Turn next{stem_ + "-" + std::to_string(begun_ + 1) + ".spool",
            std::make_unique<trace::SpoolWriter>()};
  if (!next.spool->open(next.path))
    return; // the current one goes on
  ++begun_;
  if (!turns_.empty())
    turns_.back().spool.reset();
  turns_.push_back(std::move(next));
  if (turns_.size() > k_spools) {
    unlink(turns_.front().path.c_str());
    turns_.pop_front();
  }
}

} // namespace ncclprobe::plugin
