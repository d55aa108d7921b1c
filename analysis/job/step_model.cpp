// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_model.h"

#include "analysis/job/waited_ends.h"
#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::int64_t k_launch_ns = 20'000; // that an idle GPU waits for
// A kernel of NCCL begins when multiprocessors are free. On a busy GPU that took up to 0.4 ms. Such
// a start counts as waiting for the stream if it is a small part of the delay.
constexpr std::int64_t k_busy_start_ns = 1'000'000;
constexpr double k_small_part = 0.2;
constexpr int k_most_waiting = 8; // launches, while a rank computes before the next one
constexpr std::size_t k_fewest_clean = 3;
constexpr std::size_t k_operations_to_decide = 200'000;
constexpr double k_explains = 0.5; // of a gap's excess
constexpr double k_clearly_worse = 1.1;
constexpr double k_deviation_of_mad = 1.4826; // of normally distributed values
constexpr double k_most_contradicted = 0.01;  // of a class's operations

WaitedFor by_role(const OperationClass& of) {
  switch (of.role) {
  case Role::data:
    return WaitedFor::at_end_of_step;
  case Role::sharded_data: // the gathers come first
    return WaitedFor::at_once;
  default:
    return of.kind == trace::NcclKind::send ? WaitedFor::at_end_of_step : WaitedFor::at_once;
  }
}

class RankMeasure {
public:
  RankMeasure(const StepGraph& graph, const StepRun& run, std::size_t rank,
              const std::vector<WaitedFor>& waited, const Typical* typical, WhenReady ready)
      : graph_(graph), run_(run), rank_(rank), typical_(typical), when_ready_(ready),
        operations_(run.ranks[rank]), ends_(graph, operations_, waited),
        streams_(graph.communicators.size()) {}

  std::vector<MeasuredOperation> measure() {
    for (std::uint32_t i = 0; i < operations_.size(); ++i)
      add(i);
    return std::move(out_);
  }

private:
  void add(std::uint32_t i) {
    const GraphOperation& own = operations_[i];
    MeasuredOperation one;
    const Meeting& meeting = run_.meetings[own.meeting];
    one.waits = meeting.members > 1 && own.end_ns > meeting.last_begin_ns;
    one.duration_ns = own.end_ns - (one.waits ? meeting.last_begin_ns : own.begin_ns);
    if (i > 0 && own.with_previous) {
      one.ready_ns = out_[i - 1].ready_ns;
      one.gap_ns = std::max<std::int64_t>(0, own.begin_ns - operations_[i - 1].begin_ns);
    } else {
      const auto end_of = [&](std::uint32_t j) { return std::optional(operations_[j].end_ns); };
      (void)ends_.advance(i, end_of);
      set_gap(i, own, one);
    }
    if (typical_ != nullptr && one.in_stream == k_nothing && !one.is_first && !own.with_previous)
      one.slowed = slowed(i, own, one);
    ends_.called(i);
    Stream& stream = streams_[own.communicator];
    if (stream.last == k_nothing || own.end_ns >= stream.end_ns)
      stream = {own.end_ns, i};
    out_.push_back(one);
  }

  void set_gap(std::uint32_t i, const GraphOperation& own, MeasuredOperation& one) {
    std::int64_t base_ns = own.begin_ns;
    bool before_is_clean = true;
    if (i == 0) {
      one.is_first = true;
    } else {
      base_ns = out_[i - 1].ready_ns;
      before_is_clean = out_[i - 1].in_stream == k_nothing;
    }
    if (ends_.latest_ns() && *ends_.latest_ns() >= base_ns) {
      base_ns = *ends_.latest_ns();
      one.after = ends_.latest();
      before_is_clean = true;
    }
    one.is_first = one.is_first && one.after == k_nothing;
    const Stream& stream = streams_[own.communicator];
    const std::int64_t since_handed_ns =
        own.enqueued_ns == k_time_unknown ? INT64_MAX : own.begin_ns - own.enqueued_ns;
    // An operation that the host hands over at the end of another waits for its host.
    one.follows_stream = stream.last != k_nothing && since_handed_ns >= k_launch_ns &&
                         own.begin_ns <= stream.end_ns + longest_start_ns(base_ns, own, stream);
    const bool was_busy = one.follows_stream && one.after != stream.last && stream.end_ns > base_ns;
    one.ignores_stream = stream.last != k_nothing && own.begin_ns < stream.end_ns;
    if (!was_busy || one.ignores_stream) {
      one.ready_ns = own.begin_ns;
      one.gap_ns = own.begin_ns - base_ns;
      one.handed_ns = own.enqueued_ns == k_time_unknown ? 0 : own.enqueued_ns - base_ns;
      one.is_clean = before_is_clean && !one.is_first;
      one.host_bound = since_handed_ns < k_launch_ns && one.gap_ns > k_launch_ns;
      return;
    }
    one.in_stream = stream.last;
    one.after_stream_ns = own.begin_ns - stream.end_ns;
    // Not before the host handed it over.
    std::int64_t ready_ns = base_ns;
    if (own.enqueued_ns != k_time_unknown)
      ready_ns = std::max(ready_ns, own.enqueued_ns);
    if (const auto usual_ns = own_usual_ns(own))
      ready_ns = std::max(ready_ns, base_ns + static_cast<std::int64_t>(*usual_ns));
    else if (when_ready_ == WhenReady::latest)
      ready_ns = own.begin_ns;
    one.ready_ns = std::clamp(ready_ns, base_ns, std::max(base_ns, own.begin_ns));
    one.gap_ns = one.ready_ns - base_ns;
  }

