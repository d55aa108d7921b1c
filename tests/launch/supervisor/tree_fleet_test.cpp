// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "counted_memory.h"
#include "simulated_fleet.h"
#include "trial_lab.h"

#include "launch/supervisor/supervisor.h"
#include "launch/supervisor/tcp_frames.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "wire/packing.h"

#include <cstdio>
#include <tuple>

using namespace ncclprobe;
using namespace ncclprobe::launch;
using test_launch::SimulatedFleet;

namespace {

model::TrialSpec trial_of(const SimulatedFleet& fleet, int cells = 1) {
  return test_launch::make_spec(fleet.size() - 1, cells);
}

// Order, four exchanges in both directions, progress, results, report.
constexpr int k_kinds_of_trial = 1 + 4 * 2 + 3;

struct Cost {
  std::int64_t most_messages = 0;
  double leader_s = 0;
  std::int64_t leader_bytes = 0; // at most
};

// `keep_rows_in`: empty if the record is to have all samples.
Cost cost_of_trial(int ranks, int fan_out, int samples, int cells = 1,
                   const std::filesystem::path& keep_rows_in = {}) {
  SimulatedFleet fleet(ranks + 1, fan_out, {samples, cells});
  Supervisor supervisor(fleet.leader(), fleet.layout(), test_launch::make_options("good", {}));
  supervisor.keep_rows_in(keep_rows_in);
  const model::TrialSpec spec = trial_of(fleet, cells);
  const std::int64_t since_ns = test_launch::cpu_time_ns();
  test_launch::reset_counted_bytes();
  const test_launch::Counted counted;

  const model::TrialRecord record = supervisor.run(spec);

  const std::int64_t all_ns = test_launch::cpu_time_ns() - since_ns;
  Cost cost{fleet.most_messages(), static_cast<double>(all_ns - fleet.followers_ns()) / 1e9};
  CHECK(record.outcome.ok());
  CHECK(record.outcome.reason == "");
  CHECK(static_cast<int>(record.workers.size()) == ranks);
  std::vector<std::int64_t> samples_of(record.cells.size());
  for (std::size_t c = 0; c < record.cells.size(); ++c)
    samples_of[c] = std::ssize(record.cells[c].samples);
  if (const auto rows = supervisor.take_rows())
    rows->drain<model::Sample>([&](int cell, std::span<const model::Sample> some) {
      samples_of[static_cast<std::size_t>(cell)] += std::ssize(some);
    });
  cost.leader_bytes = test_launch::most_counted_bytes();
  CHECK(std::ranges::all_of(samples_of, [&](auto all) { return all == samples * ranks; }));
  supervisor.release();
  return cost;
}

constexpr int k_ranks_of_host = 8;

// At the leader, when the ranks of a job without MPI say where they are.
test_launch::SimulatedLinks::Counts cost_of_first_gather(int ranks) {
  SimulatedFleet fleet(ranks, k_fan_out);
  fleet.follow = false;
  for (int rank = ranks - 1; rank >= 0; --rank)
    fleet.at(rank).begin_gather(
        wire::pack(Place{fmt::format("node{:05}", rank / k_ranks_of_host), false}));
  while (!fleet.leader().leader_has_all(1))
    (void)fleet.leader().poll();
  fleet.leader().end_gather(1, std::nullopt);
  return fleet.leader().counts;
}

} // namespace

TEST_CASE("a set of ranks keeps intervals") {
  RankSet set;
  for (int rank : {5, 1, 2, 9, 3, 8})
    set.add(rank, rank + 1);
  CHECK(set.bounds == std::vector<int>{1, 4, 5, 6, 8, 10});
  set.add(4, 8);
  CHECK(set.bounds == std::vector<int>{1, 10});
  set.add(RankSet(0, 20));
  CHECK(set.bounds == std::vector<int>{0, 20});

  RankSet some(3, 5);
  some.add(7, 9);
  CHECK(some.size() == 4);
  CHECK((some.contains(4) && !some.contains(5) && !some.contains(6) && some.contains(7)));
  CHECK((some.covers(3, 5) && !some.covers(3, 6) && some.meets(5, 8) && !some.meets(5, 7)));
  CHECK(some.sound(9));
  CHECK_FALSE(some.sound(8));
  some.bounds = {4, 3};
  CHECK_FALSE(some.sound(9));
}

