// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/operation_log.h"
#include "support/catch.h"

#include <pthread.h>
#include <thread>

using ncclprobe::nvidia::OperationLog;

namespace {

std::uint32_t this_thread() {
  return static_cast<std::uint32_t>(pthread_self());
}

} // namespace

TEST_CASE("a time within an operation tells it, one outside of all tells none") {
  OperationLog log;
  log.begin(4, 100);
  log.end(200);
  log.begin(9, 250);
  log.end(300);

  CHECK(log.at(this_thread(), 99) == 0);
  CHECK(log.at(this_thread(), 100) == 4);
  CHECK(log.at(this_thread(), 200) == 4);
  CHECK(log.at(this_thread(), 225) == 0);
  CHECK(log.at(this_thread(), 299) == 9);
  CHECK(log.at(this_thread(), 301) == 0);
  CHECK(log.at(this_thread() + 1, 150) == 0); // what a library's own thread launched
}

TEST_CASE("an operation that is still open is known") {
  OperationLog log;
  log.begin(4, 100);
  log.end(200);
  log.begin(OperationLog::k_captured, 300);

  CHECK(log.at(this_thread(), 150) == 4);
  CHECK(log.at(this_thread(), 250) == 0);
  CHECK(log.at(this_thread(), 350) == OperationLog::k_captured);
}

TEST_CASE("what has long ended is forgotten, and never mistaken for another") {
  OperationLog log(64);
  for (std::uint32_t i = 1; i <= 1'000; ++i) {
    log.begin(i, 10 * i);
    log.end(10 * i + 5);
  }

  for (std::uint32_t i = 1; i <= 1'000; ++i) {
    std::uint32_t told = log.at(this_thread(), 10 * i + 2);
    CHECK((told == i || told == 0));
    if (i > 1'000 - 32)
      CHECK(told == i);
  }
  CHECK(log.at(this_thread(), 10) == 0);
}

TEST_CASE("operations are looked up by another thread while they are enqueued") {
  constexpr std::uint32_t k_all = 200'000;
  OperationLog log(1'024); // written over many times
  std::uint32_t enqueuer = this_thread();
  std::atomic<std::uint32_t> begun{0};
  std::uint64_t wrong = 0;
  std::thread reader([&] {
    for (std::uint32_t latest = 0; latest < k_all;) {
      latest = begun.load(std::memory_order_acquire);
      std::uint32_t told = latest == 0 ? 0 : log.at(enqueuer, 10 * std::uint64_t{latest} + 1);
      if (told != latest && told != 0)
        ++wrong;
    }
  });
  for (std::uint32_t i = 1; i <= k_all; ++i) {
    log.begin(i, 10 * std::uint64_t{i});
    begun.store(i, std::memory_order_release);
    log.end(10 * std::uint64_t{i} + 5);
  }
  reader.join();
  CHECK(wrong == 0);
}
