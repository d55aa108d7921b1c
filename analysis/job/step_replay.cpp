// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_replay.h"

#include "analysis/job/waited_ends.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::job {
namespace {

struct ReplayMeeting {
  std::uint32_t missing = 0;
  std::int64_t last_begin_ns = k_time_unknown;
};

class RankReplay {
public:
  RankReplay(const StepGraph& graph, const std::vector<GraphOperation>& operations,
             const std::vector<MeasuredOperation>& measured, const std::vector<WaitedFor>& waited,
             std::vector<ReplayMeeting>& meetings)
      : operations_(operations), measured_(measured), meetings_(meetings),
        ends_(graph, operations, waited), streams_(graph.communicators.size()) {
    times_.reserve(operations.size());
  }

  // Begins as many operations as it can. False: none.
  bool go_on() {
    const std::size_t before = times_.size();
    while (times_.size() < operations_.size() && begin_next()) {
    }
    return times_.size() > before;
  }
  bool is_done() const { return times_.size() == operations_.size(); }
  // Without its meeting.
  void give_up() {
    for (std::size_t i = times_.size(); i < operations_.size(); ++i)
      times_.push_back({measured_[i].ready_ns, operations_[i].begin_ns, operations_[i].end_ns});
  }
  std::vector<ReplayedTimes> take() {
    for (std::uint32_t i = 0; i < times_.size(); ++i)
      times_[i].end_ns = end_of(i).value_or(operations_[i].end_ns);
    return std::move(times_);
  }

private:
  std::optional<std::int64_t> end_of(std::uint32_t i) const {
    const MeasuredOperation& one = measured_[i];
    if (!one.waits)
      return times_[i].begin_ns + one.duration_ns;
    const ReplayMeeting& meeting = meetings_[operations_[i].meeting];
    if (meeting.missing > 0)
      return std::nullopt;
    return meeting.last_begin_ns + one.duration_ns;
  }

  // Computing takes as long as it did, less what the operations beside it wait less.
  std::optional<std::int64_t> gap_after(std::int64_t base_ns, const MeasuredOperation& one) const {
    const MeasuredOperation::Slowed& slowed = one.slowed;
    if (slowed.by_ns <= 0)
      return one.gap_ns;
    Waiting waiting(base_ns);
    for (std::uint32_t i : slowed.beside) {
      const ReplayMeeting& meeting = meetings_[operations_[i].meeting];
      if (meeting.missing > 0)
        return std::nullopt;
      waiting.add(times_[i].begin_ns, meeting.last_begin_ns);
    }
    const double share = std::min(1.0, static_cast<double>(waiting.sum_ns()) /
                                           static_cast<double>(slowed.waited_ns));
    return one.gap_ns - std::llround((1 - share) * static_cast<double>(slowed.by_ns));
  }

  struct Stream {
    std::int64_t free_ns = k_time_unknown;
    std::vector<std::uint32_t> running; // whose ends are not known yet
  };

