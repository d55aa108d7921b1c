// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What larger groups of the nodes that are good in pairs show.
#include "analysis/fleet/simulated_fleet.h"

using namespace ncclprobe::analysis::fleet;

TEST_CASE("Larger groups find what pairs do not show") {
  const CheckOptions options{.nodes = 64, .large_group = 8, .seed = 7};

  SECTION("a node that is slow with many others") {
    const SimulatedFleet fleet{
        .noise = 0.02, .slow_nodes = {{5, 0.2}}, .slow_in_groups = {{9, 0.2}}};
    const Result result = checked(options, fleet);

    CHECK(result.with(Standing::bad) == std::set{5, 9});
    CHECK(result.judgement.nodes[5].evidence == Evidence::first_groups);
    CHECK(result.judgement.nodes[9].evidence == Evidence::large_groups);
    CHECK(result.judgement.nodes[9].paths[0].standing == Standing::good);
    CHECK(result.judgement.nodes[9].large_groups[0].estimate->ratio == Approx(0.8).epsilon(0.05));
    CHECK(result.with(Standing::undecided).empty());
    CHECK(result.judgement.large_usual_ns.value_or(0) == Approx(1e6).epsilon(0.02));
    CHECK(checked(of_nodes(64), fleet).with(Standing::bad) == std::set{5}); // pairs alone
  }
  SECTION("a node that hangs with many others") {
    const Result result = checked(options, {.hanging_in_groups = {9}});

    CHECK(result.with(Standing::failed) == std::set{9});
    CHECK(result.judgement.nodes[9].fault_reason == Reason::never_finished);
    CHECK(result.judgement.nodes[9].fault.find("groups of 8") != std::string::npos);
    CHECK(result.with(Standing::undecided).empty());
    CHECK(result.judgement.groups.empty());
  }
  SECTION("good nodes that are slow together, as behind one uplink") {
    Result pairs = checked(of_nodes(64), {});
    const Group met = next_round(options, pairs.history, judge(options, pairs.history)).groups[0];
    const Result result =
        checked(options, {.slow_together = {{met.begin(), met.end()}, 0.5}}, pairs.history);

    CHECK(result.with(Standing::good).size() == 64);
    REQUIRE(result.judgement.groups.size() == 1);
    CHECK(result.judgement.groups.front().nodes == met);
    CHECK(result.judgement.groups.front().standing == Standing::bad);
  }
  SECTION("with too few rounds for them, pairs decide, and the others are counted") {
    const SimulatedFleet noisy{.noise = 0.03};
    int first = 0; // round of larger groups
    for (const Meeting& one : checked(options, noisy).history.meetings)
      if (one.nodes.size() == 2)
        first = std::max(first, one.round + 1);
    CheckOptions few = options;
    few.most_rounds = first + 1;
    const Result result = checked(few, noisy);

    CHECK(result.with(Standing::good).size() == 64);
    CHECK(result.judgement.large_undecided > 0);
    CHECK(result.judgement.large_usual_ns);
  }
  SECTION("without rounds for them, pairs decide") {
    const int rounds = checked(of_nodes(64), {}).history.rounds;
    const Result result =
        checked({.nodes = 64, .large_group = 8, .most_rounds = rounds, .seed = 7}, {});

    CHECK(result.with(Standing::good).size() == 64);
    CHECK(!result.judgement.large_usual_ns);
  }
}

TEST_CASE("Of larger groups that hang, only a node that hung without any other is accused") {
  struct Case {
    const char* name;
    int nodes, group;
    SimulatedFleet fleet;
    std::set<int> failed;
  };
  std::set<int> all;
  for (int node = 0; node < 16; ++node)
    all.insert(node);
  const std::vector<Case> cases{
      {"two that hang together, as behind one uplink", 16, 4, {.hanging_together = {2, 7}}, {}},
      {"the same with larger groups", 24, 8, {.hanging_together = {2, 7}}, {}},
      {"two that hang with any others", 16, 4, {.hanging_in_groups = {2, 7}}, {2, 7}},
      {"the same with fewer groups", 16, 5, {.hanging_in_groups = {2, 7}}, {2, 7}},
      {"the same with pairs", 16, 0, {.hanging = {2, 7}}, {2, 7}},
      {"all groups", 16, 4, {.hanging_in_groups = all}, {}},
  };
  for (const Case& one : cases)
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      INFO(one.name << ", seed " << seed);
      const Result result =
          checked({.nodes = one.nodes, .large_group = one.group, .seed = seed}, one.fleet);

      CHECK(result.with(Standing::failed) == one.failed);
      CHECK(result.with(Standing::bad).empty());
      if (one.fleet.hanging_in_groups == all) {
        CHECK(!result.judgement.large_usual_ns);
        CHECK(result.judgement.large_measured > 0);
      }
    }
}

TEST_CASE("If the same groups speak against two nodes, neither is accused") {
  History history{.rounds = 5};
  auto add = [&](int round, const Group& nodes, bool finished) {
    history.meetings.push_back(
        {round, round, nodes, finished ? std::vector<double>{1e6} : std::vector<double>{}});
  };
  for (const Group& group : std::vector<Group>{{0, 1}, {2, 3}, {4, 5}})
    add(0, group, true); // 0 and 1 died later
  add(1, {0, 1}, false);
  add(2, {0, 2}, false);
  add(3, {1, 3}, false);

  CHECK(judge(of_nodes(6), history).count(Standing::failed) == 0);
  add(4, {0, 4}, false);
  const Judgement more = judge(of_nodes(6), history);
  CHECK(more.nodes[0].standing == Standing::failed);
  CHECK(more.nodes[1].standing == Standing::undecided);
}

TEST_CASE("A node that is slow in larger groups is found, with few groups and with noise too") {
  struct Case {
    int nodes, group;
    double noise;
    int least; // of 40 fleets
  };
  for (const Case& one : {Case{9, 3, 0.005, 40}, Case{12, 3, 0.02, 30}, Case{16, 3, 0.02, 38},
                          Case{16, 4, 0.02, 30}, Case{32, 5, 0.02, 40}, Case{32, 8, 0.02, 20}}) {
    INFO(one.nodes << " nodes in groups of " << one.group << ", noise " << one.noise);
    int named = 0, accused = 0;
    for (int fleet = 0; fleet < 40; ++fleet) {
      const int slow = fleet % one.nodes;
      const Result result = checked({.nodes = one.nodes,
                                     .large_group = one.group,
                                     .seed = static_cast<std::uint64_t>(fleet) + 1},
                                    {.noise = one.noise, .slow_in_groups = {{slow, 0.2}}});
      for (const int node : result.with(Standing::bad))
        ++(node == slow ? named : accused);
    }
    CHECK(named >= one.least);
    CHECK(accused == 0);
  }
}

TEST_CASE("Two larger groups are not measured: nothing would say which one is slow") {
  const Result result = checked({.nodes = 8, .large_group = 4, .seed = 7}, {});

  CHECK(result.with(Standing::good).size() == 8);
  CHECK(result.judgement.large_measured == 0);
}
