// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/timeline.h"

#include "analysis/timeline/in_turn.h"
#include "analysis/timeline/input_waits.h"
#include "analysis/timeline/rank_reading.h"

#include <algorithm>
#include <exception>
#include <set>
#include <span>
#include <utility>

namespace ncclprobe::analysis::timeline {
namespace {

// What the first pass keeps of a rank until it is in the table.
struct Starts {
  std::vector<CollectivePart> parts;
  Spans aligned;
  std::vector<MessageHalf> halves;
  Spans halves_aligned;
  Span on_host, on_gpu; // from the first to the last time, by these clocks
  bool by_gpu = false;  // Clocks::OfRank
};

struct RankResult {
  RankTimeline rank;
  DurationsByKind durations;
  NcclChoices choices;
  std::vector<trace::CommunicatorRow> communicators;
  bool has_steps = false;
};

struct Waits {
  std::vector<bool> known; // by activity

  // One kernel may contain collectives and messages: it waits for the last of all. A wait is never
  // longer than the kernel, whatever the clocks say.
  void note(DeviceActivity& activity, std::uint32_t index, std::int64_t ready_ns, double error_ns,
            RankTimeline& rank) {
    activity.ready_ns = std::max(activity.ready_ns, ready_ns);
    const auto length_ns = static_cast<double>(activity.end_ns - activity.start_ns);
    activity.ready_error_ns =
        std::max(activity.ready_error_ns, static_cast<float>(std::min(error_ns, length_ns)));
    rank.matched += !known[index];
    known[index] = true;
  }
};

Span host_extent(const std::vector<DeviceActivity>& all) {
  Span span{INT64_MAX, INT64_MIN};
  for (const DeviceActivity& activity : all) {
    span.begin = std::min(span.begin, activity.start_ns);
    span.end = std::max(span.end, activity.end_ns);
  }
  return span;
}

class Analysis {
public:
  Analysis(const TraceSource& source, const TimelineOptions& options)
      : source_(source), options_(options), traits_(source.texts), names_(source.texts),
        input_ranges_(source.texts) {
    out_.clocks = fit_clocks(source.ranks);
    for (const RankHead& head : source.ranks) {
      ranks_.push_back(head.rank);
      if (!is_wanted(head.rank))
        continue;
      for (const trace::LossRow& row : head.losses)
        out_.ledger.add(row);
    }
  }

  base::Result<Timeline> run() {
    NCCLPROBE_TRY(for_each_rank<Starts>([&](std::size_t i) { return starts_of(i); },
                                        [&](std::size_t i, const Starts& of_rank) {
                                          note_use(i, of_rank);
                                          for (std::size_t k = 0; k < of_rank.parts.size(); ++k)
                                            table_.add(of_rank.parts[k], of_rank.aligned[k].begin,
                                                       of_rank.aligned[k].end, ranks_[i]);
                                          for (std::size_t k = 0; k < of_rank.halves.size(); ++k)
                                            messages_.add(of_rank.halves[k],
                                                          of_rank.halves_aligned[k], ranks_[i]);
                                        }));
    messages_.seal();
    sample_ = StartSample(table_.all().size(), ranks_.size());
    DurationsByKind durations;
    bool has_steps = false;
    std::vector<RankMessages> messages;
    CommunicatorRoll roll;
    NCCLPROBE_TRY(for_each_rank<RankResult>([&](std::size_t i) { return timeline_of(i); },
                                            [&](std::size_t i, RankResult result) {
                                              roll.add(result.communicators);
                                              has_steps = has_steps || result.has_steps;
                                              messages.push_back(std::move(result.rank.messages));
                                              if (!is_wanted(ranks_[i]))
                                                return;
                                              out_.joins.add(result.rank.joins);
                                              for (const auto& [cell, gaps] : result.rank.gaps)
                                                out_.gaps[cell].add(gaps);
                                              add(durations, result.durations);
                                              add(out_.choices, result.choices);
                                              out_.ranks.push_back(std::move(result.rank));
                                            }));
    out_.missing = roll.missing();
    out_.slowdowns = slowdowns(durations, source_.alone);
    out_.physics = check_physics(table_, out_.clocks);
    out_.stragglers = find_stragglers(table_, sample_, ranks_, out_.clocks);
    out_.messages = sum_message_waits(ranks_, messages, has_steps);
    auto is_other = [this](const auto& one) { return !is_wanted(one.rank); };
    for (auto& [cell, stragglers] : out_.stragglers)
      std::erase_if(stragglers.ranks, is_other);
    for (auto& [cell, waits] : out_.messages.cells)
      std::erase_if(waits.ranks, is_other);
    if (out_.clocks_are_wrong())
      leave_out_comparisons();
    out_.texts = source_.texts;
    return std::move(out_);
  }

private:
  // Of ranks with each other.
  void leave_out_comparisons() {
    out_.stragglers.clear();
    out_.messages.cells.clear();
    for (RankTimeline& rank : out_.ranks) {
      rank.matched = 0;
      for (auto& [cell, sum] : rank.cells) {
        count_waits_as_transfer(sum.parts);
        sum.wait_error_ns = 0;
      }
      for (RankTimeline::Step& step : rank.steps)
        count_waits_as_transfer(step.parts);
    }
    for (auto& [choice, time] : out_.choices)
      time.wait_ns = 0, time.wait_error_ns = 0;
  }
  static void count_waits_as_transfer(TimeParts& parts) {
    parts.exposed_transfer_ns += std::exchange(parts.exposed_wait_ns, 0);
  }

