// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/late_causes.h"

#include "analysis/job/delay_origins.h"
#include "analysis/job/delay_sums.h"
#include "analysis/job/step_blocks.h"
#include "analysis/job/step_path.h"
#include "analysis/job/step_replay.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::job {
namespace {

constexpr double k_main_part = 0.3; // of a delay that one cause explains
constexpr double k_notable = 0.01;  // of a step
constexpr std::size_t k_most_replays = 8;
constexpr double k_shown = 0.6; // of a rank's delays with kernels, to stand for the others

class HeldUpSearch {
public:
  HeldUpSearch(const StepGraph& graph, const StepModel& model, double error_ns)
      : graph_(graph), model_(model), error_ns_(error_ns), origins_(graph, model),
        includes_(graph.communicators.size() * graph.communicators.size(), -1) {
    std::uint32_t kinds = 0;
    for (const StepRun& run : graph.runs)
      kinds = std::max(kinds, run.kind + 1);
    for (std::uint32_t kind = 0; kind < kinds; ++kind)
      blocks_.emplace_back(graph, kind);
  }

  HeldUp find() {
    for (std::uint32_t run = 0; run < graph_.runs.size(); ++run)
      if (graph_.runs[run].steps > 1)
        read(run);
    take_from_other_steps();
    HeldUp out;
    out.kernels_recorded = origins_.knows_kernels();
    out.phases = origins_.phases();
    for (std::size_t r = 0; r < graph_.hosts.size(); ++r)
      if (!graph_.hosts[r].loading.empty())
        out.loading_marked.push_back(graph_.ranks[r]);
    for (const StepBlocks& one : blocks_) {
      out.steps.push_back(one.steps());
      out.step_ns.push_back(0);
    }
    for (const auto& [key, sum] : shares_)
      out.step_ns[std::get<0>(key)] +=
          sum.sum.all / static_cast<double>(blocks_[std::get<0>(key)].steps());
    take_path(out);
    take_hold_ups(out);
    take_late(out);
    return out;
  }

private:
  using Seen = std::pair<DelayOrigin, CauseSeenBy>;
  struct ShareSum {
    SumOfBlocks sum;
    std::map<int, double> by_who; // rank, or communicator
  };
  struct LateSum {
    SumOfBlocks delay;
    std::uint64_t times = 0;
    std::map<Seen, CauseSum> causes;
  };
  using LateKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>; // kind, communicator,
                                                                           // rank

  void read(std::uint32_t number) {
    const StepRun& run = graph_.runs[number];
    const MeasuredRun measured = measure(graph_, run, model_.waited, &model_.typical);
    const StepPath path(graph_, run, measured, model_.typical);
    const AlikeTransfers alike(graph_, run, path);
    read_path(number, measured, path, alike);
    for (const Meeting& meeting : run.meetings)
      read_meeting(number, measured, meeting, path, alike);
  }

  // Kernels are recorded in some steps of many. What they show of most of a rank's delays stands
  // for those in other steps for which the launches blame the host, which they do too often.
  void take_from_other_steps() {
    std::map<std::pair<std::uint32_t, int>, std::map<DelayCause, double>> shown; // kind, rank
    for (const auto& [key, sum] : hold_ups_)
      if (key.second.second == CauseSeenBy::kernels)
        shown[{key.first, key.second.first.rank}][key.second.first.cause] += sum.sum.all;
    std::map<std::pair<std::uint32_t, int>, DelayCause> main;
    for (const auto& [key, causes] : shown) {
      double all = 0;
      for (const auto& [cause, excess_ns] : causes)
        all += excess_ns;
      const auto most = std::ranges::max_element(causes, {}, [](auto& one) { return one.second; });
      if (most->second >= k_shown * all)
        main[key] = most->first;
    }
    for (const auto& [key, sum] : late_by_launches_) {
      const auto found = main.find(key);
      const DelayCause cause = found == main.end() ? DelayCause::host : found->second;
      ShareSum& to = shares_[{key.first, cause, -1}];
      to.sum.add(sum);
      to.by_who[key.second] += sum.all;
    }
    auto move = [&](auto& sums, auto key_of, auto seen_of) {
      for (auto at = sums.begin(); at != sums.end();) {
        const Seen seen = seen_of(at->first);
        const auto found = main.find(key_of(at->first));
        if (seen.second != CauseSeenBy::launches || seen.first.cause != DelayCause::host ||
            found == main.end()) {
          ++at;
          continue;
        }
        auto key = at->first;
        seen_of(key) = {{found->second, seen.first.rank, -1}, CauseSeenBy::other_steps};
        auto sum = std::move(at->second);
        at = sums.erase(at);
        sums[key].add(sum);
      }
    };
    auto itself = [](auto& key) -> auto& {
      return key;
    };
    auto second = [](auto& key) -> auto& {
      return key.second;
    };
    move(
        hold_ups_, [](auto& key) { return std::pair(key.first, key.second.first.rank); }, second);
    for (auto& [key, late] : late_)
      move(
          late.causes,
          [kind = std::get<0>(key)](auto& seen) { return std::pair(kind, seen.first.rank); },
          itself);
    // Then one row for each cause: what kernels show, with what follows from them.
    auto join = [](auto& sums, auto seen_of) {
      for (auto at = sums.begin(); at != sums.end();) {
        auto key = at->first;
        if (seen_of(key).second != CauseSeenBy::other_steps) {
          ++at;
          continue;
        }
        seen_of(key).second = CauseSeenBy::kernels;
        const auto with = sums.find(key);
        if (with == sums.end()) {
          ++at;
          continue;
        }
        at->second.add(with->second);
        sums.erase(with);
        ++at;
      }
    };
    join(hold_ups_, second);
    for (auto& [key, late] : late_)
      join(late.causes, itself);
  }

