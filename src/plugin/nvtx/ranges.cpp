// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/nvtx/ranges.h"

#include "plugin/host_clock.h"
#include "plugin/profiler/tracing.h"

#include <algorithm>
#include <array>
#include <sys/syscall.h>
#include <unistd.h>

namespace ncclprobe::plugin {
namespace {

constinit RangeState ranges;

struct PushedRange {
  std::uint64_t start_ns = 0; // 0: it is not recorded
  std::uint16_t name = RangeNames::k_none, domain = RangeNames::k_none;
};

struct ThreadRanges {
  std::array<PushedRange, k_range_stack> pushed;
  std::uint32_t depth = 0;  // of `pushed`
  std::uint32_t deeper = 0; // ranges beyond it
  std::uint32_t thread = 0; // 0: not asked yet
};
constinit thread_local ThreadRanges of_thread;

// Asking costs a system call.
std::uint32_t own_thread() {
  if (of_thread.thread == 0)
    of_thread.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return of_thread.thread;
}

} // namespace

RangeState& range_state() {
  return ranges;
}

bool takes_range() {
  return of_thread.depth < k_range_levels && is_tracing();
}

void push_range(std::uint16_t domain, std::optional<std::uint16_t> name) {
  if (of_thread.depth == of_thread.pushed.size()) {
    ++of_thread.deeper;
    return;
  }
  of_thread.pushed[of_thread.depth++] =
      name ? PushedRange{host_now(), *name, domain} : PushedRange{0, RangeNames::k_none, domain};
}

void pop_range(std::uint16_t domain) {
  if (of_thread.deeper > 0) {
    --of_thread.deeper;
    return;
  }
  std::uint32_t level = of_thread.depth;
  while (level > 0 && of_thread.pushed[level - 1].domain != domain)
    --level;
  if (level == 0)
    return; // it was pushed before the library was there
  --level;
  const PushedRange range = of_thread.pushed[level];
  std::copy(of_thread.pushed.begin() + level + 1, of_thread.pushed.begin() + of_thread.depth,
            of_thread.pushed.begin() + level);
  --of_thread.depth;
  if (range.start_ns != 0 && is_tracing())
    ranges.ended.push({range.start_ns, host_now(), own_thread(), range.name, domain,
                       static_cast<std::uint8_t>(level), trace::RangeKind::nested, 0});
}

std::uint64_t start_range(std::uint16_t domain, std::uint16_t name) {
  const std::uint32_t number = ranges.open.take();
  if (number == ranges.open.k_none)
    return 0;
  RangeEnded& range = ranges.open.at(number);
  range.start_ns = host_now();
  range.name = name;
  range.domain = domain;
  range.kind = trace::RangeKind::free;
  range.serial = ranges.started.fetch_add(1, std::memory_order_relaxed);
  return std::uint64_t{range.serial} << 32 | (number + 1);
}

void end_range(std::uint64_t range) {
  const std::uint32_t number = static_cast<std::uint32_t>(range) - 1;
  if (range == 0 || !ranges.open.is_open(number))
    return;
  RangeEnded ended = ranges.open.at(number);
  // A program may end a range twice.
  if (ended.serial != range >> 32 || !ranges.open.give_back(number) || !is_tracing())
    return;
  ended.end_ns = host_now();
  ended.thread = own_thread();
  ranges.ended.push(ended);
}

} // namespace ncclprobe::plugin