  MeasuredOperation::Slowed slowed(std::uint32_t i, const GraphOperation& own,
                                   const MeasuredOperation& one) const {
    const auto usual_ns = least_usual_ns(own);
    if (!usual_ns || one.host_bound)
      return {};
    const auto excess_ns = std::llround(static_cast<double>(one.gap_ns) - *usual_ns);
    if (excess_ns <= 0)
      return {};
    std::uint32_t from = i;
    for (int launches = 0; from > 0 && launches < k_most_waiting;)
      launches += !operations_[--from].with_previous;
    MeasuredOperation::Slowed out;
    Waiting waiting(one.ready_ns - one.gap_ns);
    for (std::uint32_t j = from; j < i; ++j) {
      const std::int64_t end_ns = run_.meetings[operations_[j].meeting].last_begin_ns;
      if (out_[j].waits && end_ns < one.ready_ns && waiting.add(operations_[j].begin_ns, end_ns))
        out.beside.push_back(j);
    }
    out.waited_ns = waiting.sum_ns();
    out.by_ns = std::min<std::int64_t>(excess_ns, out.waited_ns);
    return out;
  }

  struct Stream {
    std::int64_t end_ns = 0;
    std::uint32_t last = k_nothing;
  };

  std::optional<double> own_usual_ns(const GraphOperation& own) const {
    if (typical_ == nullptr)
      return std::nullopt;
    const auto& of_rank = typical_->gap[graph_.rank_slot(rank_, own.slot)];
    return of_rank ? of_rank : typical_->usual_gap[own.slot];
  }
  // If this rank usually waits, only other ranks show what computing takes.
  std::optional<double> least_usual_ns(const GraphOperation& own) const {
    const auto of_rank = own_usual_ns(own);
    return of_rank ? std::min(*of_rank, typical_->usual_gap[own.slot].value_or(*of_rank)) : of_rank;
  }
  // How long after its stream became free an operation may begin that waited only for this.
  std::int64_t longest_start_ns(std::int64_t base_ns, const GraphOperation& own,
                                const Stream& stream) const {
    const auto usual_ns = least_usual_ns(own);
    const bool was_handed_over =
        own.enqueued_ns == k_time_unknown || own.enqueued_ns < stream.end_ns;
    if (!usual_ns || !was_handed_over)
      return k_stream_gap_ns;
    const double delay_ns = static_cast<double>(own.begin_ns - base_ns) - *usual_ns;
    return std::clamp(std::int64_t{std::llround(k_small_part * delay_ns)}, k_stream_gap_ns,
                      k_busy_start_ns);
  }

  const StepGraph& graph_;
  const StepRun& run_;
  std::size_t rank_;
  const Typical* typical_;
  WhenReady when_ready_;
  const std::vector<GraphOperation>& operations_;
  WaitedEnds ends_;
  std::vector<Stream> streams_; // by communicator
  std::vector<MeasuredOperation> out_;
};

// How much gaps scatter around what is usual: the right choice leaves the least.
struct Misfit {
  double scatter_ns = 0;
  std::size_t gaps = 0;
  std::vector<std::size_t> contradicted, operations; // by class
};

