// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/rounds.h"

#include "analysis/search/random_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::fleet {
namespace {

// Of good nodes, beside suspects.
constexpr int k_least_compared = 8;
// A named node is measured until its interval rests on so many meetings, if others need rounds.
constexpr int k_enough_meetings = 6;
// Above so many nodes, two rarely meet twice by chance, and a search for the best partner is slow.
constexpr std::size_t k_few = 64;

class Maker {
public:
  Maker(const CheckOptions& options, const History& history, const Judgement& judgement)
      : options_(options), judgement_(judgement),
        random_(options.seed * 1'000'003 + static_cast<std::uint64_t>(history.rounds)),
        took_part_(static_cast<std::size_t>(options.nodes)),
        broke_(static_cast<std::size_t>(options.nodes)) {
    for (const Meeting& one : history.meetings)
      for (int node : one.nodes) {
        ++took_part_[at(node)];
        if (one.broken())
          broke_[at(node)] = true;
        for (int other : one.nodes)
          if (other > node)
            ++met_[{node, other}];
      }
  }

  Round make() {
    free_ = shuffled(Standing::good);
    for (const GroupVerdict& one : judgement_.groups)
      if (one.standing == Standing::undecided && one.nodes.size() == group())
        repeat(one.nodes);
    // The slowest first: when the reason of slow groups is found, the others are soon good.
    std::vector<int> suspects = shuffled(Standing::undecided);
    std::ranges::stable_sort(suspects, {}, [&](int node) { return slowest_of(node); });
    std::size_t served = 0;
    while (served < suspects.size() && pair_with_good(suspects[served]))
      ++served;
    if (served < suspects.size()) {
      free_.insert(free_.end(), suspects.begin() + static_cast<std::ptrdiff_t>(served),
                   suspects.end());
      mix();
      pair_all(free_.size());
      return std::move(round_);
    }
    for (int node : shuffled(Standing::bad))
      if (is_of_these_groups(node) && meetings_of(node) < k_enough_meetings)
        pair_with_good(node);
    pair_all(std::max<std::size_t>(k_least_compared, round_.groups.size()) * group());
    return std::move(round_);
  }

private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }
  bool in_later_groups() const { return options_.large_group > 0 && judgement_.first_decided; }
  std::size_t group() const {
    return static_cast<std::size_t>(in_later_groups() ? options_.large_group : options_.group);
  }
  std::size_t partners() const { return group() - 1; }

  std::vector<int> shuffled(Standing standing) {
    std::vector<int> nodes;
    for (int node = 0; node < options_.nodes; ++node)
      if (judgement_.nodes[at(node)].standing == standing)
        nodes.push_back(node);
    search::put_in_random_order(nodes, random_);
    return nodes;
  }

  // Those that were left out most often come first; the rest is random.
  void mix() {
    search::put_in_random_order(free_, random_);
    std::ranges::stable_sort(free_, {}, [&](int node) { return took_part_[at(node)]; });
  }

  // The ratio of its slowest path; 0: none was measured.
  double slowest_of(int node) const {
    double least = INFINITY;
    for (const PathVerdict& path : judgement_.nodes[at(node)].decisive())
      least = std::min(least, path.estimate ? path.estimate->ratio : 0);
    return least;
  }

  int meetings_of(int node) const {
    const auto& estimate = judgement_.nodes[at(node)].decisive().front().estimate;
    return estimate ? estimate->meetings : 0;
  }

  // Whether a further one of the present groups says more about a bad node.
  bool is_of_these_groups(int node) const {
    return in_later_groups() == (judgement_.nodes[at(node)].evidence == Evidence::large_groups);
  }

  int met(int a, int b) const {
    const auto found = met_.find(std::minmax(a, b));
    return found == met_.end() ? 0 : found->second;
  }

  int take(std::vector<int>::iterator which) { // from the free nodes
    const int node = *which;
    if (free_.size() > k_few) {
      *which = free_.back();
      free_.pop_back();
    } else {
      free_.erase(which);
    }
    return node;
  }

  // Takes partners from the free nodes, which must suffice: those that the members met least.
  void fill(Group& members) {
    while (members.size() < group()) {
      auto strangeness = [&](int node) {
        int sum = 0;
        for (int member : members)
          sum += met(member, node);
        return sum;
      };
      auto best = free_.begin();
      int least = strangeness(*best);
      for (auto one = free_.begin() + 1; one != free_.end() && least > 0; ++one)
        if (const int now = strangeness(*one); now < least)
          std::tie(best, least) = std::pair(one, now);
      members.push_back(take(best));
    }
  }

  void add(Group members, bool may_hang) {
    std::ranges::sort(members);
    (may_hang ? round_.alone : round_.groups).push_back(std::move(members));
  }

  // False: too few good nodes are free.
  bool pair_with_good(int node) {
    if (free_.size() < partners())
      return false;
    Group members{node};
    fill(members);
    add(std::move(members), broke_[at(node)]);
    return true;
  }

  void repeat(const Group& nodes) {
    auto is_free = [&](int node) { return std::ranges::find(free_, node) != free_.end(); };
    if (!std::ranges::all_of(nodes, is_free))
      return;
    std::erase_if(free_, [&](int node) { return std::ranges::find(nodes, node) != nodes.end(); });
    add(nodes, false);
  }

  // Up to so many of the free nodes.
  void pair_all(std::size_t most) {
    for (std::size_t used = 0; used + group() <= most && free_.size() >= group(); used += group()) {
      Group members{take(free_.begin())};
      fill(members);
      const bool may_hang =
          std::ranges::any_of(members, [&](int node) { return broke_[at(node)]; });
      add(std::move(members), may_hang);
    }
  }

  const CheckOptions& options_;
  const Judgement& judgement_;
  search::Random random_;
  std::vector<int> took_part_;
  std::vector<bool> broke_;
  std::map<std::pair<int, int>, int> met_;
  std::vector<int> free_;
  Round round_;
};

} // namespace

Round next_round(const CheckOptions& options, const History& history, const Judgement& judgement) {
  if (history.rounds >= options.most_rounds || (history.rounds > 0 && judgement.decided()))
    return {};
  return Maker(options, history, judgement).make();
}

} // namespace ncclprobe::analysis::fleet
