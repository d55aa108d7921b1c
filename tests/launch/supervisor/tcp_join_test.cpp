// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/tcp_frames.h"
#include "launch/supervisor/tcp_join.h"
#include "launch/supervisor/tree.h"
#include "support/catch.h"
#include "wire/packing.h"

#include <algorithm>
#include <cstdio>
#include <future>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace ncclprobe;
using namespace std::chrono_literals;

namespace {

using Connections = std::map<int, launch::FrameSocket>;

launch::EnvJob job_on_loopback(int size, const std::string& secret) {
  launch::EnvJob job;
  job.size = size;
  job.address = "127.0.0.1";
  job.port = test_launch::listen_on_loopback().port; // free again
  job.secret = secret;
  return job;
}

auto start(launch::EnvJob job, int rank) {
  job.rank = rank;
  return std::async(std::launch::async, [job] { return launch::join_job(job); });
}

// A process that does what the test says, at rank 0's port of a job without a secret.
class Stranger {
public:
  explicit Stranger(const launch::EnvJob& job) : job_(job), socket_(connect(job.port)) {}

  void say_hello(const std::string& protocol, int rank) {
    const auto challenge = wire::unpack<launch::Challenge>(hear());
    socket_.enqueue({launch::FrameKind::hello, rank, 0,
                     wire::pack(launch::Hello{protocol, job_.id, challenge.nonce, "", rank,
                                              job_.size, "", 0})});
    REQUIRE(socket_.flush());
  }
  std::string hear() {
    for (int i = 0; i < 2000; ++i) {
      const bool open = socket_.receive();
      if (auto frame = socket_.next())
        return frame->bytes;
      REQUIRE(open);
      std::this_thread::sleep_for(5ms);
    }
    FAIL("nothing comes");
    return "";
  }

private:
  static base::Fd connect(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    for (int i = 0; i < 2000; ++i) {
      base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return socket;
      std::this_thread::sleep_for(5ms); // rank 0 does not listen yet
    }
    FAIL("no connection to rank 0");
    return {};
  }

  launch::EnvJob job_;
  launch::FrameSocket socket_;
};

// All ranks of a job, in threads of this process, over the loopback.
std::vector<Result<Connections>> join_all(int size) {
  launch::EnvJob job = job_on_loopback(size, "blue");
  std::vector<std::optional<Result<Connections>>> joined(static_cast<std::size_t>(size));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    job.rank = rank;
    ranks.emplace_back(
        [job, &out = joined[static_cast<std::size_t>(rank)]] { out = launch::join_job(job); });
  }
  for (std::thread& rank : ranks)
    rank.join();
  std::vector<Result<Connections>> all;
  for (auto& one : joined)
    all.push_back(std::move(*one));
  return all;
}

// What went over rank 0's connections, without what TCP sent again. A frame is a segment of its
// own.
struct Cost {
  std::int64_t segments = 0, bytes = 0;
  std::int64_t least_segments = INT64_MAX, most_bytes = 0; // of a rank
};
Cost cost_at(const Connections& rank_0) {
  Cost cost;
  for (const auto& [rank, socket] : rank_0) {
    tcp_info info{};
    socklen_t size = sizeof info;
    REQUIRE(::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
    const auto bytes = static_cast<std::int64_t>(info.tcpi_bytes_sent - info.tcpi_bytes_retrans +
                                                 info.tcpi_bytes_received);
    const std::int64_t segments =
        info.tcpi_data_segs_out - info.tcpi_total_retrans + info.tcpi_data_segs_in;
    cost.segments += segments;
    cost.bytes += bytes;
    cost.least_segments = std::min(cost.least_segments, segments);
    cost.most_bytes = std::max(cost.most_bytes, bytes);
  }
  return cost;
}

} // namespace

TEST_CASE("each rank is joined to rank 0 and to its neighbours in the tree alone") {
  constexpr int k_size = 90; // three levels below rank 0
  const auto all = join_all(k_size);

  for (int rank = 1; rank < k_size; ++rank) {
    const auto& joined = all[static_cast<std::size_t>(rank)];
    const launch::TreePlace place = launch::place_in_tree(rank, k_size, launch::k_fan_out);
    std::set<int> expected{0, place.parent};
    for (const launch::Branch& child : place.children)
      expected.insert(child.first);
    REQUIRE(joined);
    std::set<int> found;
    for (const auto& [other, socket] : *joined)
      found.insert(other);
    CHECK(found == expected);
  }
  REQUIRE(all[0]);
  CHECK(all[0]->size() == k_size - 1);
}

