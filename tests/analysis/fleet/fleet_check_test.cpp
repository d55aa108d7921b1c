// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The real search on simulated fleets: what is named, and what is left in peace.
#include "analysis/fleet/judgement.h"
#include "analysis/fleet/rounds.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

using namespace ncclprobe::analysis::fleet;

namespace {

// What is wrong with it. Slowness is a share of the bandwidth.
struct SimulatedFleet {
  double noise = 0.01;
  std::map<int, double> slow_nodes{};
  std::map<std::pair<int, int>, double> slow_links{};
  std::map<std::pair<int, int>, double> slow_rails{}; // node and rail
  std::map<int, double> slow_rails_of_all{};
  std::map<int, double> slow_in_groups{}; // with more than two nodes
  std::pair<std::set<int>, double> slow_together{};
  std::set<int> hanging{}, hanging_in_groups{};
  std::map<int, int> crashing{}; // node to the round in which it does
  double flicker = 0;            // probability of a measurement that takes twice as long
  double drift = 0;              // standard deviation between trials
};

struct Result {
  History history;
  Judgement judgement;
  std::set<int> with(Standing standing) const {
    std::set<int> nodes;
    for (std::size_t node = 0; node < judgement.nodes.size(); ++node)
      if (judgement.nodes[node].standing == standing)
        nodes.insert(static_cast<int>(node));
    return nodes;
  }
};

class Check {
public:
  Check(const CheckOptions& options, const SimulatedFleet& fleet)
      : options_(options), fleet_(fleet), random_(options.seed + 1) {}

  Result run(History begin) {
    Result result{std::move(begin), {}};
    while (true) {
      result.judgement = judge(options_, result.history);
      const Round round = next_round(options_, result.history, result.judgement);
      if (round.empty())
        return result;
      drift_ = fleet_.drift * normal_(random_);
      bool disjoint = true, without_failed = true; // checked once: there are thousands
      std::set<int> used;
      for (const std::vector<Group>* groups : {&round.groups, &round.alone})
        for (const Group& group : *groups) {
          for (const int node : group) {
            const NodeVerdict& verdict = result.judgement.nodes[static_cast<std::size_t>(node)];
            disjoint = used.insert(node).second && disjoint;
            without_failed = verdict.standing != Standing::failed && without_failed;
          }
          measure(group, result.history);
        }
      CHECK(disjoint);
      CHECK(without_failed);
      ++result.history.rounds;
    }
  }

private:
  void measure(const Group& group, History& history) {
    Meeting meeting{history.rounds, history.rounds, group, {}};
    for (const int node : group)
      if (const auto found = fleet_.crashing.find(node);
          found != fleet_.crashing.end() && found->second == history.rounds) {
        history.faults.push_back({node, history.rounds, Reason::crashed, "signal 9 (Killed)"});
        return;
      }
    if (std::ranges::none_of(group, [&](int node) {
          return fleet_.hanging.contains(node) ||
                 (group.size() > 2 && fleet_.hanging_in_groups.contains(node));
        }))
      for (int path = 0; path < options_.paths(); ++path)
        meeting.times_ns.push_back(time_of(group, path));
    history.meetings.push_back(std::move(meeting));
  }

  double time_of(const Group& group, int path) {
    double lacks = 0;
    auto add = [&](const auto& all, auto key) {
      if (const auto found = all.find(key); found != all.end())
        lacks = std::max(lacks, found->second);
    };
    for (const int node : group) {
      add(fleet_.slow_nodes, node);
      if (group.size() > 2)
        add(fleet_.slow_in_groups, node);
    }
    const auto& [together, slower] = fleet_.slow_together;
    if (!together.empty() && std::ranges::all_of(together, [&](int node) {
          return std::ranges::find(group, node) != group.end();
        }))
      lacks = std::max(lacks, slower);
    add(fleet_.slow_links, std::pair(group.front(), group.back()));
    for (int rail = 0; rail < options_.rails; ++rail)
      if (path == 0 || path == rail + 1) {
        add(fleet_.slow_rails_of_all, rail);
        for (const int node : group)
          add(fleet_.slow_rails, std::pair(node, rail));
      }
    const bool flickers = std::uniform_real_distribution<double>()(random_) < fleet_.flicker;
    return 1e6 / (1 - lacks) * std::exp(fleet_.noise * normal_(random_) + drift_) *
           (flickers ? 2 : 1);
  }