  // Several at a time, merged in order, so the result does not depend on threads.
  template <typename Of, typename Work, typename Take>
  base::Result<void> for_each_rank(Work work, Take take) {
    base::Result<void> outcome;
    auto guarded = [&](std::size_t i) -> base::Result<Of> {
      try {
        return work(i);
      } catch (const base::Exception& error) {
        return base::fail(error.error());
      } catch (const std::exception& error) {
        return base::fail(base::Errc::failed, "{}", error.what());
      }
    };
    work_in_turn(ranks_.size(), std::max(1u, options_.threads), guarded,
                 [&](std::size_t i, base::Result<Of> result) {
                   if (result)
                     take(i, std::move(*result));
                   else
                     outcome =
                         base::with_context(result.error(), fmt::format("rank {}", ranks_[i]));
                   return outcome.has_value();
                 });
    return outcome;
  }

  const Clocks::OfRank& clock_of(std::size_t i) const { return out_.clocks.ranks.at(ranks_[i]); }

  bool is_wanted(int rank) const {
    return options_.ranks.empty() ||
           std::ranges::find(options_.ranks, rank) != options_.ranks.end();
  }

  void note_use(std::size_t i, const Starts& of_rank) {
    Clocks::OfRank& clock = out_.clocks.ranks.at(ranks_[i]);
    if (of_rank.on_host.begin <= of_rank.on_host.end)
      clock.host_use = of_rank.on_host;
    if (of_rank.on_gpu.begin <= of_rank.on_gpu.end)
      clock.gpu_use = of_rank.on_gpu;
    clock.by_gpu = of_rank.by_gpu;
  }

  base::Result<Starts> starts_of(std::size_t i) {
    const auto& clock = clock_of(i);
    if (!clock.host)
      return Starts{};
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, source_.load(ranks_[i], Pass::collectives));
    RankReading reading(std::move(trace), ranks_[i], clock, traits_, source_, Pass::collectives);
    Starts starts;
    starts.parts = std::move(reading.parts);
    starts.on_host = host_extent(reading.activities.all);
    starts.on_gpu = reading.gpu_extent();
    starts.by_gpu = reading.activities.from_nccl && reading.activities.heard == 0;
    for (const CollectivePart& part : starts.parts)
      starts.aligned.push_back(aligned(*clock.host, reading.activities.all[part.activity]));
    starts.halves = std::move(reading.halves.all);
    for (const MessageHalf& half : starts.halves)
      starts.halves_aligned.push_back(aligned(*clock.host, reading.activities.all[half.activity]));
    return starts;
  }

  static Span aligned(const ClockModel& clock, const DeviceActivity& activity) {
    return {clock.to_reference(static_cast<std::uint64_t>(activity.start_ns)),
            clock.to_reference(static_cast<std::uint64_t>(activity.end_ns))};
  }

