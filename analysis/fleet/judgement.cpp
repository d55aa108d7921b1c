// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/judgement.h"

#include "analysis/fleet/path_judge.h"
#include "analysis/search/sequential_test.h"
#include "analysis/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ncclprobe::analysis::fleet {
namespace {

// Groups that must have broken with a node, and have nothing else in common, before it is said to
// be the reason.
constexpr std::size_t k_groups_to_fail = 2;
constexpr int k_rails_to_compare = 3;
constexpr double k_centre_errors = 3;
// Of a node's random groups, the share that must say something about it against an earlier check.
constexpr double k_least_informing = 0.25;

// What is known of nodes that broke down, or whose groups of that size did.
class Failures {
public:
  Failures(const CheckOptions& options, const History& history, int group)
      : rounds_(history.rounds), group_(group), faults_(static_cast<std::size_t>(options.nodes)),
        out_(static_cast<std::size_t>(options.nodes), false),
        last_measured_(static_cast<std::size_t>(options.nodes), -1) {
    for (const Fault& one : history.faults)
      fail(one);
    for (const Meeting& one : history.meetings) {
      if (static_cast<int>(one.nodes.size()) != group)
        continue;
      if (one.broken())
        broken_.push_back(&one);
      else
        for (int node : one.nodes)
          last_measured_[at(node)] = std::max(last_measured_[at(node)], one.round);
    }
    while (find_another())
      ;
  }

  const std::vector<bool>& out() const { return out_; }
  const Fault& fault(int node) const { return faults_[at(node)]; }
  // It broke, nobody else is to blame, and nothing went well since.
  bool doubtful(int node) const {
    return std::ranges::any_of(broken_, [&](const Meeting* one) {
      return counts(*one, node) && last_measured_[at(node)] <= one->round;
    });
  }
  int broken(int node) const {
    return static_cast<int>(
        std::ranges::count_if(broken_, [&](const Meeting* one) { return counts(*one, node); }));
  }
  // Groups that broke although all members are fine with others.
  std::set<Group> groups() const {
    std::set<Group> groups;
    for (const Meeting* one : broken_)
      if (std::ranges::none_of(one->nodes,
                               [&](int node) { return out_[at(node)] || doubtful(node); }))
        groups.insert(one->nodes);
    return groups;
  }

private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  void fail(const Fault& fault) {
    out_[at(fault.node)] = true;
    faults_[at(fault.node)] = fault;
  }

  // A broken meeting of this node without another one that failed.
  bool counts(const Meeting& one, int node) const {
    return std::ranges::find(one.nodes, node) != one.nodes.end() &&
           std::ranges::none_of(one.nodes,
                                [&](int other) { return other != node && out_[at(other)]; });
  }

  // What speaks against a node that has not finished since.
  struct Charge {
    int node = 0;
    std::set<Group> groups; // whose other members all finished without it
    std::size_t broken = 0; // all groups
  };

  // If they have more in common, another node or what these share may be the reason.
  static bool have_only(const std::set<Group>& groups, int node) {
    Group common = *groups.begin();
    for (const Group& group : groups)
      std::erase_if(common, [&](int one) { return !std::ranges::binary_search(group, one); });
    return common == Group{node};
  }

  bool others_finished(const Group& group, int node) const {
    return std::ranges::all_of(
        group, [&](int other) { return other == node || last_measured_[at(other)] >= 0; });
  }

  static bool share_any(const Charge& one, const Charge& other) {
    return std::ranges::any_of(one.groups,
                               [&](const Group& group) { return other.groups.contains(group); });
  }

  std::vector<Charge> charges() const {
    std::map<int, std::set<Group>> broken;
    for (const Meeting* one : broken_)
      for (int node : one->nodes)
        if (!out_[at(node)] && counts(*one, node) && last_measured_[at(node)] <= one->round)
          broken[node].insert(one->nodes);
    std::vector<Charge> charges;
    for (const auto& [node, groups] : broken) {
      Charge charge{node, {}, groups.size()};
      for (const Group& group : groups)
        if (others_finished(group, node))
          charge.groups.insert(group);
      if (charge.groups.size() >= k_groups_to_fail && have_only(charge.groups, node))
        charges.push_back(std::move(charge));
    }
    return charges;
  }

