// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What the search names, and what it leaves in peace.
#include "analysis/fleet/simulated_fleet.h"

using namespace ncclprobe::analysis::fleet;

namespace {

struct Tally {
  int fleets = 0, bad = 0, named = 0, accused = 0, groups = 0, undecided = 0, large_undecided = 0,
      with_groups = 0, most_rounds = 0;
};

// 1% of 4,096 nodes lack 15%, and a measurement scatters by 3%.
Tally tally_of(int fleets) {
  Tally tally;
  for (int number = 0; number < fleets; ++number) {
    SimulatedFleet fleet{.noise = 0.03};
    std::mt19937_64 random(static_cast<std::uint64_t>(number) + 1);
    while (fleet.slow_nodes.size() < 41)
      fleet.slow_nodes[static_cast<int>(random() % 4096)] = 0.15;
    const Result result = checked(
        {.nodes = 4096, .large_group = 8, .seed = static_cast<std::uint64_t>(number) + 1}, fleet);
    ++tally.fleets;
    tally.bad += static_cast<int>(fleet.slow_nodes.size());
    for (const int node : result.with(Standing::bad))
      ++(fleet.slow_nodes.contains(node) ? tally.named : tally.accused);
    for (const GroupVerdict& group : result.judgement.groups)
      tally.groups += group.standing == Standing::bad ? 1 : 0;
    tally.undecided += result.judgement.count(Standing::undecided);
    tally.large_undecided += result.judgement.large_undecided;
    tally.with_groups += result.judgement.large_usual_ns ? 1 : 0;
    tally.most_rounds = std::max(tally.most_rounds, result.history.rounds);
  }
  return tally;
}

void expect_the_goal(const Tally& tally) {
  INFO("named " << tally.named << " of " << tally.bad << ", accused " << tally.accused << " in "
                << tally.fleets << " fleets, " << tally.groups << " links and groups, "
                << tally.undecided << " undecided, " << tally.large_undecided
                << " undecided in larger groups, " << tally.with_groups
                << " fleets in larger groups, at most " << tally.most_rounds << " rounds");
  CHECK(tally.named >= 0.95 * tally.bad);
  CHECK(tally.accused <= tally.fleets);
  CHECK(tally.groups <= tally.fleets);
  CHECK(tally.undecided <= tally.fleets);
  CHECK(tally.most_rounds <= 14);
}

} // namespace

TEST_CASE("Bad nodes are named, and only these, with any noise, drift and disturbance") {
  struct Case {
    const char* name;
    CheckOptions options;
    SimulatedFleet fleet;
  };
  const std::map<int, double> one{{5, 0.15}}, three{{5, 0.15}, {6, 0.4}, {40, 0.15}};
  const std::vector<Case> cases{
      {"none of 16", of_nodes(16), {}},
      {"none of 16, noisy", of_nodes(16), {.noise = 0.04}},
      {"one of 16", of_nodes(16), {.slow_nodes = one}},
      {"one of 17: somebody sits out", of_nodes(17), {.slow_nodes = one}},
      {"one of 8", of_nodes(8), {.slow_nodes = one}},
      {"one of 4", of_nodes(4), {.noise = 0.003, .slow_nodes = {{1, 0.15}}}},
      {"no noise at all", of_nodes(16), {.noise = 0, .slow_nodes = one}},
      {"three of 64", of_nodes(64), {.noise = 0.03, .slow_nodes = three}},
      {"three of 64 in groups of four",
       {.nodes = 64, .group = 4, .seed = 7},
       {.noise = 0.02, .slow_nodes = three}},
      {"three of 64, then groups of eight",
       {.nodes = 64, .large_group = 8, .seed = 7},
       {.noise = 0.02, .slow_nodes = three}},
      {"one of 10, then groups of three",
       {.nodes = 10, .large_group = 3, .seed = 7},
       {.slow_nodes = one}},
      {"some measurements take twice as long",
       of_nodes(64),
       {.slow_nodes = three, .flicker = 0.03}},
      {"trials differ by 5%", of_nodes(64), {.slow_nodes = three, .drift = 0.05}},
  };
  for (const Case& one_case : cases) {
    INFO(one_case.name);
    std::set<int> slow;
    for (const auto& [node, lacks] : one_case.fleet.slow_nodes)
      slow.insert(node);

    const Result result = checked(one_case.options, one_case.fleet);

    CHECK(result.with(Standing::bad) == slow);
    CHECK(result.with(Standing::undecided).empty());
    CHECK(result.judgement.groups.empty());
    CHECK(result.history.rounds <= one_case.options.most_rounds);
  }
}