  // Possible error of a wait. The last to come may have waited for the second last.
  double wait_error_ns(int rank, const CollectiveSummary& collective) const {
    const std::int64_t at_ns = collective.last_start_ns;
    if (rank != collective.last_rank)
      return out_.clocks.pair_error_ns(rank, collective.last_rank, at_ns);
    const auto ahead_ns = static_cast<double>(at_ns - collective.second_last_start_ns);
    return std::max(0.0,
                    out_.clocks.pair_error_ns(rank, collective.second_last_rank, at_ns) - ahead_ns);
  }

  // Stores the end of this rank's wait in each collective.
  void mark_waits(RankReading& reading, std::size_t i, RankTimeline& rank, Waits& waits) {
    const auto& clock = clock_of(i);
    if (!clock.host)
      return;
    std::size_t hint = 0;
    for (const CollectivePart& part : reading.parts) {
      const CollectiveSummary* collective = table_.find(part.key, hint);
      if (collective == nullptr || collective->ranks < 2)
        continue;
      DeviceActivity& activity = reading.activities.all[part.activity];
      std::int64_t start_ns =
          clock.host->to_reference(static_cast<std::uint64_t>(activity.start_ns));
      sample_.note(table_.index_of(*collective), i, start_ns);
      if (!collective->is_complete())
        continue; // the last to come is unknown
      waits.note(activity, part.activity,
                 std::min(activity.start_ns +
                              std::max<std::int64_t>(0, collective->last_start_ns - start_ns),
                          activity.end_ns),
                 wait_error_ns(ranks_[i], *collective), rank);
    }
  }

  // The same for its sends and receives.
  void mark_message_waits(RankReading& reading, std::size_t i, RankTimeline& rank, Waits& waits) {
    const auto& clock = clock_of(i);
    const std::vector<MessageHalf>& halves = reading.halves.all;
    rank.messages.kernels_untold = reading.halves.kernels_untold;
    rank.messages.without_kernel = reading.halves.without_kernel;
    if (!clock.host) {
      rank.messages.clock_unknown = halves.size();
      return;
    }
    const std::vector<StepKey>& steps = reading.operations.steps();
    ByCell<std::size_t> count;
    std::vector<std::size_t> number; // of each step within its cell
    for (const StepKey& step : steps)
      number.push_back(count[step.cell]++);
    std::vector<bool> seen(steps.size());
    for (std::size_t first = 0, last = 0; first < halves.size(); first = last) {
      while (last < halves.size() && halves[last].activity == halves[first].activity)
        ++last;
      DeviceActivity& activity = reading.activities.all[halves[first].activity];
      const Span on_reference = aligned(*clock.host, activity);
      const bool in_step = activity.step != k_no_step;
      const int cell = reading.operations.cell_of(activity.step);
      const std::size_t blocks = std::max<std::size_t>(1, std::min(count[cell], k_most_blocks));
      const std::size_t block =
          in_step ? block_of_step(number[activity.step], count[cell], blocks) : 0;
      if (in_step && !seen[activity.step]) {
        seen[activity.step] = true;
        auto& steps_by_block = rank.messages.cells[cell].steps_by_block;
        steps_by_block.resize(blocks);
        ++steps_by_block[block];
      }
      auto wait = wait_of_kernel(
          messages_, out_.clocks, ranks_[i], std::span(halves).subspan(first, last - first),
          {activity.start_ns, activity.end_ns, on_reference.begin, on_reference.end},
          in_step ? steps[activity.step] : StepKey{}, block, blocks, rank.messages);
      if (wait)
        waits.note(activity, halves[first].activity, wait->ready_ns, wait->error_ns, rank);
    }
  }