Misfit misfit(const StepGraph& graph, const std::vector<const StepRun*>& runs,
              const std::vector<WaitedFor>& waited) {
  Misfit out;
  out.contradicted.resize(graph.classes.size());
  out.operations.resize(graph.classes.size());
  std::vector<std::vector<double>> gaps(graph.slots.size());
  for (const StepRun* run : runs) {
    const MeasuredRun measured = measure(graph, *run, waited, nullptr);
    for (std::size_t r = 0; r < measured.size(); ++r)
      for (std::size_t i = 0; i < measured[r].size(); ++i) {
        const MeasuredOperation& one = measured[r][i];
        const GraphOperation& own = run->ranks[r][i];
        if (one.after != k_nothing) {
          const std::uint32_t of = graph.slots[run->ranks[r][one.after].slot].group;
          ++out.operations[of];
          out.contradicted[of] += one.gap_ns < 0;
        }
        // One that began as soon as its stream was free fits every choice.
        if (one.is_clean && !one.follows_stream)
          gaps[own.slot].push_back(static_cast<double>(one.gap_ns));
      }
  }
  for (std::vector<double>& of_slot : gaps) {
    if (of_slot.size() < k_fewest_clean)
      continue;
    const double middle = median_in_place(of_slot);
    for (double gap : of_slot)
      out.scatter_ns += std::abs(gap - middle);
    out.gaps += of_slot.size();
  }
  return out;
}

double scatter_of(const Misfit& of) {
  return of.gaps > 0 ? of.scatter_ns / static_cast<double>(of.gaps) : 0;
}

bool is_contradicted(const Misfit& by, std::size_t group) {
  return static_cast<double>(by.contradicted[group]) >
         k_most_contradicted * static_cast<double>(by.operations[group]);
}

std::vector<const StepRun*> some_runs(const StepGraph& graph, std::size_t most) {
  std::size_t all = 0;
  for (const StepRun& run : graph.runs)
    for (const auto& rank : run.ranks)
      all += rank.size();
  const std::size_t every = std::max<std::size_t>(1, all / most);
  std::vector<const StepRun*> runs;
  for (std::size_t i = 0; i < graph.runs.size(); i += every)
    runs.push_back(&graph.runs[i]);
  return runs;
}

std::optional<double> lower_median(std::vector<double> values) {
  if (values.empty())
    return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

MeasuredRun measure(const StepGraph& graph, const StepRun& run,
                    const std::vector<WaitedFor>& waited, const Typical* typical, WhenReady ready) {
  MeasuredRun out;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
    out.push_back(RankMeasure(graph, run, rank, waited, typical, ready).measure());
  return out;
}

Typical typical_of(const StepGraph& graph, const std::vector<const StepRun*>& runs,
                   const std::vector<MeasuredRun>& measured, bool (*use)(std::uint32_t step)) {
  struct Values {
    std::vector<double> gap, gap_of_gpu, duration, handed;
  };
  std::vector<Values> values(graph.ranks.size() * graph.slots.size());
  for (std::size_t k = 0; k < runs.size(); ++k)
    for (std::size_t r = 0; r < measured[k].size(); ++r)
      for (std::size_t i = 0; i < measured[k][r].size(); ++i) {
        const MeasuredOperation& one = measured[k][r][i];
        const GraphOperation& own = runs[k]->ranks[r][i];
        if (use != nullptr && !use(own.step))
          continue;
        Values& to = values[graph.rank_slot(r, own.slot)];
        to.duration.push_back(static_cast<double>(one.duration_ns));
        if (!one.is_clean)
          continue;
        to.handed.push_back(static_cast<double>(one.handed_ns));
        to.gap.push_back(static_cast<double>(one.gap_ns));
        if (!one.host_bound)
          to.gap_of_gpu.push_back(static_cast<double>(one.gap_ns));
      }
  Typical out;
  auto of_ranks = [&](std::vector<double> Values::*part,
                      std::vector<std::optional<double>>& medians,
                      std::vector<std::optional<double>>& usual, std::size_t fewest) {
    std::vector<std::vector<double>> by_slot(graph.slots.size());
    for (std::size_t r = 0; r < graph.ranks.size(); ++r)
      for (std::uint32_t slot = 0; slot < graph.slots.size(); ++slot) {
        std::vector<double>& all = values[graph.rank_slot(r, slot)].*part;
        const bool known = all.size() >= fewest;
        medians.push_back(known ? std::optional(median_in_place(all)) : std::nullopt);
        if (known)
          by_slot[slot].push_back(*medians.back());
      }
    for (std::vector<double>& all : by_slot)
      usual.push_back(lower_median(std::move(all)));
  };
  of_ranks(&Values::gap, out.gap, out.usual_gap, k_fewest_clean);
  of_ranks(&Values::gap_of_gpu, out.gap_of_gpu, out.usual_of_gpu, k_fewest_clean);
  of_ranks(&Values::duration, out.duration, out.usual_duration, 1);
  std::vector<std::optional<double>> of_each;
  of_ranks(&Values::handed, of_each, out.usual_handed, k_fewest_clean);
  auto scatter = [&](std::vector<double> Values::*part,
                     const std::vector<std::optional<double>>& medians,
                     std::vector<std::optional<double>>& to) {
    for (std::uint32_t slot = 0; slot < graph.slots.size(); ++slot) {
      std::vector<double> deviations;
      for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
        const std::size_t at = graph.rank_slot(r, slot);
        std::vector<double>& all = values[at].*part;
        if (!medians[at] || all.empty())
          continue;
        for (double& value : all)
          value = std::abs(value - *medians[at]);
        deviations.push_back(k_deviation_of_mad * median_in_place(all));
      }
      to.push_back(lower_median(std::move(deviations)));
    }
  };
  scatter(&Values::gap, out.gap, out.gap_scatter);
  scatter(&Values::duration, out.duration, out.duration_scatter);
  return out;
}