TEST_CASE("A quarter of bad nodes is found: the usual speed is that of the others") {
  SimulatedFleet fleet{.noise = 0.02};
  std::set<int> slow;
  for (int node = 0; node < 64; node += 4) {
    fleet.slow_nodes[node] = 0.2;
    slow.insert(node);
  }

  const Result result = checked(of_nodes(64), fleet);

  CHECK(result.with(Standing::bad) == slow);
  CHECK(result.judgement.usual_ns.front() == Approx(1e6).epsilon(0.02));
}

TEST_CASE("A node's estimate has the ratio in its interval, and counts what was slow") {
  const Result result = checked(of_nodes(32), {.noise = 0.02, .slow_nodes = {{9, 0.39}}});
  const SpeedEstimate estimate = *result.judgement.nodes[9].paths[0].estimate;

  CHECK(estimate.ratio == Approx(0.61).epsilon(0.05));
  CHECK(estimate.interval.low < 0.61);
  CHECK(estimate.interval.high > 0.61);
  CHECK(estimate.slow == estimate.meetings);
  CHECK(estimate.meetings >= 3);
}

TEST_CASE("A difference within the tolerance is no fault") {
  SimulatedFleet fleet{.noise = 0.01};
  for (int node = 0; node < 32; ++node) // up to 3%: half of what counts as bad is 5%
    fleet.slow_nodes[node] = 0.001 * node;

  CHECK(checked(of_nodes(32), fleet).with(Standing::bad).empty());
}

TEST_CASE("A slow pair of good nodes is a link, not a node") {
  const CheckOptions options = of_nodes(16);
  const Group pair = next_round(options, {}, judge(options, {})).groups.front(); // so they meet

  const Result result = checked(options, {.slow_links = {{{pair[0], pair[1]}, 0.5}}});

  CHECK(result.with(Standing::bad).empty());
  REQUIRE(result.judgement.groups.size() == 1);
  const GroupVerdict& link = result.judgement.groups.front();
  CHECK(link.nodes == pair);
  CHECK(link.standing == Standing::bad);
  CHECK(link.estimate->ratio == Approx(0.5).epsilon(0.05));
}

TEST_CASE("A rail is bad if only what goes over it is slow") {
  SECTION("of one node") {
    const Result result =
        checked({.nodes = 16, .rails = 4, .seed = 2}, {.slow_rails = {{{3, 2}, 0.3}}});

    CHECK(result.with(Standing::bad) == std::set{3});
    CHECK(result.judgement.nodes[3].bad_rails == std::vector{2});
    CHECK(std::ranges::none_of(result.judgement.rails, &RailVerdict::bad));
  }
  SECTION("all rails of one node: the node") {
    const Result result = checked({.nodes = 16, .rails = 4, .seed = 2}, {.slow_nodes = {{3, 0.3}}});

    CHECK(result.with(Standing::bad) == std::set{3});
    CHECK(result.judgement.nodes[3].bad_rails.empty());
  }
  SECTION("the same of all nodes") {
    const Result result =
        checked({.nodes = 16, .rails = 4, .seed = 2}, {.slow_rails_of_all = {{1, 0.3}}});

    CHECK(result.with(Standing::bad).empty());
    REQUIRE(result.judgement.rails.size() == 4);
    for (const RailVerdict& rail : result.judgement.rails)
      CHECK(rail.bad == (rail.rail == 1));
    CHECK(result.judgement.rails[1].ratio == Approx(0.7).epsilon(0.03));
  }
}

TEST_CASE("A node that hangs or crashes is named, and the others are checked without it") {
  SECTION("hang") {
    const Result result = checked(of_nodes(16), {.slow_nodes = {{5, 0.2}}, .hanging = {11}});

    CHECK(result.with(Standing::failed) == std::set{11});
    CHECK(result.judgement.nodes[11].fault.find("partners") != std::string::npos);
    CHECK(result.with(Standing::bad) == std::set{5});
    CHECK(result.with(Standing::undecided).empty());
    CHECK(result.judgement.groups.empty());
  }
  SECTION("crash") {
    const Result result = checked(of_nodes(16), {.slow_nodes = {{5, 0.2}}, .crashing = {{11, 1}}});

    CHECK(result.with(Standing::failed) == std::set{11});
    CHECK(result.judgement.nodes[11].fault == "signal 9 (Killed)");
    CHECK(result.with(Standing::bad) == std::set{5});
    CHECK(result.with(Standing::good).size() == 14);
  }
}

