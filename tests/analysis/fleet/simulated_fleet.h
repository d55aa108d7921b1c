// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/fleet/judgement.h"
#include "analysis/fleet/rounds.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

// The real search on a simulated fleet.
namespace ncclprobe::analysis::fleet {

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
  std::set<int> hanging_together{}; // groups that hold all of them
  std::map<int, int> crashing{};    // node to the round in which it does
  double flicker = 0;               // probability of a measurement that takes twice as long
  double drift = 0;                 // standard deviation between trials
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
    if (!holds_all(group, fleet_.hanging_together) && std::ranges::none_of(group, [&](int node) {
          return fleet_.hanging.contains(node) ||
                 (group.size() > 2 && fleet_.hanging_in_groups.contains(node));
        }))
      for (int path = 0; path < options_.paths(); ++path)
        meeting.times_ns.push_back(time_of(group, path));
    history.meetings.push_back(std::move(meeting));
  }

  static bool holds_all(const Group& group, const std::set<int>& nodes) {
    return !nodes.empty() && std::ranges::includes(group, nodes);
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
    if (holds_all(group, together))
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

inline Result checked(const CheckOptions& options, const SimulatedFleet& fleet,
                      History begin = {}) {
  return Check(options, fleet).run(std::move(begin));
}

// What that check says of its nodes, for a later one.
inline History known_from(const Result& earlier) {
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

inline CheckOptions of_nodes(int nodes) {
  return {.nodes = nodes, .seed = 7};
}

} // namespace ncclprobe::analysis::fleet