  const CheckOptions& options_;
  const SimulatedFleet& fleet_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double drift_ = 0;
};

Result checked(const CheckOptions& options, const SimulatedFleet& fleet, History begin = {}) {
  return Check(options, fleet).run(std::move(begin));
}

// What that check says of its nodes, for a later one.
History known_from(const Result& earlier) {
  History history;
  for (const NodeVerdict& node : earlier.judgement.nodes) {
    auto& paths = history.earlier.emplace_back();
    for (const PathVerdict& path : node.paths)
      paths.emplace_back(
          EarlierSpeed{-std::log(path.estimate->ratio),
                       std::log(path.estimate->interval.high / path.estimate->interval.low) / 2,
                       path.estimate->meetings});
  }
  return history;
}

CheckOptions of_nodes(int nodes) {
  return {.nodes = nodes, .seed = 7};
}

struct Tally {
  int fleets = 0, bad = 0, named = 0, accused = 0, groups = 0, undecided = 0, then_undecided = 0,
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
        {.nodes = 4096, .then_group = 8, .seed = static_cast<std::uint64_t>(number) + 1}, fleet);
    ++tally.fleets;
    tally.bad += static_cast<int>(fleet.slow_nodes.size());
    for (const int node : result.with(Standing::bad))
      ++(fleet.slow_nodes.contains(node) ? tally.named : tally.accused);
    for (const GroupVerdict& group : result.judgement.groups)
      tally.groups += group.standing == Standing::bad ? 1 : 0;
    tally.undecided += result.judgement.count(Standing::undecided);
    tally.then_undecided += result.judgement.then_undecided;
    tally.with_groups += result.judgement.then_usual_ns ? 1 : 0;
    tally.most_rounds = std::max(tally.most_rounds, result.history.rounds);
  }
  return tally;
}

void expect_the_goal(const Tally& tally) {
  INFO("named " << tally.named << " of " << tally.bad << ", accused " << tally.accused << " in "
                << tally.fleets << " fleets, " << tally.groups << " links and groups, "
                << tally.undecided << " undecided, " << tally.then_undecided
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
       {.nodes = 64, .then_group = 8, .seed = 7},
       {.noise = 0.02, .slow_nodes = three}},
      {"one of 8, then groups of three",
       {.nodes = 8, .then_group = 3, .seed = 7},
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

TEST_CASE("Larger groups find what pairs do not show") {
  const CheckOptions options{.nodes = 64, .then_group = 8, .seed = 7};

  SECTION("a node that is slow with many others") {
    const SimulatedFleet fleet{
        .noise = 0.02, .slow_nodes = {{5, 0.2}}, .slow_in_groups = {{9, 0.2}}};
    const Result result = checked(options, fleet);

    CHECK(result.with(Standing::bad) == std::set{5, 9});
    CHECK(result.judgement.nodes[5].evidence == Evidence::first_groups);
    CHECK(result.judgement.nodes[9].evidence == Evidence::then_groups);
    CHECK(result.judgement.nodes[9].paths[0].standing == Standing::good);
    CHECK(result.judgement.nodes[9].then_groups[0].estimate->ratio == Approx(0.8).epsilon(0.05));
    CHECK(result.with(Standing::undecided).empty());
    CHECK(result.judgement.then_usual_ns.value_or(0) == Approx(1e6).epsilon(0.02));
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
    CHECK(result.judgement.then_undecided > 0);
    CHECK(result.judgement.then_usual_ns);
  }
  SECTION("without rounds for them, pairs decide") {
    const int rounds = checked(of_nodes(64), {}).history.rounds;
    const Result result =
        checked({.nodes = 64, .then_group = 8, .most_rounds = rounds, .seed = 7}, {});

    CHECK(result.with(Standing::good).size() == 64);
    CHECK(!result.judgement.then_usual_ns);
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

TEST_CASE("Only an earlier check shows that a fast node has become as slow as most") {
  const CheckOptions options{.nodes = 24};
  const bool lost = GENERATE(false, true);
  History history{.rounds = 6};
  for (int node = 0; node < options.nodes; ++node) // four of them are faster than the others
    history.earlier.push_back({EarlierSpeed{node < 4 ? std::log(0.7) : 0, 0.01, 6}});
  for (int round = 0; round < history.rounds; ++round)
    for (int node = 0; node < options.nodes; node += 2) {
      Group pair{node, node + 1};
      if (node < 4 && round % 2 == 1)
        pair = {node / 2, 3 - node / 2};
      const bool slow = node >= 4 || (lost && pair.front() == 0);
      const double noise = std::exp(0.004 * std::sin(5 * node + 3 * round));
      history.meetings.push_back({round, round, pair, {(slow ? 1e6 : 0.7e6) * noise}});
    }

  const Judgement judgement = judge(options, history);

  CHECK(judgement.nodes[0].paths[0].standing == Standing::good);
  CHECK((judgement.nodes[0].standing == Standing::bad) == lost);
  CHECK((judgement.nodes[0].evidence == Evidence::baseline) == lost);
  CHECK(judgement.nodes[0].against_baseline[0].estimate->ratio ==
        Approx(lost ? 0.7 : 1).epsilon(0.02));
  CHECK(judgement.count(Standing::bad) == (lost ? 1 : 0));
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
