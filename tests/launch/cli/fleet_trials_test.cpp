// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Nodes as groups of ranks, groups as trials, and records as results.
#include "launch/cli/fleet/fleet_trials.h"
#include "support/catch.h"

using namespace ncclprobe;
using namespace ncclprobe::cli;
using analysis::fleet::Group;

namespace {

// Four hosts with two ranks each; ranks are dealt out in turns.
FleetNodes four_nodes() {
  return fleet_nodes({"a", "b", "c", "d"}, {0, 1, 2, 3, 0, 1, 2, 3}, std::nullopt).value();
}

model::TrialSpec like() {
  model::TrialSpec trial;
  trial.cells.emplace_back();
  trial.cells.front().timing.iterations = 3;
  trial.process.per_rank = {{2, {{"A", "2"}}}, {7, {{"A", "7"}}}};
  return trial;
}

const std::vector<Group> k_groups{{0, 2}, {1, 3}};

model::TrialSpec trial_of(const std::vector<Group>& groups) {
  return fleet_trial(four_nodes(), like(), {model::Collective::all_reduce, 4096}, groups, 5)
      .value();
}

// Two batches in which a rank took (rank + 1) ms per launch, and one disturbed one.
model::TrialRecord good_record() {
  model::TrialRecord record;
  record.spec = trial_of(k_groups);
  record.cells.resize(2);
  for (model::CellRecord& cell : record.cells)
    for (int batch = 0; batch < 3; ++batch)
      for (int rank = 0; rank < 8; ++rank)
        cell.samples.push_back({rank, batch, 2, (batch == 1 ? 100 : 2) * (rank + 1) * 1'000'000});
  return record;
}

} // namespace

TEST_CASE("A node is a host, or so many ranks of one; one with other ranks is named") {
  const FleetNodes hosts = four_nodes();
  CHECK(hosts.names == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(hosts.ranks[1] == std::vector{1, 5});
  CHECK(hosts.ranks_per_node == 2);
  CHECK(hosts.whole_hosts);
  CHECK(hosts.node_of(6) == 2);
  CHECK(hosts.node_of(8) == -1);

  const FleetNodes parts = fleet_nodes({"a"}, {0, 0, 0, 0, 0}, 1).value();
  CHECK(parts.names[4] == "a/rank 4");
  CHECK(!parts.whole_hosts);

  const FleetNodes unequal =
      fleet_nodes({"a", "b", "c", "d"}, {0, 0, 1, 2, 2, 3, 3}, std::nullopt).value();
  CHECK(unequal.ranks_per_node == 2);
  REQUIRE(unequal.faults.size() == 1);
  CHECK(unequal.faults[0].node == 1);
  CHECK(unequal.faults[0].what == "has 1 rank, most nodes have 2");

  CHECK(fleet_nodes({"a", "b", "c"}, {0, 1, 2}, std::nullopt).error().code == base::Errc::mismatch);
}

TEST_CASE("Each group has a communicator, and each of its rails too") {
  const model::TrialSpec trial = trial_of(k_groups);

  CHECK(trial.id == 5);
  CHECK(trial.ranks == 8);
  CHECK(trial.launch_ranks == std::vector{0, 2, 4, 6, 1, 3, 5, 7});
  CHECK(trial.process.per_rank.at(1).front().value == "2"); // rank 2 of the launch
  CHECK(trial.process.per_rank.at(7).front().value == "7");
  REQUIRE(trial.cells.size() == 2);
  const std::vector<model::CommunicatorDecl>& whole = trial.cells[0].schedule.communicators;
  REQUIRE(whole.size() == 3);
  CHECK(whole[1].ranks == std::vector{0, 1, 2, 3});
  CHECK(whole[2].ranks == std::vector{4, 5, 6, 7});
  CHECK(whole[1].parent == -1);
  const std::vector<model::CommunicatorDecl>& rails = trial.cells[1].schedule.communicators;
  REQUIRE(rails.size() == 5);
  CHECK(rails[2].ranks == std::vector{2, 3}); // ranks 4 and 6 of the launch
  CHECK(trial.cells[0].timing.iterations == 3);
}

TEST_CASE("A group's time is the median over batches of its slowest rank") {
  const auto meetings = fleet_meetings(four_nodes(), good_record(), k_groups, 4);

  REQUIRE(meetings.size() == 2);
  CHECK(meetings[0].nodes == Group{0, 2});
  CHECK(meetings[0].round == 4);
  CHECK(meetings[0].trial == 5);
  CHECK(meetings[0].times_ns == std::vector{7e6, 3e6, 7e6}); // whole, rail 0, rail 1
  CHECK(meetings[1].times_ns == std::vector{8e6, 4e6, 8e6});
}

TEST_CASE("A group without all its samples is broken") {
  model::TrialRecord record = good_record();
  std::erase_if(record.cells[1].samples, [](const model::Sample& one) { return one.rank == 4; });

  const auto meetings = fleet_meetings(four_nodes(), record, k_groups, 0);

  CHECK(meetings[0].broken());
  CHECK(!meetings[1].broken());
}

TEST_CASE("A trial that failed says who is to blame, as far as it knows") {
  model::TrialRecord record = good_record();
  for (int rank = 0; rank < 8; ++rank)
    record.workers.push_back({.ranks = {rank}});
  const auto failure = [&] { return fleet_failure(four_nodes(), record, k_groups, 2); };

  record.outcome = {model::OutcomeKind::crashed, "rank 6 in cell 0: signal 9 (Killed); more", {6}};
  REQUIRE(failure().faults.size() == 1);
  CHECK(failure().faults[0].node == 2);
  CHECK(failure().faults[0].round == 2);
  CHECK(failure().faults[0].what == "rank 6 in cell 0: signal 9 (Killed)");
  CHECK(failure().others == std::vector<Group>{{1, 3}}); // its partner meets others next

  record.outcome = {model::OutcomeKind::timed_out, "rank 5 did not finish", {5}};
  CHECK(failure().faults.empty());
  CHECK(failure().blamed == std::vector<Group>{{1, 3}});
  CHECK(failure().others == std::vector<Group>{{0, 2}});

  record.outcome = {model::OutcomeKind::failed, "no report", {}};
  std::erase_if(record.workers, [](const auto& one) { return one.ranks[0] % 4 == 3; });
  REQUIRE(failure().faults.size() == 1);
  CHECK(failure().faults[0].node == 3);
  CHECK(failure().faults[0].what == "its supervisor no longer answers");
}
