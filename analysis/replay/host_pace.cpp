// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/host_pace.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

namespace ncclprobe::analysis::replay {
namespace {

// An operation that begins this soon after its call was late: its GPU had nothing else to do.
constexpr std::int64_t k_late_ns = 100'000;
constexpr std::size_t k_fewest_seen = 3; // times of computing without a late host
// Computing cannot last longer than the shortest times that it had; a few of them may be errors.
constexpr double k_short_share = 0.1;
// Computing without a late host lasts at most this much longer than its kernels: the pauses between
// them.
constexpr double k_with_pauses = 1.5;
constexpr std::size_t k_fewest_calls = 8;
constexpr double k_most_before_end = 0.05; // share of calls
constexpr double k_clear_deviations = 2;   // of a fair coin's share
constexpr int k_pieces = 16;               // of computing that is spread

// How a unit began in one step.
struct UnitBegin {
  std::int64_t gap_ns = 0; // since computing went on
  std::int64_t from_ns = 0, begin_ns = 0;
  bool queued = false; // it waited for its stream
  bool late = false;   // it waited for the host
  // Computing was where the operation before it says. If that was queued, computing was further.
  bool clear = false;
};

std::vector<UnitBegin> begins_of(const std::vector<UnitPlace>& units,
                                 const std::vector<bool>& waited, const TimedStep& step) {
  std::vector<UnitBegin> begins;
  std::map<int, std::int64_t> free_ns; // by communicator
  std::int64_t at_ns = step.begun_ns;
  bool clear = true;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const UnitTimes own = times_of(units[i], step);
    const auto free = free_ns.try_emplace(units[i].communicator, step.begun_ns).first;
    UnitBegin one;
    one.from_ns = at_ns;
    one.begin_ns = own.begin_ns;
    one.gap_ns = std::max<std::int64_t>(0, own.begin_ns - at_ns);
    one.queued = free->second > at_ns && own.begin_ns < free->second + k_queued_ns;
    one.late = own.begin_ns < own.called_ns + k_late_ns;
    one.clear = clear && !one.queued;
    begins.push_back(one);
    at_ns = waited[i] ? std::max(at_ns + one.gap_ns, own.end_ns) : at_ns + one.gap_ns;
    clear = waited[i] || !one.queued;
    free->second = std::max(free->second, own.end_ns);
  }
  return begins;
}

// What is known of the computing before one unit.
struct Seen {
  std::vector<double> without_late_host, of_kernels, all;
};

double usual_of(Seen& seen) {
  double ns = quantile(seen.all, k_short_share);
  const bool has_free = seen.without_late_host.size() >= k_fewest_seen;
  if (has_free)
    ns = std::min(ns, median_in_place(seen.without_late_host));
  if (!seen.of_kernels.empty())
    ns = std::min(ns, (has_free ? k_with_pauses : 1) * median_in_place(seen.of_kernels));
  return ns;
}

} // namespace

GpuComputing gpu_computing(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                           const std::vector<TimedStep>& steps, const RecordedKernels& kernels) {
  std::vector<std::vector<UnitBegin>> begins;
  std::vector<Seen> seen(units.size());
  for (const TimedStep& step : steps) {
    begins.push_back(begins_of(units, waited, step));
    for (std::size_t i = 0; i < units.size(); ++i) {
      const UnitBegin& one = begins.back()[i];
      if (!one.clear)
        continue;
      const auto gap_ns = static_cast<double>(one.gap_ns);
      seen[i].all.push_back(gap_ns);
      if (!one.late)
        seen[i].without_late_host.push_back(gap_ns);
      else if (const auto busy = kernels.computing_ns({one.from_ns, one.begin_ns}))
        seen[i].of_kernels.push_back(*busy);
    }
  }
  GpuComputing out;
  const Computing medians = computing_of(units, waited, steps, kernels);
  for (std::size_t i = 0; i < units.size(); ++i)
    out.usual_ns.push_back(seen[i].all.empty() ? medians.before_ns[i] : usual_of(seen[i]));
  for (const std::vector<UnitBegin>& step : begins) {
    std::vector<double> computing;
    double late_ns = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const auto gap_ns = static_cast<double>(step[i].gap_ns);
      const bool is_exact = step[i].clear && !step[i].late;
      computing.push_back(is_exact ? gap_ns : out.usual_ns[i]);
      if (step[i].late)
        late_ns += std::max(0.0, gap_ns - out.usual_ns[i]);
    }
    out.steps_ns.push_back(std::move(computing));
    out.host_late_ns.push_back(late_ns);
  }
  return out;
}

