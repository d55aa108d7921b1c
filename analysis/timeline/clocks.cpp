// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clocks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace ncclprobe::analysis::timeline {
namespace {

using trace::ClockKind;
using trace::ClockRow;

Span knots_of(const ClockModel& model) {
  return {static_cast<std::int64_t>(model.first_ns()), static_cast<std::int64_t>(model.last_ns())};
}

double worst_error_ns(const ClockModel& model, const Span& use) {
  return model.worst_error_ns(static_cast<std::uint64_t>(use.begin),
                              static_cast<std::uint64_t>(use.end));
}

std::vector<ClockRow> readings_of(const RankHead& head, ClockKind kind) {
  std::vector<ClockRow> readings;
  std::ranges::copy_if(head.clocks, std::back_inserter(readings),
                       [kind](const ClockRow& reading) { return reading.kind == kind; });
  return readings;
}

} // namespace

bool Clocks::all_known() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const auto& rank) { return rank.second.host.has_value(); });
}

bool Clocks::uses_collectives() const {
  return inferred_hosts > 0 || std::any_of(ranks.begin(), ranks.end(), [](const auto& rank) {
           return rank.second.gpu && rank.second.gpu->collectives > 0;
         });
}

double Clocks::gpu_error_to_host_ns(int rank, std::uint64_t gpu_ns) const {
  const OfRank& clock = ranks.at(rank);
  const double own_ns = clock.gpu->error_at(gpu_ns);
  if (!clock.gpu_reference || *clock.gpu_reference == rank)
    return own_ns;
  const std::int64_t host_ns = clock.gpu->to_reference(gpu_ns);
  const double by_reference_ns = own_ns + ranks.at(*clock.gpu_reference).gpu->error_near(host_ns);
  if (!clock.gpu_alone)
    return by_reference_ns;
  const auto apart = static_cast<double>(std::abs(clock.gpu_alone->to_reference(gpu_ns) - host_ns));
  return std::min(by_reference_ns, clock.gpu_alone->error_at(gpu_ns) + apart);
}

double Clocks::gpu_error_ns(int rank, std::int64_t at_ns, GpusKnown known) const {
  const OfRank& clock = ranks.at(rank);
  const bool is_reference = known == GpusKnown::to_each_other && clock.gpu_reference == rank;
  if (!clock.by_gpu || !clock.gpu || is_reference)
    return 0;
  const auto host_ns = clock.host ? static_cast<std::int64_t>(clock.host->own_near(at_ns)) : at_ns;
  return known == GpusKnown::to_each_other
             ? clock.gpu->error_near(host_ns)
             : gpu_error_to_host_ns(rank, clock.gpu->own_near(host_ns));
}

double Clocks::pair_error_ns(int a, int b, std::int64_t at_ns) const {
  const auto first = ranks.find(a), second = ranks.find(b);
  if (a == b || first == ranks.end() || second == ranks.end())
    return 0;
  const bool one_host = first->second.host_index == second->second.host_index;
  auto is_inferred = [](const OfRank& clock) {
    return clock.host_index == 0 || clock.host_inferred;
  };
  // If collectives compared two hosts' clocks, they compared their GPUs'.
  const bool compared = one_host ? first->second.gpu_reference &&
                                       first->second.gpu_reference == second->second.gpu_reference
                                 : is_inferred(first->second) && is_inferred(second->second);
  auto error = [&](GpusKnown known) {
    double error_ns = gpu_error_ns(a, at_ns, known) + gpu_error_ns(b, at_ns, known);
    for (const OfRank* clock : {&first->second, &second->second})
      error_ns += clock->host && !one_host ? clock->host->error_near(at_ns) : 0;
    return error_ns;
  };
  const double to_hosts = error(GpusKnown::to_hosts);
  return compared ? std::min(to_hosts, error(GpusKnown::to_each_other)) : to_hosts;
}

double Clocks::own_error_ns(int rank, std::int64_t at_ns, GpusKnown known) const {
  const auto found = ranks.find(rank);
  if (found == ranks.end())
    return 0;
  const std::optional<ClockModel>& host = found->second.host;
  return gpu_error_ns(rank, at_ns, known) + (host ? host->error_near(at_ns) : 0);
}

double Clocks::worst_host_error_ns() const {
  double worst = 0;
  for (const auto& [rank, clock] : ranks)
    if (clock.host)
      worst = std::max(worst, worst_error_ns(*clock.host, clock.host_use));
  return worst;
}

