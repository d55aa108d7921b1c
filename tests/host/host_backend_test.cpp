// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Properties of the CPU backend alone. Here ranks are threads with a backend each; in real runs
// they are processes.

#include "base/clock.h"
#include "host/host_backend.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/local_rendezvous.h"

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <numeric>
#include <unistd.h>

namespace ncclprobe::host {
namespace {

using base::Errc;
using model::Collective;
using model::DataType;
using model::ReduceOp;
using support::error_of;

// The objects of one rank.
struct Rank {
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<backend::Device> device;
  std::unique_ptr<backend::Communicator> communicator;
  std::unique_ptr<backend::Stream> stream;
  std::unique_ptr<backend::Buffer> buffer; // 4 KiB

  double largest(double value) const {
    backend::Communicator* members[] = {communicator.get()};
    return backend->max_over_ranks(members, value);
  }
  void all_reduce(backend::Stream& on, std::uint64_t count = 64) const {
    communicator->enqueue({Collective::all_reduce,
                           {*buffer, 0},
                           {*buffer, 0},
                           count,
                           DataType::i32,
                           ReduceOp::sum,
                           0},
                          on);
  }
  void wait(backend::Stream& on) const {
    auto deadline = base::Deadline::after(std::chrono::seconds(30));
    while (!on.idle())
      if (deadline.expired())
        base::raise(Errc::timed_out, "a stream is still busy after 30 s");
  }
};

// Calls act(rank, its objects) in a thread for each rank; the first exception fails the test.
void in_threads(int ranks, const std::map<std::string, std::string>& environment,
                const std::function<void(int, Rank&)>& act) {
  support::LocalRendezvous rendezvous;
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::future<void>> threads;
  for (int number = 0; number < ranks; ++number)
    threads.push_back(std::async(std::launch::async, [&, number] {
      Rank rank;
      backend::Options options;
      options.environment = environment;
      options.host_of_rank.assign(static_cast<std::size_t>(ranks), 0);
      rank.backend = make_backend(options);
      rank.device = rank.backend->open_device(0);
      rank.stream = rank.device->open_stream(0);
      rank.buffer = rank.device->allocate(4096);
      backend::Member member{number, number, rank.device.get()};
      rank.communicator =
          std::move(rank.backend->connect("world", all, std::span(&member, 1), rendezvous).front());
      act(number, rank);
    }));
  for (auto& thread : threads)
    thread.get();
}

// Of this process.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all_pages = 0;
  std::uint64_t resident_pages = 0;
  file >> all_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_CASE("all ranks learn the largest value") {
  std::vector<double> found(5);

  in_threads(5, {}, [&](int number, Rank& rank) {
    found[static_cast<std::size_t>(number)] = rank.largest(number == 3 ? 9.5 : -number);
    rank.largest(0);
  });

  CHECK(found == std::vector<double>(5, 9.5));
}

TEST_CASE("nobody leaves the barrier before all have come") {
  std::atomic<int> arrived = 0;
  std::atomic<int> early = 0;

  in_threads(4, {}, [&](int, Rank& rank) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      rank.largest(0);
      if (arrived < 4 * round)
        ++early;
      rank.largest(0);
    }
  });

  CHECK(early == 0);
}

TEST_CASE("both algorithms and small chunks give the same sums") {
  for (const char* algorithm : {"auto", "ring", "bcube"})
    in_threads(3, {{"NCCLPROBE_GLOO_ALGORITHM", algorithm}, {"NCCLPROBE_GLOO_CHUNK_BYTES", "1K"}},
               [&](int number, Rank& rank) {
                 model::Pattern pattern =
                     model::pattern_for(1, Collective::all_reduce, DataType::i32, ReduceOp::sum, 3);
                 rank.buffer->fill(0, DataType::i32, pattern, number, 1024);

                 rank.all_reduce(*rank.stream, 1024);
                 rank.wait(*rank.stream);

                 auto expected = model::expectation_for(Collective::all_reduce, ReduceOp::sum, 0,
                                                        1024, number, 3);
                 if (rank.buffer->compare(0, DataType::i32, pattern, expected).wrong != 0)
                   base::raise(Errc::failed, "{}: wrong sum on rank {}", algorithm, number);
                 rank.largest(0);
               });
}