TEST_CASE("A node that lost since an earlier check is named, unless the whole fleet did") {
  const CheckOptions options{.nodes = 48, .seed = 7};
  const SimulatedFleet then{.noise = 0.004, .slow_nodes = {{9, 0.2}, {20, 0.03}}};
  const History known = known_from(checked(options, then));

  SECTION("nothing changed: what is slow was slow, and is named by this check alone") {
    const Result result = checked(options, then, known);

    CHECK(result.with(Standing::bad) == std::set{9});
    CHECK(result.judgement.nodes[9].evidence == Evidence::first_groups);
    CHECK(result.judgement.nodes[9].against_baseline[0].standing == Standing::good);
    CHECK(result.judgement.nodes[9].against_baseline[0].estimate->ratio == Approx(1).epsilon(0.02));
  }
  SECTION("a slow node became slower still, and one that was good became slow") {
    const Result result =
        checked(options, {.noise = 0.004, .slow_nodes = {{9, 0.4}, {30, 0.2}}}, known);

    CHECK(result.with(Standing::bad) == std::set{9, 30});
    for (const int node : {9, 30}) {
      const PathVerdict& change =
          result.judgement.nodes[static_cast<std::size_t>(node)].against_baseline[0];
      CHECK(change.standing == Standing::bad);
      CHECK(change.estimate->ratio == Approx(node == 9 ? 0.75 : 0.8).epsilon(0.03));
      CHECK(change.estimate->interval.low < (node == 9 ? 0.75 : 0.8));
      CHECK(change.estimate->interval.high > (node == 9 ? 0.75 : 0.8));
    }
  }
  SECTION("the whole fleet became slower") {
    SimulatedFleet now{.noise = 0.004};
    for (int node = 0; node < options.nodes; ++node)
      now.slow_nodes[node] = node == 9 ? 0.36 : 0.2;

    const Result result = checked(options, now, known);

    CHECK(result.with(Standing::bad) == std::set{9});
    CHECK(result.judgement.nodes[9].against_baseline[0].standing == Standing::good);
  }
  SECTION("a node that the earlier check does not know is judged by this one") {
    History partly = known;
    partly.earlier[30].clear();
    const Result result = checked(options, {.noise = 0.004, .slow_nodes = {{30, 0.2}}}, partly);

    CHECK(result.with(Standing::bad) == std::set{30});
    CHECK(result.judgement.nodes[30].against_baseline.empty());
    CHECK(result.with(Standing::undecided).empty());
  }
}

TEST_CASE("Pairs hide a node that is faster than most, and a baseline does not delay its verdict") {
  SimulatedFleet then{.noise = 0.004};
  for (int node = 4; node < 24; ++node)
    then.slow_nodes[node] = 0.3;
  SimulatedFleet now = then;
  now.slow_nodes[0] = 0.3;
  int not_compared = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    const CheckOptions options{.nodes = 24, .seed = seed};
    const Result result = checked(options, now, known_from(checked(options, then)));

    CHECK(result.with(Standing::good).size() == 24);
    CHECK(result.history.rounds < options.most_rounds);
    not_compared += result.judgement.not_compared;
  }
  CHECK(not_compared > 0);
}

TEST_CASE("The next round depends only on its arguments, and the seed draws other pairs") {
  const CheckOptions options = of_nodes(64), other{.nodes = 64, .seed = 8};
  const Judgement judgement = judge(options, {});

  CHECK(next_round(options, {}, judgement).groups == next_round(options, {}, judgement).groups);
  CHECK(next_round(options, {}, judgement).groups != next_round(other, {}, judgement).groups);
}

TEST_CASE("4,096 nodes with 1% bad ones, few fleets") {
  expect_the_goal(tally_of(2));
}

TEST_CASE("4,096 nodes with 1% bad ones, 200 fleets", "[.simulation]") {
  expect_the_goal(tally_of(200));
}
