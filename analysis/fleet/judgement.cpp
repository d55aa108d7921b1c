// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/judgement.h"

#include "analysis/fleet/path_judge.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis::fleet {
namespace {

// Partners with which a node must have broken, before it is said to be the reason.
constexpr std::size_t k_partners_to_fail = 2;
constexpr int k_rails_to_compare = 3;
constexpr double k_centre_errors = 3;

// What is known of nodes that broke down.
class Failures {
public:
  Failures(const CheckOptions& options, const History& history)
      : history_(history), faults_(static_cast<std::size_t>(options.nodes)),
        out_(static_cast<std::size_t>(options.nodes), false),
        last_measured_(static_cast<std::size_t>(options.nodes), -1) {
    for (const Fault& one : history.faults)
      fail(one);
    for (const Meeting& one : history.meetings)
      if (!one.broken())
        for (int node : one.nodes)
          last_measured_[at(node)] = std::max(last_measured_[at(node)], one.round);
    while (find_another())
      ;
  }

  const std::vector<bool>& out() const { return out_; }
  const Fault& fault(int node) const { return faults_[at(node)]; }
  // It broke, nobody else is to blame, and nothing went well since.
  bool doubtful(int node) const {
    return std::ranges::any_of(history_.meetings, [&](const Meeting& one) {
      return counts(one, node) && last_measured_[at(node)] <= one.round;
    });
  }
  int broken(int node) const {
    return static_cast<int>(std::ranges::count_if(
        history_.meetings, [&](const Meeting& one) { return counts(one, node); }));
  }
  // Pairs that broke although both are fine with others.
  std::set<std::pair<int, int>> links() const {
    std::set<std::pair<int, int>> pairs;
    for (const Meeting& one : history_.meetings)
      if (one.broken() && one.nodes.size() == 2 && std::ranges::none_of(one.nodes, [&](int node) {
            return out_[at(node)] || doubtful(node);
          }))
        pairs.insert({one.nodes.front(), one.nodes.back()});
    return pairs;
  }

private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  void fail(const Fault& fault) {
    out_[at(fault.node)] = true;
    faults_[at(fault.node)] = fault;
  }

  // A broken meeting of this node without another one that failed.
  bool counts(const Meeting& one, int node) const {
    return one.broken() && std::ranges::find(one.nodes, node) != one.nodes.end() &&
           std::ranges::none_of(one.nodes,
                                [&](int other) { return other != node && out_[at(other)]; });
  }

  // The node with the most partners first: its failure may explain those of its partners.
  bool find_another() {
    std::vector<std::set<Group>> partners(out_.size());
    for (const Meeting& one : history_.meetings)
      if (one.broken())
        for (int node : one.nodes)
          if (!out_[at(node)] && counts(one, node) && last_measured_[at(node)] <= one.round)
            partners[at(node)].insert(one.nodes);
    const auto most = std::ranges::max_element(partners, {}, &std::set<Group>::size);
    if (most == partners.end() || most->size() < k_partners_to_fail)
      return false;
    fail({static_cast<int>(most - partners.begin()), history_.rounds, Reason::never_finished,
          "did not finish with any of " + std::to_string(most->size()) + " partners"});
    return true;
  }

  const History& history_;
  std::vector<Fault> faults_; // of the nodes that are out
  std::vector<bool> out_;
  std::vector<int> last_measured_; // round; -1: never
};

Standing together(const std::vector<PathVerdict>& paths) {
  auto any = [&](Standing standing) {
    return std::ranges::find(paths, standing, &PathVerdict::standing) != paths.end();
  };
  return any(Standing::bad)         ? Standing::bad
         : any(Standing::undecided) ? Standing::undecided
                                    : Standing::good;
}

std::vector<int> bad_rails_of(const CheckOptions& options, const NodeVerdict& node) {
  std::vector<int> rails;
  for (int rail = 0; rail + 1 < options.paths(); ++rail)
    if (node.paths[static_cast<std::size_t>(rail) + 1].standing == Standing::bad)
      rails.push_back(rail);
  return static_cast<int>(rails.size()) == options.rails ? std::vector<int>{} : rails;
}

std::vector<RailVerdict> rails_of(const CheckOptions& options,
                                  const std::vector<PathJudge>& paths) {
  std::vector<RailVerdict> rails;
  if (options.rails < k_rails_to_compare)
    return rails;
  std::vector<double> times;
  for (std::size_t path = 1; path < paths.size(); ++path)
    if (const auto usual = paths[path].usual_ns())
      times.push_back(std::log(*usual));
  if (static_cast<int>(times.size()) < options.rails)
    return rails;
  const double middle = median(times);
  for (int rail = 0; rail < options.rails; ++rail) {
    const double shift = times[static_cast<std::size_t>(rail)] - middle;
    const double error = paths[static_cast<std::size_t>(rail) + 1].centre_error();
    rails.push_back(
        {rail, std::exp(-shift), shift - k_centre_errors * error > tolerated_shift(options)});
  }
  return rails;
}

// A link of a whole node is not named a second time for its rails, unless only some are slow.
void add_links(std::vector<LinkVerdict>& all, std::vector<LinkVerdict> more, int path) {
  for (LinkVerdict& one : more) {
    const bool known = std::ranges::any_of(all, [&](const LinkVerdict& other) {
      return other.first == one.first && other.second == one.second;
    });
    if (known)
      continue;
    if (path > 0)
      one.rail = path - 1;
    all.push_back(one);
  }
}

} // namespace

double bad_shift(const CheckOptions& options) {
  return -std::log1p(-options.slower);
}

double tolerated_shift(const CheckOptions& options) {
  return bad_shift(options) / 2;
}

int Judgement::count(Standing standing) const {
  return static_cast<int>(std::ranges::count(nodes, standing, &NodeVerdict::standing));
}

bool Judgement::decided() const {
  return count(Standing::undecided) == 0 && std::ranges::none_of(links, [](const LinkVerdict& one) {
           return one.standing == Standing::undecided;
         });
}

Judgement judge(const CheckOptions& options, const History& history) {
  const Failures failures(options, history);
  std::vector<PathJudge> paths;
  for (int path = 0; path < options.paths(); ++path)
    paths.emplace_back(options, history, path, failures.out());
  Judgement judgement;
  for (int node = 0; node < options.nodes; ++node) {
    NodeVerdict& one = judgement.nodes.emplace_back();
    for (const PathJudge& path : paths)
      one.paths.push_back(path.verdict(node));
    one.bad_rails = bad_rails_of(options, one);
    one.broken = failures.broken(node);
    const bool out = failures.out()[static_cast<std::size_t>(node)];
    one.fault_reason = out ? failures.fault(node).reason : Reason::none;
    one.fault = failures.fault(node).what;
    one.standing = out                       ? Standing::failed
                   : failures.doubtful(node) ? Standing::undecided
                                             : together(one.paths);
  }
  for (const auto& [first, second] : failures.links())
    judgement.links.push_back({first, second, std::nullopt, Standing::bad, std::nullopt});
  for (int path = 0; path < options.paths(); ++path)
    add_links(judgement.links, paths[static_cast<std::size_t>(path)].links(), path);
  judgement.rails = rails_of(options, paths);
  judgement.usual_error = paths.front().centre_error();
  for (const PathJudge& path : paths) {
    if (const auto usual = path.usual_ns())
      judgement.usual_ns.push_back(*usual);
    judgement.noise = std::max(judgement.noise, path.noise());
  }
  return judgement;
}

} // namespace ncclprobe::analysis::fleet