  // The critical path from the last end of the run to its begin.
  void read_path(std::uint32_t number, const MeasuredRun& measured, const StepPath& path,
                 const AlikeTransfers& alike) {
    const StepRun& run = graph_.runs[number];
    const StepBlocks& blocks = blocks_[run.kind];
    std::uint32_t last_rank = 0;
    std::int64_t last_ns = k_time_unknown;
    for (std::uint32_t r = 0; r < run.ranks.size(); ++r)
      if (!run.ranks[r].empty() && run.ranks[r].back().end_ns > last_ns) {
        last_ns = run.ranks[r].back().end_ns;
        last_rank = r;
      }
    if (last_ns == k_time_unknown)
      return;
    path.back_from_end(
        last_rank, static_cast<std::uint32_t>(run.ranks[last_rank].size() - 1),
        [&](const PathPart& part) {
          const GraphOperation& own = run.ranks[part.rank][part.operation];
          if (own.step <= run.first)
            return false;
          const std::size_t block = blocks.block_of(own.step);
          auto add = [&](DelayCause cause, double length_ns) {
            if (length_ns == 0)
              return;
            const bool moves = cause == DelayCause::transfer;
            const int operations = moves ? static_cast<int>(graph_.slots[own.slot].group) : -1;
            ShareSum& to = shares_[{run.kind, cause, operations}];
            to.sum.add(block, blocks.blocks(), length_ns);
            to.by_who[moves ? static_cast<int>(own.communicator) : graph_.ranks[part.rank]] +=
                length_ns;
          };
          if (part.cause == PathCause::transfer) {
            add(DelayCause::transfer, static_cast<double>(part.length_ns));
          } else {
            const auto [parts, by_launches_ns] =
                origins_.divided(number, measured[part.rank][part.operation], part);
            add(DelayCause::computing, parts[0]);
            add(DelayCause::copies, parts[1]);
            add(DelayCause::input, parts[2]);
            add(DelayCause::host, parts[3]);
            if (by_launches_ns > 0)
              late_by_launches_[{run.kind, graph_.ranks[part.rank]}].add(block, blocks.blocks(),
                                                                         by_launches_ns);
          }
          if (part.excess_ns > 0 && path.is_notable(part)) {
            const DelayOrigins::Origin origin =
                origins_.of(number, measured[part.rank][part.operation], part, alike);
            HoldUpSum& to = hold_ups_[{run.kind, {origin.origin, origin.seen_by}}];
            to.phases.ns[origin.phase] += part.excess_ns;
            to.sum.add(block, blocks.blocks(), part.excess_ns);
            to.by_step[own.step] += part.excess_ns;
            to.places.push_back({number, part.rank, part.operation, part.cause});
          }
          return true;
        });
  }

  // Are all ranks of b in a?
  bool includes(std::uint32_t a, std::uint32_t b) {
    signed char& known = includes_[a * graph_.communicators.size() + b];
    if (known < 0)
      known = std::ranges::includes(sorted(graph_.communicators[a].ranks),
                                    sorted(graph_.communicators[b].ranks));
    return known != 0;
  }
  static std::vector<int> sorted(std::vector<int> ranks) {
    std::ranges::sort(ranks);
    return ranks;
  }