TEST_CASE("rank 0 exchanges four small messages with each that joins, however many they are") {
  for (int size : {12, 90}) {
    const auto all = join_all(size);
    REQUIRE(all[0]);
    const Cost cost = cost_at(*all[0]);

    CHECK(cost.least_segments == 4); // a busy host may count one that came twice
    CHECK(cost.most_bytes < 320);
  }
}

TEST_CASE(
    "two processes with the same rank: one is refused, and the rank that is missing is named") {
  launch::EnvJob job = job_on_loopback(3, "");
  job.join_patience = 3s;
  auto rank_0 = start(job, 0);
  auto rank_1 = start(job, 1);
  auto another = start(job, 1);

  std::multiset<std::string> messages;
  for (auto* rank : {&rank_0, &rank_1, &another}) {
    const auto joined = rank->get();
    REQUIRE(!joined);
    messages.insert(joined.error().message);
  }

  const std::string place = fmt::format("127.0.0.1:{}", job.port);
  const std::string missing = "rank 2 did not join at " + place +
                              " within 3 s; a process was refused: rank 1 has joined already";
  CHECK(messages == std::multiset<std::string>{missing, missing,
                                               "rank 1 cannot join at " + place +
                                                   ": rank 0 refuses this process: rank 1 has "
                                                   "joined already"});
}

TEST_CASE("a process of another version is refused with the reason") {
  launch::EnvJob job = job_on_loopback(2, "");
  auto rank_0 = start(job, 0);

  Stranger stranger(job);
  stranger.say_hello("ncclprobe supervisors 1", 1);
  const auto welcome = wire::unpack<launch::Welcome>(stranger.hear());

  CHECK(welcome.problem == "it is an ncclprobe of another version");
  const auto rank_1 = start(job, 1).get();
  CHECK(rank_1);
  CHECK(rank_0.get());
}

TEST_CASE("a rank that is lost once all have joined is named by all others") {
  const launch::EnvJob job = job_on_loopback(12, "");
  constexpr int k_lost = 3; // rank 4 is below it
  std::vector<std::future<Result<std::unique_ptr<launch::Fleet>>>> others;
  for (int rank = 0; rank < job.size; ++rank)
    if (rank != k_lost)
      others.push_back(std::async(std::launch::async, [job, rank] {
        launch::EnvJob own = job;
        own.rank = rank;
        return launch::make_tcp_fleet(own);
      }));

  {
    Stranger lost(job);
    lost.say_hello("ncclprobe supervisors 2", k_lost);
    CHECK(wire::unpack<launch::Welcome>(lost.hear()).problem == "");
    CHECK(wire::unpack<launch::Assembled>(lost.hear()).problem == "");
  }

  for (auto& other : others) {
    const auto fleet = other.get();
    REQUIRE(!fleet);
    CHECK(fleet.error().message == "rank 3 ended before the others");
  }
}

// The first columns of the table of joining in docs/several-hosts.md.
TEST_CASE("the cost of joining by the number of ranks", "[.join]") {
  for (int size : {64, 1024, 4096}) {
    const std::int64_t start_ns = base::monotonic_ns();
    const auto all = join_all(size);
    const double seconds = static_cast<double>(base::monotonic_ns() - start_ns) / 1e9;
    REQUIRE(all[0]);
    int linked = 0;
    for (int rank = 1; rank < size; ++rank) {
      const auto& joined = all[static_cast<std::size_t>(rank)];
      const int parent = launch::place_in_tree(rank, size, launch::k_fan_out).parent;
      linked += joined && joined->contains(parent) ? 1 : 0;
    }
    const Cost cost = cost_at(*all[0]);
    std::printf("| %d | %lld | %lld | (%lld at most for a rank, %d with their parents, %.1f s)\n",
                size, static_cast<long long>(cost.segments), static_cast<long long>(cost.bytes),
                static_cast<long long>(cost.most_bytes), linked, seconds);
  }
}
