// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/host_barrier.h"
#include "base/error.h"
#include "support/catch.h"

#include <atomic>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ncclprobe;
using backend::HostBarrier;

namespace {

void nothing() {}

// The rank's results over many rounds, in which each rank has the largest value in turn; false
// after a wrong result.
bool rounds_are_right(HostBarrier& barrier, int rank, int size) {
  for (int round = 0; round < 2000; ++round) {
    double own = rank == round % size ? 1000 + round : rank;
    std::vector<int> me{rank};
    if (barrier.all_reduce_max(me, own, nothing) != 1000 + round)
      return false;
  }
  return true;
}

} // namespace

TEST_CASE("processes of one host hear the largest value of all, round after round") {
  constexpr int k_size = 3;
  auto barrier = HostBarrier::create(k_size);
  std::string invitation = barrier->invitation();
  std::vector<pid_t> children;
  for (int rank = 1; rank < k_size; ++rank) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
      _exit(rounds_are_right(*HostBarrier::open(invitation, k_size), rank, k_size) ? 0 : 1);
    children.push_back(child);
  }

  bool right = rounds_are_right(*barrier, 0, k_size);

  CHECK(right);
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

TEST_CASE("nobody leaves a barrier before all have come, and a process speaks for several ranks") {
  auto first = HostBarrier::create(3);
  auto second = HostBarrier::open(first->invitation(), 3);
  std::atomic<bool> left = false;
  std::thread early([&] {
    std::vector<int> ranks{0, 2};
    CHECK(first->all_reduce_max(ranks, 7, nothing) == 7);
    left = true;
  });
  for (int i = 0; i < 1000; ++i)
    std::this_thread::yield();
  CHECK_FALSE(left);

  std::vector<int> ranks{1};
  double largest = second->all_reduce_max(ranks, 5, nothing);

  early.join();
  CHECK(largest == 7);
}

TEST_CASE("who waits in a barrier looks around, and leaves it by what is thrown there") {
  auto barrier = HostBarrier::create(2);
  std::vector<int> me{0};

  CHECK_THROWS_AS(
      barrier->all_reduce_max(me, 1, [] { throw std::runtime_error("a peer is gone"); }),
      std::runtime_error);
}

TEST_CASE("behind the slots lies what the ranks share, zeroes at first") {
  auto first = HostBarrier::create(2, 16);
  auto second = HostBarrier::open(first->invitation(), 2, 16);
  CHECK(second->extra()[15] == std::byte{0});

  first->extra()[15] = std::byte{7};

  CHECK(second->extra()[15] == std::byte{7});
}

TEST_CASE("memory that is not there or not the ranks' is refused") {
  CHECK_THROWS_AS(HostBarrier::open("/proc/1/fd/none", 2), base::Exception);
  CHECK_THROWS_AS(HostBarrier::open("/proc/self/exe", 2), base::Exception);
  auto barrier = HostBarrier::create(2);
  CHECK_THROWS_AS(HostBarrier::open(barrier->invitation(), 64), base::Exception);
}