double host_late_ns(const Typical& typical, const GraphOperation& operation,
                    const MeasuredOperation& measured) {
  if (!measured.is_clean)
    return 0;
  const auto gap_ns = static_cast<double>(measured.gap_ns);
  if (measured.host_bound) { // it began as soon as the host handed it over
    const auto usual = typical.usual_of_gpu[operation.slot];
    return usual ? std::max(0.0, gap_ns - *usual) : gap_ns;
  }
  // The host was late before it launched the computing: later than usual by as much as the gap is
  // longer.
  const auto usual = typical.usual_gap[operation.slot];
  const auto handed = typical.usual_handed[operation.slot];
  if (!usual || !handed || operation.enqueued_ns == k_time_unknown)
    return 0;
  const double excess_ns = gap_ns - *usual;
  const double late_ns = static_cast<double>(measured.handed_ns) - *handed;
  return excess_ns > 0 && late_ns >= k_explains * excess_ns ? std::min(late_ns, excess_ns) : 0;
}

StepModel fit_model(const StepGraph& graph) {
  StepModel model;
  for (const OperationClass& one : graph.classes)
    model.waited.push_back(by_role(one));
  const std::vector<const StepRun*> some = some_runs(graph, k_operations_to_decide);
  Misfit best = misfit(graph, some, model.waited);
  for (int round = 0; round < 2; ++round) {
    model.alternatives.clear();
    for (std::uint32_t group = 0; group < graph.classes.size(); ++group) {
      const WaitedFor before = model.waited[group];
      std::vector<std::pair<WaitedFor, double>> possible; // with the scatter that they leave
      if (!is_contradicted(best, group))
        possible.emplace_back(before, scatter_of(best));
      for (const WaitedFor choice :
           {WaitedFor::at_once, WaitedFor::after_next, WaitedFor::at_end_of_step}) {
        if (choice == before)
          continue;
        std::vector<WaitedFor> other = model.waited;
        other[group] = choice;
        Misfit with = misfit(graph, some, other);
        if (is_contradicted(with, group))
          continue;
        possible.emplace_back(choice, scatter_of(with));
        if (is_contradicted(best, group) || k_clearly_worse * scatter_of(with) < scatter_of(best)) {
          model.waited = std::move(other);
          best = std::move(with);
        }
      }
      for (const auto& [choice, scatter_ns] : possible)
        if (choice != model.waited[group] && scatter_ns <= k_clearly_worse * scatter_of(best))
          model.alternatives.push_back({group, choice});
    }
  }
  std::vector<const StepRun*> runs;
  for (const StepRun& run : graph.runs)
    runs.push_back(&run);
  // The first pass finds usual gaps. With them, the second one recognises operations that waited
  // for their streams, and leaves these out.
  for (const bool first : {true, false}) {
    std::vector<MeasuredRun> measured;
    for (const StepRun* run : runs)
      measured.push_back(measure(graph, *run, model.waited, first ? nullptr : &model.typical));
    model.typical = typical_of(graph, runs, measured);
  }
  return model;
}

} // namespace ncclprobe::analysis::job
