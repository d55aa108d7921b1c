// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/step_figures.h"

#include "analysis/statistics/statistics.h"

#include <algorithm>
#include <array>

namespace ncclprobe::analysis::steps {
namespace {

using model::Activity;
using timeline::Spans;

constexpr std::array k_parts{&StepTimes::step_ns,          &StepTimes::forward_ns,
                             &StepTimes::backward_ns,      &StepTimes::optimizer_ns,
                             &StepTimes::prepare_ns,       &StepTimes::compute_ns,
                             &StepTimes::communication_ns, &StepTimes::hidden_ns,
                             &StepTimes::exposed_wait_ns,  &StepTimes::exposed_transfer_ns,
                             &StepTimes::exposed_copy_ns,  &StepTimes::idle_ns,
                             &StepTimes::transfer_ns,      &StepTimes::copy_ns};

// Each stretch's duration without waiting.
class TransferTimes {
public:
  explicit TransferTimes(const CellSteps& cell) {
    for (std::size_t i = 0; i < cell.plan.stretches.size(); ++i) {
      const StretchDecl& one = cell.plan.stretches[i];
      const int declaration = static_cast<int>(i);
      for (std::size_t m = 0; m < one.groups.size(); ++m)
        for (int rank : one.groups[m])
          group_of_[{rank, declaration}] = static_cast<int>(m);
      for (const PeerExchange& exchange : one.exchanges)
        exchange_of_[{exchange.rank, declaration}] = &exchange;
    }
    for (const RankStep& step : cell.steps)
      for (const Stretch& stretch : step.stretches) {
        const RankStretch own{step.rank, stretch.declaration};
        if (auto group = group_of_.find(own); group != group_of_.end()) {
          auto [found, is_first] = shortest_ns_.try_emplace(
              {step.batch, step.iteration, stretch.declaration, group->second},
              stretch.span.length());
          found->second = std::min(found->second, stretch.span.length());
        }
        if (!exchange_of_.empty())
          length_ns_[{step.batch, step.iteration, stretch.declaration, step.rank}] =
              stretch.span.length();
      }
  }

  bool knows(const Stretch& stretch, int rank) const {
    const RankStretch own{rank, stretch.declaration};
    return group_of_.contains(own) || exchange_of_.contains(own);
  }

  std::int64_t transfer_ns(const RankStep& step, const Stretch& stretch) const {
    const RankStretch own{step.rank, stretch.declaration};
    if (auto group = group_of_.find(own); group != group_of_.end())
      return shortest_ns_.at({step.batch, step.iteration, stretch.declaration, group->second});
    if (auto exchange = exchange_of_.find(own); exchange != exchange_of_.end())
      return std::min(stretch.span.length(), partners_ns(step, *exchange->second));
    return stretch.span.length();
  }

private:
  using Key = std::array<int, 4>; // batch, iteration, declaration, group or rank

  // Ranks that end together transfer as long as the one that came last. Otherwise a rank transfers
  // at most as long as the longest of its partners.
  std::int64_t partners_ns(const RankStep& step, const PeerExchange& exchange) const {
    auto length_of = [&](const RankStretch& one) {
      return length_ns_.at({step.batch, step.iteration, one.declaration, one.rank});
    };
    std::int64_t ns = length_of(exchange.partners.front());
    for (const RankStretch& partner : exchange.partners)
      ns = exchange.ends_together ? std::min(ns, length_of(partner))
                                  : std::max(ns, length_of(partner));
    return ns;
  }

  std::map<RankStretch, int> group_of_;
  std::map<RankStretch, const PeerExchange*> exchange_of_;
  std::map<Key, std::int64_t> shortest_ns_;
  std::map<Key, std::int64_t> length_ns_;
};

double* part_of(StepTimes& times, Activity activity) {
  switch (activity) {
  case Activity::forward:
    return &times.forward_ns;
  case Activity::backward:
    return &times.backward_ns;
  case Activity::optimizer:
    return &times.optimizer_ns;
  case Activity::prepare:
    return &times.prepare_ns;
  case Activity::note:
  case Activity::communication:
  case Activity::host_copy:
    break;
  }
  return nullptr;
}

StepTimes times_of(const CellSteps& cell, const TransferTimes& transfers, const RankStep& step) {
  timeline::BusySets busy;
  std::map<Activity, Spans> by_activity;
  for (const Stretch& stretch : step.stretches) {
    Activity activity = cell.plan.stretches[stretch.declaration].activity;
    if (activity == Activity::communication) {
      busy.communication.push_back(stretch.span);
      busy.transfer.push_back(
          {stretch.span.end - transfers.transfer_ns(step, stretch), stretch.span.end});
    } else if (activity == Activity::host_copy) {
      busy.memory.push_back(stretch.span);
    } else if (activity != Activity::note) {
      busy.compute.push_back(stretch.span);
      by_activity[activity].push_back(stretch.span);
    }
  }
  for (Spans* set : {&busy.compute, &busy.communication, &busy.transfer, &busy.memory})
    *set = timeline::unite(std::move(*set));
  const Spans window{step.window};
  const timeline::TimeParts parts = timeline::parts_of(busy, window).front();
  auto ns = [](std::int64_t value) { return static_cast<double>(value); };
  StepTimes times{.step_ns = ns(parts.length_ns),
                  .compute_ns = ns(parts.compute_ns),
                  .communication_ns = ns(parts.communication_ns),
                  .hidden_ns = ns(parts.hidden_ns),
                  .exposed_wait_ns = ns(parts.exposed_wait_ns),
                  .exposed_transfer_ns = ns(parts.exposed_transfer_ns),
                  .exposed_copy_ns = ns(parts.memory_ns),
                  .idle_ns = ns(parts.idle_ns),
                  .transfer_ns = ns(timeline::shared_length(busy.transfer, window)),
                  .copy_ns = ns(timeline::shared_length(busy.memory, window))};
  // Time in two activities at once counts for the first, so they add up.
  Spans counted;
  for (auto& [activity, spans] : by_activity) {
    Spans own = timeline::intersect(timeline::unite(std::move(spans)), window);
    *part_of(times, activity) = ns(timeline::length(timeline::subtract(own, counted)));
    counted.insert(counted.end(), own.begin(), own.end());
    counted = timeline::unite(std::move(counted));
  }
  return times;
}

// The end of what the stretch waits for; its own start if it waits for nothing marked, or for a
// point within a stretch.
std::int64_t ready_ns(const StepPlan& plan, const std::map<int, std::int64_t>& end_ns,
                      const Stretch& stretch) {
  std::optional<std::int64_t> latest;
  for (int other : plan.stretches[stretch.declaration].ready_after)
    if (auto end = end_ns.find(other); end != end_ns.end())
      latest = std::max(latest.value_or(end->second), end->second);
  return std::min(latest.value_or(stretch.span.begin), stretch.span.begin);
}

} // namespace

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  for (auto part : k_parts)
    this->*part += other.*part;
  return *this;
}