double Clocks::worst_gpu_error_ns() const {
  double worst = 0;
  for (const auto& [rank, clock] : ranks) {
    if (!clock.gpu)
      continue;
    for (std::uint64_t gpu_ns : clock.gpu->corners(static_cast<std::uint64_t>(clock.gpu_use.begin),
                                                   static_cast<std::uint64_t>(clock.gpu_use.end)))
      worst = std::max(worst, gpu_error_to_host_ns(rank, gpu_ns));
  }
  return worst;
}

std::optional<double> Clocks::worst_error_among_gpus_ns() const {
  std::map<int, std::vector<double>> errors; // of each reference's
  for (const auto& [rank, clock] : ranks)
    if (clock.gpu && clock.gpu_reference)
      errors[*clock.gpu_reference].push_back(
          *clock.gpu_reference == rank ? 0 : worst_error_ns(*clock.gpu, clock.gpu_use));
  std::optional<double> worst;
  for (auto& [reference, all] : errors)
    if (all.size() > 1) {
      std::ranges::sort(all, std::ranges::greater{});
      worst = std::max(worst.value_or(0), all[0] + all[1]);
    }
  return worst ? std::optional(std::min(*worst, 2 * worst_gpu_error_ns())) : std::nullopt;
}

namespace {

void append(std::vector<OffsetBound>& to, const std::vector<OffsetBound>& more,
            std::size_t first_source) {
  for (OffsetBound bound : more) {
    bound.source += first_source;
    to.push_back(bound);
  }
}

// Only the first this many sources are readings.
void count_readings(ClockModel& model, std::size_t readings) {
  model.readings = readings;
  model.contradicted_events = static_cast<std::uint64_t>(
      std::erase_if(model.contradicted,
                    [readings](const ContradictedReading& one) { return one.source >= readings; }));
}

// If more bounds leave no line, but fewer do, the fewer are used.
std::optional<ClockModel> better_of(std::optional<ClockModel> more,
                                    std::optional<ClockModel> fewer) {
  const bool contradicts = more && more->widened_ns > 0 && fewer && fewer->widened_ns == 0;
  return more && !contradicts ? std::move(more) : std::move(fewer);
}

std::size_t sources_in(const std::vector<OffsetBound>& bounds) {
  std::size_t sources = 0;
  for (const OffsetBound& bound : bounds)
    sources = std::max(sources, bound.source + 1);
  return sources;
}

} // namespace

std::optional<ClockModel> fit_gpu_clock(const RankHead& head, const ClockModel* reference) {
  const std::vector<ClockRow> readings = readings_of(head, ClockKind::globaltimer);
  std::vector<OffsetBound> bounds;
  for (std::size_t i = 0; i < readings.size(); ++i)
    add_bounds(bounds, readings[i], i);
  auto fit = [&readings](const std::vector<OffsetBound>& those) {
    auto model = fit_clock(those);
    if (model)
      count_readings(*model, readings.size());
    return model;
  };
  auto model = fit(bounds);
  if (!head.gpu_calls.empty()) {
    append(bounds, head.gpu_calls, readings.size());
    model = better_of(fit(bounds), std::move(model));
  }
  const CollectiveBounds& compared = head.gpu_collectives;
  if (reference == nullptr || compared.reference == head.rank || compared.bounds.empty())
    return model;
  // The reference is taken as exact: its error is an error of everything else.
  for (OffsetBound& bound : bounds)
    bound.slack_ns += reference->error_near(
        static_cast<std::int64_t>(bound.own_ns + static_cast<std::uint64_t>(bound.offset_ns)));
  append(bounds, compared.bounds, readings.size() + sources_in(head.gpu_calls));
  auto by_all = fit(bounds);
  if (by_all)
    by_all->collectives = compared.collectives;
  return better_of(std::move(by_all), std::move(model));
}

namespace {

class ClockFitter {
public:
  explicit ClockFitter(const std::vector<RankHead>& heads) : heads_(heads) {}

  Clocks fit() {
    for (const RankHead& head : heads_)
      hosts_[head.host].push_back(&head);
    out_.hosts = hosts_.size();
    std::map<std::string, std::size_t> index; // in the order of the ranks
    for (const RankHead& head : heads_)
      out_.ranks[head.rank].host_index = index.try_emplace(head.host, index.size()).first->second;
    for (const auto& [host, heads] : hosts_)
      if (host == heads_.front().host)
        check_shared_clock(heads);
      else
        fit_host(heads);
    fit_gpus();
    return std::move(out_);
  }

private:
  using Heads = std::vector<const RankHead*>;