  void read_meeting(std::uint32_t number, const MeasuredRun& measured, const Meeting& meeting,
                    const StepPath& path, const AlikeTransfers& alike) {
    const StepRun& run = graph_.runs[number];
    if (!meeting.is_complete || meeting.members < 2)
      return;
    const GraphOperation& last = run.ranks[meeting.last_rank][meeting.last_operation];
    if (last.step <= run.first)
      return;
    ++meetings_[{run.kind, last.communicator}];
    const auto delay_ns = static_cast<double>(meeting.last_begin_ns - meeting.second_last_begin_ns);
    if (delay_ns <= error_ns_)
      return;
    const StepBlocks& blocks = blocks_[run.kind];
    LateSum& to = late_[{run.kind, last.communicator, meeting.last_rank}];
    ++to.times;
    to.delay.add(blocks.block_of(last.step), blocks.blocks(), delay_ns);
    // Until all ranks of the meeting had met before, at most a step back.
    PathPart largest;
    largest.excess_ns = 0;
    path.back_from_begin(meeting.last_rank, meeting.last_operation, [&](const PathPart& part) {
      const GraphOperation& at = run.ranks[part.rank][part.operation];
      const bool is_before = at.step < last.step;
      if (part.cause == PathCause::transfer &&
          (includes(at.communicator, last.communicator) ||
           (is_before && largest.excess_ns >= k_main_part * delay_ns) || at.step + 1 < last.step))
        return false;
      if (part.excess_ns > largest.excess_ns)
        largest = part;
      return true;
    });
    DelayOrigins::Origin origin;
    if (largest.excess_ns >= k_main_part * delay_ns)
      origin = origins_.of(number, measured[largest.rank][largest.operation], largest, alike);
    CauseSum& cause = to.causes[{origin.origin, origin.seen_by}];
    ++cause.times;
    cause.delay_ns += delay_ns;
    cause.phases.ns[origin.phase] += delay_ns;
    if (origin.origin.cause != DelayCause::many)
      cause.places.push_back({number, largest.rank, largest.operation, largest.cause});
  }

  // What steps of this kind would gain if these places took as long as usual.
  PerStep gain(std::uint32_t kind, std::vector<ExcessPlace> places) const {
    std::ranges::sort(places, {}, &ExcessPlace::key);
    auto is_same = [](const ExcessPlace& a, const ExcessPlace& b) { return a.key() == b.key(); };
    places.erase(std::unique(places.begin(), places.end(), is_same), places.end());
    const StepBlocks& blocks = blocks_[kind];
    std::vector<std::vector<double>> sums(1, std::vector<double>(blocks.blocks()));
    for (auto at = places.begin(); at != places.end();) {
      const StepRun& run = graph_.runs[at->run];
      const MeasuredRun measured = measure(graph_, run, model_.waited, &model_.typical);
      const StepPath path(graph_, run, measured, model_.typical);
      MeasuredRun changed = measured;
      std::map<std::uint32_t, double> shorter; // transfers of a meeting, on all its ranks
      const std::uint32_t number = at->run;
      for (; at != places.end() && at->run == number; ++at)
        if (at->cause == PathCause::transfer)
          shorter[run.ranks[at->rank][at->operation].meeting] =
              path.excess_of_transfer(at->rank, at->operation);
        else
          changed[at->rank][at->operation].gap_ns -=
              static_cast<std::int64_t>(path.excess_of_gap(at->rank, at->operation));
      for (std::size_t r = 0; !shorter.empty() && r < run.ranks.size(); ++r)
        for (std::size_t i = 0; i < run.ranks[r].size(); ++i)
          if (const auto by = shorter.find(run.ranks[r][i].meeting); by != shorter.end())
            changed[r][i].duration_ns = std::max<std::int64_t>(
                0, changed[r][i].duration_ns - static_cast<std::int64_t>(by->second));
      const std::vector<double> before =
          step_lengths_ns(run, replay(graph_, run, measured, model_.waited));
      const std::vector<double> after =
          step_lengths_ns(run, replay(graph_, run, changed, model_.waited));
      // The length of a step ends with the next one's first operation, so what delays that belongs
      // to the next step.
      for (std::uint32_t i = 0; i < before.size(); ++i)
        sums[0][blocks.block_of(run.first + 1 + i)] += before[i] - after[i];
    }
    const double all = std::accumulate(sums[0].begin(), sums[0].end(), 0.0);
    return {all / static_cast<double>(blocks.steps()), blocks.intervals(sums)[0]};
  }