void HostWaitSigns::add(const std::vector<UnitPlace>& units, const std::vector<TimedStep>& steps) {
  for (std::size_t i = 0; i < units.size(); ++i) {
    Signs& sums = signs_[{units.size(), i}];
    std::optional<std::pair<std::int64_t, std::int64_t>> before; // since the call, since the end
    for (const TimedStep& step : steps) {
      std::int64_t end_ns = step.begun_ns;
      for (std::size_t call = 0; call < units[i].first; ++call)
        end_ns = std::max(end_ns, step.calls[call].end_ns);
      const std::int64_t called_ns = step.calls[units[i].first].called_ns;
      const std::int64_t last_ns =
          i == 0 ? step.called_before_ns : step.calls[units[i].first - 1].called_ns;
      ++sums.calls;
      sums.before_end += called_ns < end_ns ? 1 : 0;
      const std::pair own{called_ns - last_ns, called_ns - end_ns};
      if (before) {
        const std::int64_t since_call_ns = std::abs(own.first - before->first);
        const std::int64_t since_end_ns = std::abs(own.second - before->second);
        ++sums.changes;
        sums.steadier_since_end += since_end_ns < since_call_ns    ? 1
                                   : since_end_ns == since_call_ns ? 0.5
                                                                   : 0;
      }
      before = own;
    }
  }
}

bool HostWaitSigns::waits(std::size_t units, std::size_t unit) const {
  const auto found = signs_.find({units, unit});
  if (found == signs_.end() || found->second.calls < k_fewest_calls)
    return false;
  const Signs& sums = found->second;
  const double clearly = 0.5 + k_clear_deviations * 0.5 / std::sqrt(std::max(1.0, sums.changes));
  return static_cast<double>(sums.before_end) <=
             k_most_before_end * static_cast<double>(sums.calls) &&
         sums.steadier_since_end > clearly * sums.changes;
}

std::vector<std::vector<double>> host_times(const std::vector<UnitPlace>& units,
                                            const std::vector<bool>& host_waits,
                                            const std::vector<TimedStep>& steps) {
  std::vector<std::vector<double>> all;
  if (steps.empty())
    return all;
  std::int64_t at_ns = steps.front().begun_ns; // the host has come here
  for (const TimedStep& step : steps) {
    std::vector<double> own;
    std::int64_t end_ns = step.begun_ns;
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (host_waits[i])
        at_ns = std::max(at_ns, end_ns);
      const std::int64_t called_ns = step.calls[units[i].first].called_ns;
      own.push_back(static_cast<double>(std::max<std::int64_t>(0, called_ns - at_ns)));
      at_ns = std::max(at_ns, called_ns);
      end_ns = std::max(end_ns, times_of(units[i], step).end_ns);
    }
    all.push_back(std::move(own));
  }
  return all;
}

double exposed_ns(const std::vector<UnitPlace>& units, const std::vector<bool>& waited,
                  const std::vector<bool>& host_waits, const std::vector<TimedStep>& steps,
                  const std::vector<std::vector<double>>& computing_ns) {
  timeline::Spans communication, computing;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const TimedStep& step = steps[s];
    auto free_ns = static_cast<double>(step.begun_ns); // computing has come here
    auto end_ns = static_cast<double>(step.begun_ns);
    auto called_ns = static_cast<double>(step.called_before_ns);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const UnitTimes own = times_of(units[i], step);
      const double from_ns = host_waits[i] ? std::max(called_ns, end_ns) : called_ns;
      const double host_ns = static_cast<double>(own.called_ns) - from_ns;
      for (int piece = 0; piece < k_pieces; ++piece) {
        const double launched_ns = from_ns + host_ns * piece / k_pieces;
        const double begin_ns = std::max(free_ns, launched_ns);
        free_ns = begin_ns + computing_ns[s][i] / k_pieces;
        computing.push_back({std::llround(begin_ns), std::llround(free_ns)});
      }
      communication.push_back({own.begin_ns, own.end_ns});
      called_ns = static_cast<double>(own.called_ns);
      end_ns = std::max(end_ns, static_cast<double>(own.end_ns));
      if (waited[i])
        free_ns = std::max(free_ns, static_cast<double>(own.end_ns));
    }
  }
  communication = timeline::unite(std::move(communication));
  computing = timeline::unite(std::move(computing));
  return static_cast<double>(timeline::length(communication) -
                             timeline::shared_length(communication, computing));
}

} // namespace ncclprobe::analysis::replay