  // The node with the most groups first: its failure may explain those of its partners. If the same
  // groups say as much against another node, neither is accused.
  bool find_another() {
    std::vector<Charge> gravest = charges();
    std::size_t most = 0;
    for (const Charge& one : gravest)
      most = std::max(most, one.groups.size());
    std::erase_if(gravest, [&](const Charge& one) { return one.groups.size() < most; });
    const auto found = std::ranges::find_if(gravest, [&](const Charge& one) {
      return std::ranges::none_of(gravest, [&](const Charge& other) {
        return other.node != one.node && share_any(one, other);
      });
    });
    if (found == gravest.end())
      return false;
    fail({found->node, rounds_, Reason::never_finished,
          group_ == 2 ? fmt::format("did not finish with any of {} partners", found->broken)
                      : fmt::format("did not finish in any of {} groups of {} nodes", found->broken,
                                    group_)});
    return true;
  }

  int rounds_;
  int group_;
  std::vector<const Meeting*> broken_;
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

std::vector<int> bad_rails_of(const CheckOptions& options, const std::vector<PathVerdict>& paths) {
  std::vector<int> rails;
  if (paths.empty())
    return rails;
  for (int rail = 0; rail + 1 < options.paths(); ++rail)
    if (paths[static_cast<std::size_t>(rail) + 1].standing == Standing::bad)
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

// Each kind of test has the same share of the permitted errors: of nodes and of groups in the
// first groups, the same in the later ones, and of nodes against an earlier check.
double alpha_of_a_kind(const CheckOptions& options, const History& history) {
  return options.alpha /
         (2 + (options.large_group > 0 ? 2 : 0) + (history.earlier.empty() ? 0 : 1));
}

// All paths, in groups of that size.
std::vector<PathJudge> judges_of(const CheckOptions& options, const History& history, int group,
                                 const std::vector<bool>& out) {
  std::vector<PathJudge> judges;
  for (int path = 0; path < options.paths(); ++path) {
    PathInput input{{}, out, {}, alpha_of_a_kind(options, history)};
    for (const Meeting& one : history.meetings)
      if (!one.broken() && static_cast<int>(one.nodes.size()) == group)
        input.values.push_back(
            {&one.nodes, one.trial, std::log(one.times_ns[static_cast<std::size_t>(path)])});
    judges.emplace_back(options, std::move(input));
  }
  return judges;
}

// What to expect of a group by an earlier check: the speed of its slowest node then.
std::optional<double> expected(const History& history, const Group& nodes, std::size_t path) {
  double slowest = -INFINITY;
  for (const int node : nodes) {
    const auto& paths = history.earlier[static_cast<std::size_t>(node)];
    if (path >= paths.size() || !paths[path])
      return std::nullopt;
    slowest = std::max(slowest, paths[path]->slowness);
  }
  return slowest;
}

PathInput::Earlier with_doubt(const std::optional<EarlierSpeed>& earlier, double alpha) {
  if (!earlier)
    return {};
  auto width = [&](double at) { return search::sequence_half_width(earlier->meetings, 1, at); };
  return {earlier->slowness, earlier->half_width * width(alpha) / width(1 - k_confidence),
          earlier->half_width};
}

// All paths against an earlier check. The centre is the change of the fleet, so it does not count.
std::vector<PathJudge> baseline_judges(const CheckOptions& options, const History& history,
                                       const std::vector<bool>& out) {
  std::vector<PathJudge> judges;
  if (history.earlier.empty())
    return judges;
  const double alpha = alpha_of_a_kind(options, history) / 2; // half for the errors of then
  for (int path = 0; path < options.paths(); ++path) {
    const auto at = static_cast<std::size_t>(path);
    PathInput input{{}, out, {}, alpha};
    for (const Meeting& one : history.meetings)
      if (!one.broken() && static_cast<int>(one.nodes.size()) == options.group)
        if (const auto then = expected(history, one.nodes, at))
          input.values.push_back(
              {&one.nodes, one.trial, std::log(one.times_ns[at]) - *then, *then});
    for (const auto& paths : history.earlier)
      input.earlier.push_back(with_doubt(at < paths.size() ? paths[at] : std::nullopt,
                                         alpha / options.nodes / options.paths()));
    judges.emplace_back(options, std::move(input));
  }
  return judges;
}

// Of each node, those that were about as slow then or faster: only a meeting with these shows
// whether it lost. A node that was faster than most has few.
class EarlierPartners {
public:
  EarlierPartners(const CheckOptions& options, const History& history)
      : options_(options), earlier_(history.earlier),
        slowness_(static_cast<std::size_t>(options.paths())) {
    for (const auto& paths : earlier_)
      for (std::size_t path = 0; path < paths.size(); ++path)
        if (paths[path])
          slowness_[path].push_back(paths[path]->slowness);
    for (std::vector<double>& all : slowness_)
      std::ranges::sort(all);
  }

  bool knows(int node) const {
    return !earlier_.empty() && !earlier_[static_cast<std::size_t>(node)].empty();
  }

  // So few that random groups hardly ever consist of them.
  bool are_few(int node) const {
    if (!knows(node))
      return true;
    const auto& paths = earlier_[static_cast<std::size_t>(node)];
    for (std::size_t path = 0; path < paths.size(); ++path) {
      if (!paths[path])
        return true;
      const std::vector<double>& all = slowness_[path];
      const auto end =
          std::ranges::lower_bound(all, paths[path]->slowness + tolerated_shift(options_));
      const double share = static_cast<double>(end - all.begin() - 1) / (options_.nodes - 1);
      if (std::pow(share, options_.group - 1) < k_least_informing)
        return true;
    }
    return false;
  }

private:
  const CheckOptions& options_;
  const std::vector<std::vector<std::optional<EarlierSpeed>>>& earlier_;
  std::vector<std::vector<double>> slowness_; // by path, in ascending order
};

std::vector<PathVerdict> verdicts_of(const std::vector<PathJudge>& judges, int node) {
  std::vector<PathVerdict> verdicts;
  for (const PathJudge& path : judges)
    verdicts.push_back(path.verdict(node));
  return verdicts;
}

bool is_known(const std::vector<PathVerdict>& paths) {
  return !paths.empty() && paths.front().estimate.has_value();
}

// The first kind of evidence that is not good counts, and before it one that is bad.
void add_evidence(NodeVerdict& node, Evidence evidence, const std::vector<PathVerdict>& paths) {
  const Standing standing = together(paths);
  if (node.standing == Standing::bad || standing == Standing::good)
    return;
  if (standing == Standing::bad || node.standing == Standing::good) {
    node.standing = standing;
    node.evidence = evidence;
  }
}

class Judge {
public:
  Judge(const CheckOptions& options, const History& history)
      : options_(options), history_(history), failures_(options, history, options.group),
        later_failures_(options, history, options.large_group) {}

  Judgement judge() {
    const std::vector<PathJudge> first =
        judges_of(options_, history_, options_.group, failures_.out());
    judge_nodes(first);
    add_groups(first, failures_);
    judgement_.first_decided = judgement_.decided();
    if (may_continue())
      judge_further(judges_of(options_, history_, options_.large_group, later_failures_.out()));
    for (NodeVerdict& one : judgement_.nodes)
      one.bad_rails = bad_rails_of(options_, one.decisive());
    judgement_.rails = rails_of(options_, first);
    judgement_.usual_error = first.front().centre_error();
    for (const PathJudge& path : first) {
      if (const auto usual = path.usual_ns())
        judgement_.usual_ns.push_back(*usual);
      judgement_.noise = std::max(judgement_.noise, path.noise());
    }
    return std::move(judgement_);
  }

private:
  void judge_nodes(const std::vector<PathJudge>& first) {
    const std::vector<PathJudge> baseline = baseline_judges(options_, history_, failures_.out());
    const EarlierPartners partners(options_, history_);
    for (int node = 0; node < options_.nodes; ++node) {
      NodeVerdict& one = judgement_.nodes.emplace_back();
      one.paths = verdicts_of(first, node);
      one.standing = together(one.paths);
      one.against_baseline = verdicts_of(baseline, node);
      if (!is_known(one.against_baseline) ||
          (one.standing == Standing::good &&
           together(one.against_baseline) == Standing::undecided &&
           (!has_rounds() || partners.are_few(node))))
        one.against_baseline.clear();
      add_evidence(one, Evidence::baseline, one.against_baseline);
      add_failures(one, node, failures_);
      if (partners.knows(node) && one.against_baseline.empty() && one.standing != Standing::failed)
        ++judgement_.not_compared;
    }
  }

  static void add_failures(NodeVerdict& one, int node, const Failures& failures) {
    one.broken += failures.broken(node);
    if (failures.out()[static_cast<std::size_t>(node)]) {
      one.standing = Standing::failed;
      one.fault_reason = failures.fault(node).reason;
      one.fault = failures.fault(node).what;
    } else if (failures.doubtful(node)) {
      one.standing = Standing::undecided;
    }
  }

  // A group of whole nodes is not named a second time for its rails, unless only some are slow.
  void add_groups(const std::vector<PathJudge>& paths, const Failures& failures) {
    std::vector<GroupVerdict>& all = judgement_.groups;
    for (const Group& nodes : failures.groups())
      all.push_back({nodes, std::nullopt, Standing::bad, std::nullopt});
    for (std::size_t path = 0; path < paths.size(); ++path)
      for (GroupVerdict& one : paths[path].groups()) {
        if (std::ranges::find(all, one.nodes, &GroupVerdict::nodes) != all.end())
          continue;
        if (path > 0)
          one.rail = static_cast<int>(path) - 1;
        all.push_back(std::move(one));
      }
  }

  bool has_rounds() const { return history_.rounds < options_.most_rounds; }
  bool is_large(const Meeting& one) const {
    return static_cast<int>(one.nodes.size()) == options_.large_group;
  }
  bool has_later_groups() const {
    return std::ranges::any_of(history_.meetings,
                               [&](const Meeting& one) { return is_large(one); });
  }
  // With fewer groups, nothing would tell which one is slow.
  bool may_continue() const {
    return options_.large_group > 0 && judgement_.first_decided &&
           (has_later_groups() ||
            (has_rounds() &&
             judgement_.count(Standing::good) >= k_least_large_groups * options_.large_group));
  }

  void judge_further(const std::vector<PathJudge>& later) {
    for (int node = 0; node < options_.nodes; ++node) {
      NodeVerdict& one = judgement_.nodes[static_cast<std::size_t>(node)];
      if (one.standing != Standing::good)
        continue;
      one.large_groups = verdicts_of(later, node);
      if (!has_rounds() && together(one.large_groups) == Standing::undecided)
        ++judgement_.large_undecided; // it is as good as the first groups say
      else
        add_evidence(one, Evidence::large_groups, one.large_groups);
      add_failures(one, node, later_failures_);
    }
    add_groups(later, later_failures_);
    judgement_.large_measured = static_cast<int>(std::ranges::count_if(
        history_.meetings, [&](const Meeting& one) { return is_large(one); }));
    judgement_.large_usual_ns = later.front().usual_ns();
  }

  const CheckOptions& options_;
  const History& history_;
  const Failures failures_;
  const Failures later_failures_;
  Judgement judgement_;
};

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
  return count(Standing::undecided) == 0 &&
         std::ranges::none_of(
             groups, [](const GroupVerdict& one) { return one.standing == Standing::undecided; });
}

Judgement judge(const CheckOptions& options, const History& history) {
  return Judge(options, history).judge();
}

} // namespace ncclprobe::analysis::fleet