  PerStep per_step(std::uint32_t kind, const SumOfBlocks& sum) const {
    std::vector<double> of_blocks = sum.blocks;
    of_blocks.resize(blocks_[kind].blocks());
    return {sum.all / static_cast<double>(blocks_[kind].steps()),
            blocks_[kind].intervals({of_blocks})[0]};
  }

  void take_path(HeldUp& out) const {
    for (const auto& [key, sum] : shares_) {
      const auto& [kind, cause, operations] = key;
      PathShare row;
      row.kind = kind;
      row.cause = cause;
      row.operations = operations;
      row.time = per_step(kind, sum.sum);
      row.share = out.step_ns[kind] > 0 ? row.time.mean_ns / out.step_ns[kind] : 0;
      const auto most =
          std::ranges::max_element(sum.by_who, {}, [](auto& one) { return one.second; });
      row.most = most->first;
      row.most_share = sum.sum.all > 0 ? most->second / sum.sum.all : 0;
      out.path.push_back(row);
    }
    std::ranges::stable_sort(out.path, [](const PathShare& a, const PathShare& b) {
      return std::tuple(a.kind, -a.time.mean_ns) < std::tuple(b.kind, -b.time.mean_ns);
    });
  }

  void take_hold_ups(HeldUp& out) const {
    std::vector<std::vector<ExcessPlace>> places;
    std::vector<std::pair<HoldUp, const HoldUpSum*>> rows;
    for (const auto& [key, sum] : hold_ups_) {
      HoldUp row;
      row.kind = key.first;
      std::tie(row.origin, row.seen_by) = key.second;
      row.phase = sum.phases.main();
      row.excess = per_step(row.kind, sum.sum);
      for (const auto& [step, excess_ns] : sum.by_step)
        row.steps += excess_ns > k_notable * out.step_ns[row.kind];
      if (row.steps > 0)
        rows.emplace_back(row, &sum);
    }
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
      return std::tuple(a.first.kind, -a.first.excess.mean_ns) <
             std::tuple(b.first.kind, -b.first.excess.mean_ns);
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i < k_most_replays)
        rows[i].first.gain = gain(rows[i].first.kind, rows[i].second->places);
      out.hold_ups.push_back(rows[i].first);
    }
  }

  void take_late(HeldUp& out) const {
    std::vector<std::pair<LateRank, const LateSum*>> rows;
    for (const auto& [key, sum] : late_) {
      const auto& [kind, communicator, rank] = key;
      LateRank row;
      row.kind = kind;
      row.communicator = static_cast<int>(communicator);
      row.rank = graph_.ranks[rank];
      row.times = sum.times;
      row.meetings = meetings_.at({kind, communicator});
      row.delay = per_step(kind, sum.delay);
      for (const auto& [origin, cause] : sum.causes)
        row.causes.push_back({origin.first, origin.second, cause.phases.main(), cause.times,
                              cause.delay_ns / static_cast<double>(blocks_[kind].steps())});
      std::ranges::stable_sort(row.causes, std::ranges::greater{}, &LateCause::delay_ns);
      rows.emplace_back(std::move(row), &sum);
    }
    std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
      return std::tuple(a.first.kind, -a.first.delay.mean_ns) <
             std::tuple(b.first.kind, -b.first.delay.mean_ns);
    });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      auto& [row, sum] = rows[i];
      const Seen main{row.causes.front().origin, row.causes.front().seen_by};
      if (i < k_most_replays && main.first.cause != DelayCause::many)
        row.gain = gain(row.kind, sum->causes.at(main).places);
      out.late.push_back(std::move(row));
    }
  }

  const StepGraph& graph_;
  const StepModel& model_;
  double error_ns_;
  DelayOrigins origins_;
  std::vector<signed char> includes_; // by pair of communicators; -1: not asked yet
  std::vector<StepBlocks> blocks_;    // by kind
  std::map<std::tuple<std::uint32_t, DelayCause, int>, ShareSum> shares_; // kind, cause, class
  std::map<std::pair<std::uint32_t, int>, SumOfBlocks> late_by_launches_; // kind, rank of the job
  std::map<std::pair<std::uint32_t, Seen>, HoldUpSum> hold_ups_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> meetings_;
  std::map<LateKey, LateSum> late_;
};

} // namespace

HeldUp find_held_up(const StepGraph& graph, const StepModel& model, double error_ns) {
  return HeldUpSearch(graph, model, error_ns).find();
}

} // namespace ncclprobe::analysis::job