TEST_CASE("every supervisor is in the tree once, with its parent above it") {
  for (int size : {1, 2, 9, 10, 64, 1000})
    for (int fan_out : {1, 2, 8, 1000}) {
      std::vector<int> parents(static_cast<std::size_t>(size), -1);
      for (int rank = 0; rank < size; ++rank) {
        const TreePlace place = place_in_tree(rank, size, fan_out);
        CHECK(static_cast<int>(place.children.size()) <= fan_out);
        int next = rank + 1;
        for (const Branch& child : place.children) {
          CHECK(child.first == next);
          CHECK(place_in_tree(child.first, size, fan_out).parent == rank);
          CHECK(place_in_tree(child.first, size, fan_out).end == child.end);
          parents[static_cast<std::size_t>(child.first)] = rank;
          next = child.end;
        }
        CHECK(next == place.end);
      }
      CHECK(std::ranges::count(parents, -1) == 1);
    }
}

TEST_CASE("a trial takes as many messages at any supervisor for 16,384 ranks as for 64") {
  for (int ranks : {64, 4096, 16'384}) {
    const Cost cost = cost_of_trial(ranks, k_fan_out, 2);
    CHECK(cost.most_messages <= k_kinds_of_trial * (k_fan_out + 1));
  }
}

// A sample has 32 bytes. There is one copy, or two of one cell.
TEST_CASE("the leader's memory is what a trial's record holds") {
  for (const auto& [ranks, samples, cells] :
       {std::tuple(64, 20, 20), std::tuple(4096, 20, 4), std::tuple(16'384, 0, 1)}) {
    const Cost cost = cost_of_trial(ranks, k_fan_out, samples, cells);
    const std::int64_t copies = cells + 1;
    CHECK(cost.leader_bytes < ranks * (2000 + copies * (400 + samples * 32)));
  }
}

TEST_CASE("the leader's memory does not grow with the samples where they may go to a file") {
  const support::ScratchFolder folder;
  for (int ranks : {64, 4096, 16'384}) {
    constexpr int k_all = 3 << 19; // 48 MiB
    const Cost few = cost_of_trial(ranks, k_fan_out, 1, 1, folder.path());
    const Cost many = cost_of_trial(ranks, k_fan_out, k_all / ranks, 1, folder.path());
    INFO(ranks << " ranks: " << (few.leader_bytes >> 20) << " and " << (many.leader_bytes >> 20)
               << " MiB");
    // 16 MiB stay in memory, and sorting takes nearly as much, however many samples there are.
    CHECK(many.leader_bytes < few.leader_bytes + (34 << 20));
  }
}

TEST_CASE("without the tree the leader sends and receives for each rank") {
  CHECK(cost_of_trial(64, 64, 1).most_messages >= 64 * k_kinds_of_trial);
}

TEST_CASE("a gather takes few messages, and each rank's bytes arrive") {
  for (int size : {2, 64, 4096, 16'384}) {
    SimulatedFleet fleet(size, k_fan_out);
    fleet.follow = false;
    for (int rank = size - 1; rank >= 0; --rank)
      fleet.at(rank).begin_gather("of " + std::to_string(rank % 1000));
    while (!fleet.leader().leader_has_all(1))
      (void)fleet.leader().poll();
    fleet.leader().end_gather(1, std::nullopt);
    (void)fleet.leader().poll();

    int same = 0;
    const int step = size > 1000 ? size / 45 : 1; // decoding all answers takes seconds
    for (int rank = 1; rank < size; rank += step) {
      const auto answer = fleet.at(rank).gather_answer(1);
      same += answer && answer->parts.size() == static_cast<std::size_t>(std::min(size, 1000)) &&
                      answer->parts.at("of 1").contains(1)
                  ? 1
                  : 0;
    }
    CHECK(same == (size - 1 + step - 1) / step);
    CHECK(fleet.most_messages() <= 2 * (k_fan_out + 1));
  }
}

TEST_CASE("the names of all hosts reach the leader through the tree, once for each host") {
  for (int ranks : {64, 4096}) {
    const auto leader = cost_of_first_gather(ranks);
    CHECK(leader.sent + leader.received <= 2 * k_fan_out);
    CHECK(leader.bytes <= (1 + k_fan_out) * ranks / k_ranks_of_host * 40 + 1000);
  }
}

TEST_CASE("mail for ranks that do not exist is dropped, and what follows arrives") {
  SimulatedFleet fleet(20, k_fan_out);
  fleet.follow = false;
  auto arrives = [&](std::int64_t sequence, std::vector<int> bounds) {
    DownBundle bundle{{Down{sequence, 0, 1, {}, "bytes"}}};
    bundle.messages.front().to.bounds = std::move(bounds);
    fleet.at(1).arrived.emplace_back(0, std::make_shared<const std::string>(encode_mail(bundle)));
    return fleet.at(1).poll().has_value();
  };
  for (const std::vector<int>& bounds : {std::vector<int>{0}, {0, 21}, {3, 1}, {-1, 4}, {1, 2, 2}})
    CHECK_FALSE(arrives(1, bounds));
  CHECK(arrives(1, {0, 20}));
}

TEST_CASE("a gather misses exactly the supervisors that are lost, wherever they are in the tree") {
  for (const std::vector<int>& lost :
       {std::vector<int>{511}, {1}, {1, 2, 3}, {64, 65, 66, 67, 68, 69, 70, 71}, {129, 130, 300}}) {
    SimulatedFleet fleet(512, k_fan_out);
    fleet.follow = false;
    for (int rank : lost)
      fleet.at(rank).dead = true;
    for (int rank = 0; rank < fleet.size(); ++rank)
      fleet.at(rank).begin_gather("here");
    int rounds = 0;
    auto here = [&] { return fleet.leader().here(1).size(); };
    for (; here() < 512 - static_cast<int>(lost.size()) && rounds < 8; ++rounds) {
      for (int turn = 0; turn < 10; ++turn)
        (void)fleet.leader().poll();
      fleet.leader().bypass_missing(1);
    }
    for (int turn = 0; turn < 10; ++turn)
      (void)fleet.leader().poll();

    CHECK(here() == 512 - static_cast<int>(lost.size()));
    for (int rank : lost)
      CHECK_FALSE(fleet.leader().here(1).contains(rank));
    CHECK(rounds < 8);
    CHECK(fleet.most_messages() < 512);
  }
}

TEST_CASE("a lost host is named alone, whoever is below it, and all others report") {
  for (const int host : {0, 8, 63}) { // of 64; rank 0, the leader, stays
    SimulatedFleet fleet(512, k_fan_out, {1});
    SupervisorOptions options = test_launch::make_options("good", {});
    options.cut_off_after = std::chrono::milliseconds(1500);
    model::TrialSpec spec = trial_of(fleet);
    spec.startup_deadline_ns = 100'000'000;
    std::vector<int> lost;
    for (int supervisor = std::max(1, 8 * host); supervisor < 8 * host + 8; ++supervisor) {
      fleet.at(supervisor).dead = true;
      lost.push_back(supervisor - 1);
    }
    Supervisor supervisor(fleet.leader(), fleet.layout(), options);

    const model::TrialRecord record = supervisor.run(spec);

    CHECK(record.outcome.ranks == lost);
    CHECK_THAT(record.outcome.reason,
               ContainsSubstring("on node" + std::to_string(host) + " no longer answer"));
    CHECK(record.workers.size() == 511 - lost.size());
    CHECK(supervisor.others_lost());
  }
}

// Ranks of a rack, or an inner supervisor and one below it.
TEST_CASE("several lost hosts are named alone, though some are above others in the tree") {
  for (const auto& [first, end] : {std::pair(1, 65), std::pair(129, 193), std::pair(58, 123)}) {
    SimulatedFleet fleet(1025, k_fan_out, {1});
    SupervisorOptions options = test_launch::make_options("good", {});
    options.cut_off_after = std::chrono::milliseconds(1500);
    model::TrialSpec spec = trial_of(fleet);
    spec.startup_deadline_ns = 100'000'000;
    std::vector<int> lost;
    for (int supervisor = first; supervisor < end; ++supervisor) {
      fleet.at(supervisor).dead = true;
      lost.push_back(supervisor - 1);
    }
    Supervisor supervisor(fleet.leader(), fleet.layout(), options);

    const model::TrialRecord record = supervisor.run(spec);

    CHECK(record.outcome.ranks == lost);
    CHECK(record.workers.size() == 1024 - lost.size());
  }
}

TEST_CASE("who asks the leader past the tree is reached without those above it from then on") {
  SimulatedFleet fleet(128, k_fan_out);
  const int asks = place_in_tree(1, 128, k_fan_out).children.at(1).first;
  fleet.at(1).dead = true;
  Supervisor supervisor(fleet.leader(), fleet.layout(), test_launch::make_options("good", {}));
  auto words_of_asking = [&]() -> std::string {
    fleet.at(asks).report({.bytes = "trouble", .trial = 1});
    for (int turn = 0; turn < 1000; ++turn)
      if (auto message = fleet.leader().poll())
        return message->bytes;
    return "";
  };
  CHECK(words_of_asking() == "");

  fleet.at(asks).post(0, encode({k_whole_run, HeartbeatRequest{}}));
  (void)supervisor.run(test_launch::make_spec(0, 1)); // refused, after it has taken the messages

  CHECK(words_of_asking() == "trouble");
}

TEST_CASE("of each supervisor the leader hears in the order in which it spoke") {
  SimulatedFleet fleet(64, k_fan_out);
  fleet.follow = false;
  const int above = 1;
  const int child = place_in_tree(above, 64, k_fan_out).children.at(0).first;
  auto report = [&](int from, const char* words) {
    fleet.at(from).report({.bytes = words, .trial = 1});
  };

  report(above, "second");
  report(child, "first");
  report(child, "second");

  std::vector<std::string> heard;
  for (int turn = 0; turn < 1000 && heard.size() < 2; ++turn)
    if (auto message = fleet.leader().poll(); message && message->senders.contains(child))
      heard.push_back(message->bytes);
  CHECK(heard == std::vector<std::string>{"first", "second"});
}

TEST_CASE("what many groups exchange shares messages") {
  for (int ranks : {64, 4096, 16'384}) {
    SimulatedFleet fleet(ranks + 1, k_fan_out, {1, 1, 8});
    Supervisor supervisor(fleet.leader(), fleet.layout(), test_launch::make_options("good", {}));

    const model::TrialRecord record = supervisor.run(trial_of(fleet));

    CHECK(record.outcome.ok());
    CHECK(fleet.most_messages() <= k_kinds_of_trial * (k_fan_out + 1) * 2);
    supervisor.release();
  }
}

// The last columns of the table of joining in docs/several-hosts.md.
TEST_CASE("the cost of the first gather by the number of ranks", "[.join]") {
  for (int ranks : {64, 1024, 4096, 16'384}) {
    const auto leader = cost_of_first_gather(ranks);
    std::printf("| %d | %lld | %lld |\n", ranks,
                static_cast<long long>(leader.sent + leader.received),
                static_cast<long long>(leader.bytes));
  }
}

// The table in docs/several-hosts.md: test_tree '[.scale]' prints it.
TEST_CASE("the cost of a trial by the number of ranks", "[.scale]") {
  auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const support::ScratchFolder folder;
  for (int ranks : {64, 256, 1024, 4096, 16'384}) {
    const Cost one = cost_of_trial(ranks, k_fan_out, 20);
    const Cost ten = cost_of_trial(ranks, k_fan_out, 20, 10, folder.path());
    const Cost hundred = cost_of_trial(ranks, k_fan_out, 200, 10, folder.path());
    std::printf("| %d | %lld | %.3f | %.1f | %.0f | %.0f |\n", ranks,
                static_cast<long long>(one.most_messages), one.leader_s, mib(one.leader_bytes),
                mib(ten.leader_bytes), mib(hundred.leader_bytes));
  }
  for (int ranks : {64, 1024, 4096}) {
    const Cost star = cost_of_trial(ranks, ranks, 20);
    std::printf("without the tree | %d | %lld | %.3f |\n", ranks,
                static_cast<long long>(star.most_messages), star.leader_s);
  }
}