  void check_shared_clock(const Heads& heads) {
    for (const RankHead* head : heads) {
      out_.ranks[head->rank].host = ClockModel();
      for (const ClockRow& reading : readings_of(*head, ClockKind::host)) {
        ++out_.same_host_readings;
        const auto error_ns = static_cast<double>(reading.error_ns);
        out_.same_host_contradictions +=
            std::abs(static_cast<double>(reading.offset_ns)) > error_ns;
        out_.same_host_error_ns = std::max(out_.same_host_error_ns, error_ns);
      }
    }
  }

  void fit_host(const Heads& heads) {
    std::vector<OffsetBound> bounds;
    std::vector<int> rank_of; // of each reading
    std::uint64_t collectives = 0, first_ns = UINT64_MAX;
    for (const RankHead* head : heads)
      for (const ClockRow& reading : readings_of(*head, ClockKind::host)) {
        add_bounds(bounds, reading, rank_of.size());
        rank_of.push_back(head->rank);
        first_ns = std::min(first_ns, reading.at_ns);
      }
    for (const RankHead* head : heads) {
      append(bounds, head->host_collectives.bounds, rank_of.size());
      collectives += head->host_collectives.collectives;
    }
    auto model = fit_clock(std::move(bounds));
    if (!model)
      return;
    count_readings(*model, rank_of.size());
    model->collectives = collectives;
    if (collectives > 0) {
      out_.inferred_from =
          out_.inferred_hosts++ == 0 ? collectives : std::min(out_.inferred_from, collectives);
    }
    note(*model, ClockKind::host, heads.front()->rank, rank_of, first_ns);
    for (const RankHead* head : heads) {
      Clocks::OfRank& clock = out_.ranks[head->rank];
      clock.host = model;
      clock.host_inferred = collectives > 0;
      clock.host_use = knots_of(*model);
    }
  }

  // References first: others are fitted relative to them.
  void fit_gpus() {
    for (const bool references : {true, false})
      for (const RankHead& head : heads_) {
        const std::optional<int> reference = head.gpu_collectives.reference;
        if (references == (reference && reference != head.rank))
          continue;
        const bool is_known = reference && !references && out_.ranks[*reference].gpu;
        fit_gpu(head, is_known ? &*out_.ranks[*reference].gpu : nullptr);
      }
    out_.gpus_compared = std::ranges::all_of(
        out_.ranks, [](const auto& rank) { return !rank.second.gpu || rank.second.gpu_reference; });
  }

  void fit_gpu(const RankHead& head, const ClockModel* reference) {
    Clocks::OfRank& clock = out_.ranks[head.rank];
    clock.gpu = fit_gpu_clock(head, reference);
    if (!clock.gpu)
      return;
    if (clock.gpu->collectives > 0)
      clock.gpu_alone = fit_gpu_clock(head, nullptr);
    clock.gpu_use = knots_of(*clock.gpu);
    const bool is_reference = head.gpu_collectives.reference == head.rank;
    if (is_reference || clock.gpu->collectives > 0)
      clock.gpu_reference = head.gpu_collectives.reference;
    else if (!head.gpu_collectives.bounds.empty())
      out_.collectives_unused.push_back(head.rank);
    std::uint64_t first_ns = UINT64_MAX;
    for (const ClockRow& reading : readings_of(head, ClockKind::globaltimer))
      first_ns = std::min(first_ns, reading.at_ns);
    note(*clock.gpu, ClockKind::globaltimer, head.rank,
         std::vector<int>(clock.gpu->readings, head.rank), first_ns);
  }

  // `rank_of`: of each reading. `first_ns`: the first of them.
  void note(const ClockModel& model, ClockKind kind, int rank, const std::vector<int>& rank_of,
            std::uint64_t first_ns) {
    for (const ContradictedReading& one : model.contradicted)
      out_.contradicted.push_back(
          {rank_of[one.source], kind, one.own_ns, difference(one.own_ns, first_ns), one.by_ns});
    out_.contradicted_events += model.contradicted_events;
    if (model.pieces > 1 || model.widened_ns > 0)
      out_.bent.push_back({rank, kind, model.pieces, model.bend_ns, model.widened_ns});
  }

  const std::vector<RankHead>& heads_;
  std::map<std::string, Heads> hosts_;
  Clocks out_;
};

} // namespace

Clocks fit_clocks(const std::vector<RankHead>& ranks) {
  return ranks.empty() ? Clocks() : ClockFitter(ranks).fit();
}

} // namespace ncclprobe::analysis::timeline
