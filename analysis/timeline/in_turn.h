// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <future>

namespace ncclprobe::analysis::timeline {

// Calls take(i, work(i)) for i from 0 to count - 1, in this order, until it returns false. The work
// is done by so many threads beside the caller's. So results do not depend on threads, and at most
// one more than there are threads wait. An exception of work or take ends it.
template <typename Work, typename Take>
void work_in_turn(std::size_t count, std::size_t threads, const Work& work, const Take& take) {
  std::deque<std::future<decltype(work(std::size_t{}))>> begun;
  std::size_t next = 0;
  auto begin_more = [&] {
    for (; next < count && begun.size() < threads; ++next)
      begun.push_back(std::async(std::launch::async, work, next));
  };
  bool goes_on = true;
  for (std::size_t i = 0; i < count && goes_on; ++i) {
    begin_more();
    auto result = begun.front().get();
    begun.pop_front();
    begin_more();
    goes_on = take(i, std::move(result));
  }
}

} // namespace ncclprobe::analysis::timeline