  bool begin_next() {
    const auto i = static_cast<std::uint32_t>(times_.size());
    const GraphOperation& own = operations_[i];
    const MeasuredOperation& one = measured_[i];
    ReplayedTimes times;
    Stream& stream = streams_[own.communicator];
    if (i > 0 && own.with_previous) {
      times.ready_ns = times_[i - 1].ready_ns;
      times.begin_ns = times_[i - 1].begin_ns + one.gap_ns;
    } else {
      if (!ends_.advance(i, [this](std::uint32_t j) { return end_of(j); }))
        return false;
      while (!one.ignores_stream && !stream.running.empty()) {
        const auto end_ns = end_of(stream.running.back());
        if (!end_ns)
          return false;
        stream.free_ns = std::max(stream.free_ns, *end_ns);
        stream.running.pop_back();
      }
      std::int64_t base_ns = i == 0 ? one.ready_ns - one.gap_ns : times_[i - 1].ready_ns;
      if (ends_.latest_ns())
        base_ns = std::max(base_ns, *ends_.latest_ns());
      const auto gap_ns = gap_after(base_ns, one);
      if (!gap_ns)
        return false;
      times.ready_ns = base_ns + *gap_ns;
      times.begin_ns = times.ready_ns;
      if (!one.ignores_stream && stream.free_ns != k_time_unknown) {
        // The gap of an operation that is ready later contains its wait for free multiprocessors.
        const std::int64_t after_ns = stream.free_ns > times.ready_ns
                                          ? one.after_stream_ns
                                          : std::min(one.after_stream_ns, k_stream_gap_ns);
        times.begin_ns = std::max(times.begin_ns, stream.free_ns + after_ns);
      }
    }
    times_.push_back(times);
    ends_.called(i);
    stream.running.push_back(i);
    ReplayMeeting& meeting = meetings_[own.meeting];
    meeting.last_begin_ns = std::max(meeting.last_begin_ns, times.begin_ns);
    --meeting.missing;
    return true;
  }

  const std::vector<GraphOperation>& operations_;
  const std::vector<MeasuredOperation>& measured_;
  std::vector<ReplayMeeting>& meetings_;
  WaitedEnds ends_;
  std::vector<Stream> streams_; // by communicator
  std::vector<ReplayedTimes> times_;
};

template <typename BeginOf>
std::vector<double> lengths_between(const StepRun& run, const BeginOf& begin_of) {
  std::vector<double> sums(run.steps), ranks(run.steps);
  std::int64_t origin_ns = 0;
  for (const auto& operations : run.ranks)
    if (!operations.empty())
      origin_ns = operations.front().begin_ns;
  for (std::size_t r = 0; r < run.ranks.size(); ++r)
    for (std::size_t i = 0; i < run.ranks[r].size(); ++i) {
      const std::uint32_t step = run.ranks[r][i].step;
      if (i > 0 && run.ranks[r][i - 1].step == step)
        continue;
      // Since one moment, for the sake of precision.
      sums[step - run.first] += static_cast<double>(begin_of(r, i) - origin_ns);
      ++ranks[step - run.first];
    }
  std::vector<double> lengths;
  for (std::uint32_t step = 1; step < run.steps; ++step)
    lengths.push_back(ranks[step] > 0 && ranks[step - 1] > 0
                          ? sums[step] / ranks[step] - sums[step - 1] / ranks[step - 1]
                          : 0);
  return lengths;
}

} // namespace

ReplayedRun replay(const StepGraph& graph, const StepRun& run, const MeasuredRun& measured,
                   const std::vector<WaitedFor>& waited) {
  std::vector<ReplayMeeting> meetings(run.meetings.size());
  for (const auto& operations : run.ranks)
    for (const GraphOperation& one : operations)
      ++meetings[one.meeting].missing;
  std::vector<RankReplay> ranks;
  ranks.reserve(run.ranks.size());
  for (std::size_t r = 0; r < run.ranks.size(); ++r)
    ranks.emplace_back(graph, run.ranks[r], measured[r], waited, meetings);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (RankReplay& rank : ranks)
      goes_on = rank.go_on() || goes_on;
  }
  for (RankReplay& rank : ranks)
    if (!rank.is_done())
      rank.give_up();
  ReplayedRun out;
  for (RankReplay& rank : ranks)
    out.push_back(rank.take());
  return out;
}

std::vector<double> step_lengths_ns(const StepRun& run, const ReplayedRun& replayed) {
  return lengths_between(
      run, [&](std::size_t rank, std::size_t i) { return replayed[rank][i].begin_ns; });
}

std::vector<double> step_lengths_ns(const StepRun& run) {
  return lengths_between(
      run, [&](std::size_t rank, std::size_t i) { return run.ranks[rank][i].begin_ns; });
}

} // namespace ncclprobe::analysis::job
