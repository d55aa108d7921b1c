// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "backend/synthetic/cost_model.h"
#include "backend/synthetic/peer_clocks.h"
#include "backend/synthetic/synthetic_backend.h"
#include "support/catch.h"
#include "support/error_of.h"
#include "support/local_rendezvous.h"
#include "support/scratch_folder.h"

#include <filesystem>
#include <thread>
#include <vector>

namespace ncclprobe::backend {
namespace {

using base::Errc;
using model::Collective;
using model::DataType;
using model::ReduceOp;
using support::error_of;

constexpr std::uint64_t k_mib_of_f32 = 262'144;

SyntheticSettings settings_with(std::int64_t alpha_ns, std::int64_t bytes_per_us) {
  SyntheticSettings settings;
  settings.alpha_ns = alpha_ns;
  settings.bytes_per_us = bytes_per_us;
  return settings;
}

// Of 1 MiB.
void all_reduce(Communicator& world, Buffer& buffer, Stream& stream) {
  world.enqueue({Collective::all_reduce,
                 {buffer, 0},
                 {buffer, 0},
                 k_mib_of_f32,
                 DataType::f32,
                 ReduceOp::sum,
                 0},
                stream);
}

// Elapsed virtual time of `calls` all_reduces of 1 MiB on two ranks.
std::vector<std::int64_t> measure(const Options& options, int calls) {
  auto backend = make_synthetic_backend(options);
  auto device = backend->open_device(0);
  auto stream = device->open_stream(0);
  auto buffer = device->allocate(4 * k_mib_of_f32);
  support::LocalRendezvous rendezvous;
  Member member{0, 0, device.get()};
  auto world = backend->connect("world", {0, 1}, std::span(&member, 1), rendezvous);
  std::vector<std::int64_t> times;
  for (int i = 0; i < calls; ++i) {
    std::int64_t start = backend->now_ns();
    all_reduce(*world.front(), *buffer, *stream);
    if (!stream->idle())
      break;
    times.push_back(backend->now_ns() - start);
  }
  return times;
}

// A traced rank of two, in a thread that acts as a process: when the barrier and then the
// collective were over on its clock.
std::pair<std::int64_t, std::int64_t> traced_rank(int rank, std::uint64_t late_ns,
                                                  Rendezvous& rendezvous,
                                                  const std::filesystem::path& path) {
  auto backend = make_synthetic_backend({});
  trace::SpoolWriter spool;
  if (!spool.open(path))
    return {};
  auto tracer = backend->start_trace({model::TraceLevel::kernels, &spool, {{0, rank}}});
  auto device = backend->open_device(0);
  auto stream = device->open_stream(0);
  auto buffer = device->allocate(4 * k_mib_of_f32);
  Member member{rank, rank, device.get()};
  auto world = backend->connect("world", {0, 1}, std::span(&member, 1), rendezvous);
  Communicator* own = world.front().get();
  stream->spin(late_ns);
  stream->idle();
  backend->max_over_ranks(std::span(&own, 1), 0);
  std::int64_t met_ns = backend->now_ns();
  stream->spin(late_ns);
  all_reduce(*own, *buffer, *stream);
  stream->idle();
  return {met_ns, backend->now_ns()};
}

TEST_CASE("traced ranks meet at one time, and a collective ends after its last rank has come") {
  support::ScratchFolder folder;
  support::LocalRendezvous rendezvous;
  std::pair<std::int64_t, std::int64_t> early;
  std::thread other([&] { early = traced_rank(1, 1'000, rendezvous, folder / "1.spool"); });

  auto late = traced_rank(0, 1'000'000, rendezvous, folder / "0.spool");

  other.join();
  CHECK(late.first == 1'000'000);
  CHECK(early.first == late.first);
  CHECK(late.second > 2'000'000);
  CHECK(early.second == late.second);
}

TEST_CASE("of traced ranks a message arrives after it was sent, and its number is its pair's") {
  support::LocalRendezvous rendezvous;
  std::vector<Member> members{{0, 0, nullptr}, {1, 1, nullptr}};
  std::shared_ptr<PeerClocks> sender;
  std::thread other([&] {
    sender = PeerClocks::connect("world", {0, 1}, std::span(members).subspan(1), rendezvous);
    sender->tell_begin(1, 0, 0, 500);
    sender->tell_begin(1, 0, 1, 700);
  });
  auto receiver = PeerClocks::connect("world", {0, 1}, std::span(members).first(1), rendezvous);

  CHECK(receiver->sent_ns(1, 0, 1) == 700);
  CHECK(receiver->sent_ns(1, 0, 0) == 500);

  other.join();
  for (std::uint64_t number = 2; number < 300; ++number)
    sender->tell_begin(1, 0, number, 1'000);
  CHECK(receiver->sent_ns(1, 0, 1) == 0); // forgotten
}

TEST_CASE("costs follow the formulas of the rings") {
  SyntheticSettings settings = settings_with(1000, 10'000); // 1 us, 10 bytes per ns
  auto cost = [&](Collective collective, int ranks) {
    return synthetic_cost_ns(settings, collective, 1000, DataType::f32, ranks) -
           k_synthetic_launch_ns;
  };

  CHECK(cost(Collective::all_reduce, 4) == 6 * 1000 + 600); // 2 * 3 / 4 * 4000 bytes
  CHECK(cost(Collective::all_gather, 4) == 3 * 1000 + 1200);
  CHECK(cost(Collective::reduce_scatter, 4) == 3 * 1000 + 1200);
  CHECK(cost(Collective::all_to_all, 4) == 3 * 1000 + 1200);
  CHECK(cost(Collective::gather, 4) == 3 * 1000 + 1200);
  CHECK(cost(Collective::scatter, 4) == 3 * 1000 + 1200);
  CHECK(cost(Collective::broadcast, 4) == 3 * 1000 + 400);
  CHECK(cost(Collective::reduce, 4) == 3 * 1000 + 400);
  CHECK(cost(Collective::send_recv, 4) == 1000 + 400);
  CHECK(cost(Collective::all_reduce, 1) == 0);
}

TEST_CASE("costs do not overflow at the largest messages") {
  SyntheticSettings settings = settings_with(0, 1000);

  CHECK(synthetic_cost_ns(settings, Collective::all_gather, std::uint64_t{1} << 33, DataType::f64,
                          65) == k_synthetic_launch_ns + (std::int64_t{1} << 42));
}

TEST_CASE("noise stays in its bounds, has no drift, and differs from call to call") {
  SyntheticSettings settings;
  Options options;
  std::int64_t sum = 0;
  std::int64_t least = 2'000'000;
  std::int64_t most = 0;
  for (std::uint64_t call = 0; call < 10'000; ++call) {
    std::int64_t noisy = with_noise(1'000'000, settings, options, call);
    sum += noisy;
    least = std::min(least, noisy);
    most = std::max(most, noisy);
  }

  CHECK(least >= 987'500);
  CHECK(most <= 1'012'500);
  CHECK(most - least > 19'000);
  CHECK(std::abs(sum / 10'000 - 1'000'000) < 3'000);
}

TEST_CASE("the same options give the same times, other trials and replicates others") {
  Options options;
  options.seed = 12;
  Options replicate = options;
  replicate.replicate = 1;
  Options trial = options;
  trial.trial = 1;

  CHECK(measure(options, 5) == measure(options, 5));
  CHECK(measure(options, 5) != measure(replicate, 5));
  CHECK(measure(options, 5) != measure(trial, 5));
  CHECK(measure(replicate, 5) != measure(trial, 5));
}

TEST_CASE("these times never change, on any machine") {
  Options options;
  options.seed = 12;

  CHECK(measure(options, 3) == std::vector<std::int64_t>{22425, 22538, 22349});
}

TEST_CASE("process settings change the times") {
  Options options;
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  Options slow = options;
  slow.environment["NCCLPROBE_SYNTHETIC_ALPHA_NS"] = "7000";
  slow.environment["NCCLPROBE_SYNTHETIC_GB_PER_S"] = "12.5";

  CHECK(measure(options, 1).front() == 2000 + 10'000 + 1'048'576 / 100);
  CHECK(measure(slow, 1).front() == 2000 + 14'000 + 1'048'576 * 10 / 125);
}

TEST_CASE("numbers that are none are refused by name") {
  for (const auto& [name, text] :
       std::map<std::string, std::string>{{"NCCLPROBE_SYNTHETIC_ALPHA_NS", "fast"},
                                          {"NCCLPROBE_SYNTHETIC_NOISE_PPM", "-1"},
                                          {"NCCLPROBE_SYNTHETIC_FAIL", "perhaps"}}) {
    base::Error error = error_of([&] { SyntheticSettings::parse({{name, text}}); });
    CHECK(error.code == Errc::invalid_argument);
    CHECK_THAT(error.text(), ContainsSubstring(name));
  }
  for (const char* text : {"", "0", "0.0", ".5", "5.", "1.2345", "1e3", "-3"}) {
    INFO(text);
    CHECK(error_of([&] {
            SyntheticSettings::parse({{"NCCLPROBE_SYNTHETIC_GB_PER_S", text}});
          }).code == Errc::invalid_argument);
  }
}

TEST_CASE("failures can be planted") {
  auto outcome = [](const char* how) {
    Options options;
    options.environment["NCCLPROBE_SYNTHETIC_FAIL"] = how;
    return error_of([&] { measure(options, 1); }).code;
  };
  Options hang;
  hang.environment["NCCLPROBE_SYNTHETIC_FAIL"] = "hang";

  CHECK(outcome("start") == Errc::failed);
  CHECK(outcome("error") == Errc::failed);
  CHECK(outcome("unsupported") == Errc::unsupported);
  CHECK(outcome("none") == Errc::timed_out); // nothing was thrown
  CHECK(measure(hang, 1).empty());
}

TEST_CASE("back to back launches take as long as their sum") {
  Options options;
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  std::int64_t each = measure(options, 1).front();
  auto backend = make_synthetic_backend(options);
  auto device = backend->open_device(0);
  auto stream = device->open_stream(0);
  support::LocalRendezvous rendezvous;
  Member member{0, 0, device.get()};
  auto world = backend->connect("world", {0, 1}, std::span(&member, 1), rendezvous);
  auto buffer = device->allocate(0); // no memory is needed

  for (int i = 0; i < 20; ++i)
    all_reduce(*world.front(), *buffer, *stream);
  std::int64_t before = backend->now_ns();
  stream->idle();

  CHECK(before == 0);
  CHECK(backend->now_ns() == 20 * each);
}

TEST_CASE("copies from the host and communication slow each other down as far as they meet") {
  Options options;
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  options.environment["NCCLPROBE_SYNTHETIC_COPY_PPM"] = "500000"; // half as long again
  auto backend = make_synthetic_backend(options);
  auto device = backend->open_device(0);
  auto copying = device->open_stream(0);
  auto communicating = device->open_stream(0);
  auto host = device->allocate_on_host(0, model::Memory::pinned_host);
  auto buffer = device->allocate(0);
  support::LocalRendezvous rendezvous;
  Member member{0, 0, device.get()};
  auto world = backend->connect("world", {0, 1}, std::span(&member, 1), rendezvous);
  auto time = [&](auto first, auto second) {
    std::int64_t start_ns = backend->now_ns();
    first();
    second();
    communicating->idle();
    std::int64_t communication_ns = backend->now_ns() - start_ns;
    copying->idle();
    return std::pair(communication_ns, backend->now_ns() - start_ns);
  };
  auto copy = [&] { copying->copy({{*host, 0}, {*buffer, 0}, 100'000}); };
  auto communicate = [&] {
    world.front()->send({*buffer, 0}, 3'000'000, DataType::u8, 1, *communicating);
  };
  constexpr std::int64_t copy_ns = 2000 + 5000 + 8000, communication_ns = 2000 + 5000 + 30'000;

  // The whole copy, then the rest of the message undisturbed.
  CHECK(time(copy, communicate).first == communication_ns + copy_ns / 3);
  CHECK(time(communicate, copy) ==
        std::pair<std::int64_t, std::int64_t>(communication_ns, communication_ns));
  copying->copy({{*host, 0}, {*buffer, 0}, 100'000});
  communicate();
  std::int64_t start_ns = backend->now_ns();
  copying->idle();
  CHECK(backend->now_ns() - start_ns == copy_ns); // the first one
}

TEST_CASE("a group of a send and a receive takes as long as one of them") {
  Options options;
  options.environment["NCCLPROBE_SYNTHETIC_NOISE_PPM"] = "0";
  auto backend = make_synthetic_backend(options);
  auto device = backend->open_device(0);
  auto stream = device->open_stream(0);
  auto buffer = device->allocate(0);
  support::LocalRendezvous rendezvous;
  Member member{0, 0, device.get()};
  auto world = backend->connect("world", {0, 1}, std::span(&member, 1), rendezvous);

  backend->group_begin();
  world.front()->send({*buffer, 0}, 1'000'000, DataType::u8, 1, *stream);
  world.front()->receive({*buffer, 0}, 1'000'000, DataType::u8, 1, *stream);
  backend->group_end();
  stream->idle();

  CHECK(backend->now_ns() == 2000 + 5000 + 10'000);
}

TEST_CASE("a device's memory is what its process, its communicators and its buffers take") {
  auto backend = make_synthetic_backend({});
  constexpr std::uint64_t k_mib = 1 << 20;

  CHECK(backend->memory_used(3) == 0);
  auto device = backend->open_device(3);
  CHECK(backend->memory_used(3) == 512 * k_mib);
  CHECK(backend->memory_used(0) == 0);
  auto buffer = device->allocate(5 * k_mib);
  auto on_host = device->allocate_on_host(7 * k_mib, model::Memory::pinned_host);
  CHECK(backend->memory_used(3) == 517 * k_mib);
  buffer.reset();
  CHECK(backend->memory_used(3) == 512 * k_mib);
}

TEST_CASE("the synthetic backend says that it moves no data") {
  auto backend = make_synthetic_backend({});
  auto buffer = backend->open_device(0)->allocate(std::uint64_t{1} << 45);

  CHECK(backend->name() == "synthetic");
  CHECK_FALSE(backend->moves_data());
  CHECK(error_of([&] { buffer->compare(0, DataType::f32, {}, {}); }).code == Errc::unsupported);
}

} // namespace
} // namespace ncclprobe::backend