TEST_CASE("a cell's algorithm replaces that of the process until it is restored") {
  in_threads(2, {{"NCCLPROBE_GLOO_ALGORITHM", "bcube"}}, [](int, Rank& rank) {
    auto all_reduce = [&](std::uint64_t count) {
      rank.all_reduce(*rank.stream, count);
      rank.wait(*rank.stream);
    };
    rank.backend->apply({{"algorithm", "ring"}});
    all_reduce(64);
    Error refused = error_of([&] { rank.backend->apply({{"channels", "4"}}); });
    all_reduce(128);
    rank.backend->apply({{"chunk_bytes", "64K"}});
    all_reduce(256);
    rank.backend->apply({});
    all_reduce(512);
    rank.largest(0);

    std::vector<std::string> chosen;
    for (const std::string& line : rank.backend->words())
      if (line.starts_with("AllReduce"))
        chosen.push_back(line);
    if (refused.code != Errc::unsupported ||
        chosen != std::vector<std::string>{
                      "AllReduce: 256 Bytes -> Algo ring", "AllReduce: 512 Bytes -> Algo ring",
                      "AllReduce: 1024 Bytes -> Algo bcube", "AllReduce: 2048 Bytes -> Algo bcube"})
      base::raise(Errc::failed, "{}", fmt::join(chosen, "; "));
  });
}