StepTimes& StepTimes::operator*=(double factor) {
  for (auto part : k_parts)
    this->*part *= factor;
  return *this;
}

std::vector<RankStepTimes> step_times(const CellSteps& cell) {
  const TransferTimes transfers(cell);
  std::vector<RankStepTimes> out;
  out.reserve(cell.steps.size());
  for (const RankStep& step : cell.steps)
    out.push_back({step.rank, step.batch, step.iteration, times_of(cell, transfers, step)});
  return out;
}

std::vector<BucketTimes> bucket_times(const CellSteps& cell) {
  const TransferTimes transfers(cell);
  struct Values {
    std::vector<double> ready_ns, begin_ns, end_ns, transfer_ns;
    bool wait_known = true;
  };
  std::map<int, Values> by_declaration; // StretchDecl::same
  for (const RankStep& step : cell.steps) {
    std::map<int, std::int64_t> end_ns; // by declaration
    for (const Stretch& stretch : step.stretches) {
      end_ns[stretch.declaration] = stretch.span.end;
      if (cell.plan.stretches[stretch.declaration].activity != Activity::communication)
        continue;
      Values& values = by_declaration[cell.plan.stretches[stretch.declaration].same];
      auto since_begin = [&](std::int64_t at_ns) {
        return static_cast<double>(at_ns - step.window.begin);
      };
      values.ready_ns.push_back(since_begin(ready_ns(cell.plan, end_ns, stretch)));
      values.begin_ns.push_back(since_begin(stretch.span.begin));
      values.end_ns.push_back(since_begin(stretch.span.end));
      values.transfer_ns.push_back(static_cast<double>(transfers.transfer_ns(step, stretch)));
      values.wait_known = values.wait_known && transfers.knows(stretch, step.rank);
    }
  }
  std::vector<BucketTimes> out;
  for (auto& [declaration, values] : by_declaration) {
    const StretchDecl& what = cell.plan.stretches[declaration];
    out.push_back({.label = what.label,
                   .ranks = what.ranks.empty() ? cell.plan.ranks : what.ranks,
                   .ready_ns = median(std::move(values.ready_ns)),
                   .begin_ns = median(std::move(values.begin_ns)),
                   .end_ns = median(std::move(values.end_ns)),
                   .transfer_ns = median(std::move(values.transfer_ns)),
                   .wait_known = values.wait_known});
  }
  return out;
}

Result<StepFigures> step_figures(const model::Schedule& schedule, int world_size,
                                 const std::vector<model::Mark>& marks) {
  if (marks.empty())
    return fail(Errc::not_found, "it has no marks");
  NCCLPROBE_TRY_ASSIGN(const CellSteps cell, read_steps(schedule, world_size, marks));
  StepFigures figures;
  figures.buckets = bucket_times(cell);
  figures.steps = cell.steps.size() / cell.plan.ranks.size();
  figures.steps_per_launch = cell.plan.steps.size();
  figures.unmatched_messages = cell.plan.unmatched_messages;
  std::map<int, StepTimes> batches; // sums
  std::map<int, std::size_t> counts;
  for (const RankStepTimes& one : step_times(cell)) {
    figures.times += one.times;
    figures.ranks[one.rank] += one.times;
    batches[one.batch] += one.times;
    ++counts[one.batch];
  }
  if (!(figures.times.step_ns > 0))
    return fail(Errc::protocol, "its steps take no time");
  std::vector<double> batch_ns;
  for (const auto& [batch, sum] : batches)
    batch_ns.push_back(sum.step_ns / static_cast<double>(counts[batch]));
  figures.times *= median(std::move(batch_ns)) / figures.times.step_ns;

  double all_wait_ns = 0, least_wait_ns = figures.ranks.begin()->second.exposed_wait_ns;
  for (const auto& [rank, sum] : figures.ranks) {
    all_wait_ns += sum.exposed_wait_ns;
    least_wait_ns = std::min(least_wait_ns, sum.exposed_wait_ns);
  }
  const bool by_messages = std::ranges::any_of(
      cell.plan.stretches, [](const StretchDecl& one) { return !one.exchanges.empty(); });
  if (all_wait_ns > 0 && !by_messages)
    figures.stragglers_ns =
        figures.times.exposed_wait_ns *
        (1 - least_wait_ns * static_cast<double>(figures.ranks.size()) / all_wait_ns);
  for (auto& [rank, sum] : figures.ranks)
    sum *= 1 / static_cast<double>(figures.steps);
  return figures;
}

} // namespace ncclprobe::analysis::steps