  base::Result<RankResult> timeline_of(std::size_t i) {
    NCCLPROBE_TRY_ASSIGN(RankTrace trace, source_.load(ranks_[i], Pass::everything));
    RankReading reading(std::move(trace), ranks_[i], clock_of(i), traits_, source_,
                        Pass::everything);
    if (options_.observe)
      options_.observe(i, reading, clock_of(i));
    RankResult result;
    RankTimeline& rank = result.rank;
    rank.rank = ranks_[i];
    rank.kernels = reading.trace.kernels.size();
    rank.copies = reading.trace.copies.size();
    rank.without_times = reading.activities.without_times;
    rank.nccl_operations = reading.trace.nccl_operations.size();
    rank.from_nccl = reading.activities.from_nccl;
    rank.heard = reading.activities.heard;
    rank.clock_known = clock_of(i).host.has_value();
    rank.joins = reading.joined.counts;
    bool has_steps = !reading.operations.steps().empty();
    for (const DeviceActivity& activity : reading.activities.all)
      rank.communications +=
          activity.kind == Class::communication && (!has_steps || activity.step != k_no_step);
    Waits waits{std::vector<bool>(reading.activities.all.size())};
    mark_waits(reading, i, rank, waits);
    mark_message_waits(reading, i, rank, waits);
    result.has_steps = has_steps;
    result.communicators = reading.trace.communicators;

    StepWindows steps =
        step_windows(reading.activities, reading.operations, reading.trace.last_steps_are_open);
    const bool in_windows = !reading.trace.kernel_windows.empty();
    if (in_windows)
      take_kernel_times(reading.trace, reading.activities);
    BusySets busy = busy_sets(reading.activities);
    std::vector<TimeParts> parts = parts_of(busy, steps.windows);
    const std::vector<bool> shown = steps_with_kernels(reading.trace, reading.operations, steps);
    const std::vector<IdleParts> idle =
        in_windows ? idle_parts(reading.trace, busy,
                                input_ranges_.of(reading.trace, reading.operations), steps.windows)
                   : std::vector<IdleParts>();
    std::set<int> have_kernels; // cells
    for (std::size_t k = 0; k < shown.size(); ++k)
      if (shown[k])
        have_kernels.insert(steps.keys[k].cell);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      PartsSum& cell = rank.cells[steps.keys[k].cell];
      cell.lengths_ns.add(static_cast<double>(parts[k].length_ns));
      if (in_windows && shown[k]) {
        cell.idle.add(idle[k]);
        ++cell.steps_with_kernels;
      }
      // Nobody knows what other steps computed.
      if (!in_windows || shown[k] || !have_kernels.contains(steps.keys[k].cell)) {
        cell.parts.add(parts[k]);
        ++cell.steps;
      }
      if (options_.keep_steps)
        rank.steps.push_back({steps.keys[k], steps.windows[k].begin, parts[k]});
    }
    for (const DeviceActivity& activity : reading.activities.all)
      if (activity.ready_error_ns > 0 && (!has_steps || activity.step != k_no_step)) {
        const int cell = reading.operations.cell_of(activity.step);
        rank.cells[cell].wait_error_ns += double{activity.ready_error_ns};
      }
    ByCell<Spans> windows;
    for (std::size_t k = 0; k < steps.windows.size(); ++k)
      windows[steps.keys[k].cell].push_back(steps.windows[k]);
    for (const auto& [cell, spans] : windows)
      rank.streams[cell] = streams_of(reading.activities, busy.compute, spans);
    rank.phases = phases_of(reading.trace, reading.operations, names_);
    rank.micro_steps = micro_steps_of(reading.trace, reading.operations, source_.texts);
    rank.gaps = find_gaps(reading.trace, reading.activities, reading.operations);
    result.durations = durations_of(reading.activities, reading.operations, busy);
    result.choices = nccl_choices(reading.trace, reading.nccl_times, reading.joined,
                                  reading.activities, reading.operations);
    return result;
  }

  const TraceSource& source_;
  const TimelineOptions& options_;
  TextTraits traits_;
  NumberedNames names_;
  InputRanges input_ranges_;
  std::vector<int> ranks_;
  CollectiveTable table_;
  MessageTable messages_;
  StartSample sample_{0, 0};
  Timeline out_;
};

} // namespace

void PartsSum::add(const PartsSum& other) {
  parts.add(other.parts);
  steps += other.steps;
  idle.add(other.idle);
  steps_with_kernels += other.steps_with_kernels;
  wait_error_ns += other.wait_error_ns;
  lengths_ns.add(other.lengths_ns);
}

std::uint64_t RankTimeline::steps_of_cells() const {
  std::uint64_t all = 0;
  for (const auto& [cell, sum] : cells)
    all += cell < 0 ? 0 : sum.steps;
  return all;
}

base::Result<Timeline> analyse(const TraceSource& source, const TimelineOptions& options) {
  return Analysis(source, options).run();
}

} // namespace ncclprobe::analysis::timeline