TEST_CASE(
    "a peer that is gone ends a collective at once, with the rank and the call in the error") {
  base::Error error;
  std::int64_t took_ns = 0;

  in_threads(2, {}, [&](int number, Rank& rank) {
    rank.largest(0);
    if (number == 1)
      return; // takes its connections down
    rank.all_reduce(*rank.stream);
    std::int64_t start = base::monotonic_ns();
    error = error_of([&] { rank.wait(*rank.stream); });
    took_ns = base::monotonic_ns() - start;
    CHECK(error_of([&] { rank.communicator->check(); }).code == Errc::peer_ended);
  });

  CHECK(error.code == Errc::peer_ended);
  CHECK_THAT(error.text(), ContainsSubstring("all_reduce of 64 i32 on world, rank 0"));
  CHECK(took_ns < 10'000'000'000);
}

TEST_CASE("a peer that is gone ends the barrier and a receive") {
  base::Error barrier;
  base::Error receive;

  in_threads(2, {}, [&](int number, Rank& rank) {
    rank.largest(0);
    if (number == 1)
      return;
    rank.communicator->receive({*rank.buffer, 0}, 4, DataType::f32, 1, *rank.stream);
    receive = error_of([&] { rank.wait(*rank.stream); });
    barrier = error_of([&] { rank.largest(0); });
  });

  CHECK(receive.code == Errc::peer_ended);
  CHECK_THAT(receive.text(), ContainsSubstring("receive from rank 1"));
  CHECK(barrier.code == Errc::peer_ended);
}

TEST_CASE("a stream can be given up while its collective waits for a peer that never comes") {
  in_threads(2, {}, [&](int number, Rank& rank) {
    rank.largest(0);
    auto second = rank.device->open_stream(0);
    if (number == 0) {
      rank.all_reduce(*rank.stream);
      rank.all_reduce(*second); // opens a lane, which the peer never helps with
      rank.stream.reset();
      second.reset();
    } else {
      error_of([&] { // stays until rank 0 has broken the connections
        rank.communicator->receive({*rank.buffer, 0}, 1, DataType::u8, 0, *rank.stream);
        rank.wait(*rank.stream);
      });
    }
  });
}

TEST_CASE("a failed stream stays failed, and drops what comes after") {
  in_threads(2, {}, [&](int number, Rank& rank) {
    rank.largest(0);
    if (number == 1)
      return;
    rank.all_reduce(*rank.stream);
    error_of([&] { rank.wait(*rank.stream); });
    auto event = rank.device->create_event(backend::EventUse::order);
    auto other = rank.device->open_stream(0);

    rank.stream->record(*event); // still recorded: a stream that waits for it must not hang
    other->wait(*event);
    rank.wait(*other);

    CHECK(error_of([&] { rank.stream->idle(); }).code == Errc::peer_ended);
  });
}

TEST_CASE("sends without a group reach their receive, whatever streams the two sides use") {
  in_threads(2, {}, [&](int number, Rank& rank) {
    auto second = rank.device->open_stream(0);
    std::uint8_t value = 42;
    if (number == 0) {
      rank.buffer->write(0, std::as_bytes(std::span(&value, 1)));
      rank.communicator->send({*rank.buffer, 0}, 1, DataType::u8, 1, *rank.stream);
      rank.wait(*rank.stream);
    } else {
      rank.communicator->receive({*rank.buffer, 7}, 1, DataType::u8, 0, *second);
      rank.wait(*second);
      std::uint8_t got = 0;
      rank.buffer->read(7, std::as_writable_bytes(std::span(&got, 1)));
      if (got != 42)
        base::raise(Errc::failed, "got {}", got);
    }
    rank.largest(0);
  });
}

TEST_CASE("two streams of a communicator run at the same time") {
  in_threads(2, {}, [&](int number, Rank& rank) {
    auto second = rank.device->open_stream(0);
    auto third = rank.device->open_stream(0);
    auto event = rank.device->create_event(backend::EventUse::order);

    // Rank 0's first stream can only continue after its second stream's all_reduce, which was
    // enqueued later: a backend that runs a communicator's work on one thread would hang.
    rank.communicator->enqueue({Collective::broadcast,
                                {*rank.buffer, 0},
                                {*rank.buffer, 0},
                                1,
                                DataType::u8,
                                ReduceOp::sum,
                                0},
                               *second);
    if (number == 0)
      rank.communicator->receive({*rank.buffer, 8}, 1, DataType::u8, 1, *rank.stream);
    rank.all_reduce(*third);
    rank.wait(*third);
    if (number == 1)
      rank.communicator->send({*rank.buffer, 8}, 1, DataType::u8, 0, *rank.stream);
    rank.wait(*rank.stream);
    rank.wait(*second);
    rank.largest(0);
  });
}

TEST_CASE("places outside of a buffer and between elements are refused") {
  in_threads(1, {}, [&](int, Rank& rank) {
    auto enqueue = [&](std::uint64_t offset, std::uint64_t count) {
      return error_of([&] {
        rank.communicator->enqueue({Collective::all_reduce,
                                    {*rank.buffer, offset},
                                    {*rank.buffer, offset},
                                    count,
                                    DataType::f32,
                                    ReduceOp::sum,
                                    0},
                                   *rank.stream);
      });
    };

    CHECK(enqueue(0, 1025).code == Errc::invalid_argument);
    CHECK(enqueue(4096, 1).code == Errc::invalid_argument);
    CHECK(enqueue(2, 1).code == Errc::invalid_argument);
  });
}

TEST_CASE("a buffer larger than the machine is refused as unavailable") {
  auto device = make_backend({})->open_device(0);

  base::Error error = error_of([&] { device->allocate(std::uint64_t{1} << 50); });

  CHECK(error.code == Errc::unavailable);
  CHECK_THAT(error.message, ContainsSubstring("a buffer of 1024 TiB"));
  CHECK_THAT(error.message, ContainsSubstring("remaining memory ("));
}

TEST_CASE("memory of a new buffer is used at once, so that the next one finds less") {
  auto device = make_backend({})->open_device(0);
  constexpr std::uint64_t k_bytes = std::uint64_t{65} << 20; // more than one piece

  auto before = resident_bytes();
  auto buffer = device->allocate(k_bytes);
  auto after = resident_bytes();

  CHECK(after >= before + k_bytes * 9 / 10);
}

TEST_CASE("a message to oneself needs its counterpart in the group") {
  in_threads(1, {}, [&](int, Rank& rank) {
    base::Error send = error_of([&] {
      rank.communicator->send({*rank.buffer, 0}, 1, DataType::u8, 0, *rank.stream);
    });
    base::Error receive = error_of([&] {
      rank.communicator->receive({*rank.buffer, 0}, 1, DataType::u8, 0, *rank.stream);
    });

    CHECK(send.code == Errc::invalid_argument);
    CHECK(receive.code == Errc::invalid_argument);
  });
}

TEST_CASE("a setting that is not legal stops the backend") {
  backend::Options options;
  options.environment["NCCLPROBE_GLOO_ALGORITHM"] = "magic";

  CHECK(error_of([&] { make_backend(options); }).code == Errc::invalid_argument);
}

TEST_CASE("the inventory names Gloo, its version and its file") {
  model::HostInventory host;

  describe(host);

  const model::Library* gloo = host.library("gloo");
  REQUIRE(gloo != nullptr);
  CHECK_THAT(gloo->version, ContainsSubstring("."));
  CHECK_THAT(gloo->path, ContainsSubstring("gloo"));
}

} // namespace
} // namespace ncclprobe::host
