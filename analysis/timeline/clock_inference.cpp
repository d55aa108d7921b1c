// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_inference.h"

#include "analysis/timeline/in_turn.h"
#include "analysis/timeline/rank_reading.h"
#include "analysis/timeline/rows_by_id.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr double k_any_error_ns = 1e18; // in damaged files
constexpr std::size_t k_threads = 2;

// Between a time when a rank certainly had not begun and one when it certainly had ended.
struct Part {
  CollectiveKey key;
  std::int64_t begun_ns = 0;
  std::int64_t ended_ns = 0;
};

struct Parts {
  bool by_gpu = false; // times are on the GPU's clock, else on the host's
  std::vector<Part> all;
  std::vector<OffsetBound> calls; // RankHead::gpu_calls, all of them
};

// Unsigned: times in damaged files may be anything.
std::int64_t offset(std::uint64_t own_ns, std::uint64_t reference_ns) {
  return static_cast<std::int64_t>(reference_ns - own_ns);
}

// Nothing began before the host requested it, and the host heard of nothing before it happened.
// NCCL may report a communicator's first operation only after it has begun, which bounds nothing.
std::vector<OffsetBound> bounds_of_calls(const RankTrace& trace) {
  std::unordered_map<std::uint16_t, std::uint32_t> first; // operation of each communicator
  for (const trace::NcclOperationRow& row : trace.nccl_operations) {
    auto [found, is_new] = first.try_emplace(row.communicator, row.id);
    found->second = std::min(found->second, row.id);
  }
  struct Extremes {
    std::uint64_t begun_gt = UINT64_MAX;
    std::uint64_t heard_gt = 0; // the event that the host heard soonest, and its delay
    std::int64_t heard_offset_ns = INT64_MAX;
    void hear(std::uint64_t gt, std::uint64_t host_ns) {
      if (host_ns == 0 || offset(gt, host_ns) >= heard_offset_ns)
        return;
      heard_gt = gt;
      heard_offset_ns = offset(gt, host_ns);
    }
  };
  const RowsById by_id(trace.nccl_operations);
  std::vector<Extremes> extremes(trace.nccl_operations.size());
  for (const trace::NcclChannelRow& row : trace.nccl_channels)
    if (const std::uint32_t at = by_id.find(row.nccl_operation);
        at != RowsById::k_none && row.start_gt != 0 && row.stop_gt != 0) {
      Extremes& one = extremes[at];
      one.begun_gt = std::min(one.begun_gt, row.start_gt);
      one.hear(row.start_gt, row.start_ns);
      one.hear(row.stop_gt, row.stop_ns);
    }
  std::vector<OffsetBound> bounds;
  for (std::size_t i = 0; i < trace.nccl_operations.size(); ++i) {
    const trace::NcclOperationRow& row = trace.nccl_operations[i];
    const Extremes& one = extremes[i];
    if (one.begun_gt == UINT64_MAX || first.at(row.communicator) == row.id)
      continue;
    if (row.enqueue_ns != 0)
      bounds.push_back(
          {one.begun_gt, offset(one.begun_gt, row.enqueue_ns), 0, OffsetBound::Side::at_least, i});
    if (one.heard_gt != 0)
      bounds.push_back({one.heard_gt, one.heard_offset_ns, 0, OffsetBound::Side::at_most, i});
  }
  return bounds;
}

// `gpu`: use the GPU's times of its kernels, if it reported them.
base::Result<Parts> parts_of(const TraceSource& source, const TextTraits& traits, int rank,
                             bool gpu) {
  NCCLPROBE_TRY_ASSIGN(RankTrace trace, source.load(rank, Pass::collectives));
  Clocks::OfRank clock;
  if (gpu)
    clock.gpu = ClockModel(); // times stay on the GPU's clock
  const RankReading reading(std::move(trace), rank, clock, traits, source, Pass::collectives);
  const Activities& activities = reading.activities;
  Parts parts{gpu && activities.from_nccl && activities.heard == 0, {}, {}};
  if (parts.by_gpu)
    parts.calls = bounds_of_calls(reading.trace);
  for (const CollectivePart& part : reading.parts) {
    if (!part.needs_all || is_held_out(part.key))
      continue;
    const DeviceActivity& activity = activities.all[part.activity];
    Part one{part.key, activity.start_ns, activity.end_ns};
    // The host hears late: the end is a bound; the begin is only bounded by the call.
    if (activities.from_nccl && !parts.by_gpu)
      one.begun_ns =
          static_cast<std::int64_t>(reading.trace.nccl_operations[activity.nccl - 1].enqueue_ns);
    if (one.begun_ns != 0)
      parts.all.push_back(one);
  }
  return parts;
}

// What collectives say about one clock relative to another.
class Comparison {
public:
  // On both clocks: when a rank certainly had not begun yet, and when it had ended.
  void add(std::int64_t begun_ns, std::int64_t ended_ns, std::int64_t other_begun_ns,
           std::int64_t other_ended_ns) {
    const std::size_t source = bounds_.size() / 2;
    for (const auto& [side, own_ns, reference_ns] :
         {std::tuple{OffsetBound::Side::at_least, ended_ns, other_begun_ns},
          {OffsetBound::Side::at_most, begun_ns, other_ended_ns}}) {
      const auto own = static_cast<std::uint64_t>(own_ns);
      bounds_.push_back(
          {own, offset(own, static_cast<std::uint64_t>(reference_ns)), 0, side, source});
    }
  }
  bool is_empty() const { return bounds_.empty(); }
  CollectiveBounds take(std::optional<int> reference) {
    const std::uint64_t collectives = bounds_.size() / 2;
    return {tightest(std::move(bounds_)), collectives, reference};
  }

private:
  std::vector<OffsetBound> bounds_;
};

// One collective on a host: on its reference GPU, by that GPU's clock, and on all of its ranks, by
// the host's.
struct OnHost {
  std::int64_t begun_gt = 0, ended_gt = 0; // 0: the reference did not take part
  std::int64_t last_begun_ns = INT64_MIN;
  std::int64_t first_ended_ns = INT64_MAX;

  void add(std::int64_t begun_ns, std::int64_t ended_ns) {
    last_begun_ns = std::max(last_begun_ns, begun_ns);
    first_ended_ns = std::min(first_ended_ns, ended_ns);
  }
};
using HostCollectives = ByCollective<OnHost>;

class Inference {
public:
  explicit Inference(TraceSource& source)
      : source_(source), traits_(source.texts), clocks_(fit_clocks(source.ranks)) {
    std::map<std::string, std::size_t> index;
    for (RankHead& head : source.ranks) {
      const auto found = index.try_emplace(head.host, hosts_.size()).first;
      if (found->second == hosts_.size())
        hosts_.emplace_back();
      hosts_[found->second].push_back(&head);
    }
  }

  void infer() {
    HostCollectives first;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      Heads& heads = hosts_[i];
      const bool is_unknown = !clocks_.ranks.at(heads.front()->rank).host;
      const bool compares_hosts = i == 0 ? !clocks_.all_known() : is_unknown;
      HostCollectives found = collectives_of(heads, compares_hosts);
      if (i == 0)
        first = std::move(found);
      else if (is_unknown)
        compare_hosts(*heads.front(), found, first);
    }
  }

private:
  using Heads = std::vector<RankHead*>;

  // Ranks whose GPUs report kernel times, the most accurate first.
  Heads possible_references(const Heads& heads) const {
    Heads found;
    for (RankHead* head : heads)
      if (head->kernels == 0 && clocks_.ranks.at(head->rank).gpu)
        found.push_back(head);
    std::ranges::stable_sort(found, {}, [this](const RankHead* head) {
      const Clocks::OfRank& clock = clocks_.ranks.at(head->rank);
      return clock.gpu->worst_error_ns(clock.gpu->first_ns(), clock.gpu->last_ns());
    });
    return found;
  }

  HostCollectives collectives_of(const Heads& heads, bool compares_hosts) {
    HostCollectives found;
    const Heads possible = possible_references(heads);
    RankHead* reference = nullptr;
    std::optional<ClockModel> clock; // of the reference
    const bool compares_gpus = heads.size() > 1 && !possible.empty();
    if (!compares_hosts && !compares_gpus)
      return found;
    for (RankHead* head : possible) {
      const auto parts = parts_of(source_, traits_, head->rank, true);
      if (!parts || !parts->by_gpu)
        continue;
      reference = head;
      reference->gpu_collectives.reference = reference->rank;
      take_calls(*reference, *parts);
      clock = fit_gpu_clock(*reference, nullptr);
      std::size_t hint = 0;
      for (const Part& part : parts->all) {
        OnHost& one = found.try_emplace(part.key, hint).first;
        one.begun_gt = part.begun_ns;
        one.ended_gt = part.ended_ns;
        one.add(on(*clock, part.begun_ns), on(*clock, part.ended_ns));
      }
      break;
    }
    Heads others;
    for (RankHead* head : heads)
      if (head != reference && (compares_hosts || (reference != nullptr && head->kernels == 0)))
        others.push_back(head);
    work_in_turn(
        others.size(), k_threads,
        [&](std::size_t i) {
          return parts_of(source_, traits_, others[i]->rank, reference != nullptr);
        },
        [&](std::size_t i, const base::Result<Parts>& parts) {
          if (parts) // code that needs that rank will report it; the others' bounds hold without it
            add_rank(*others[i], *parts, reference, clock ? &*clock : nullptr, compares_hosts,
                     found);
          return true;
        });
    return found;
  }

  // A bound that contradicts the readings is dropped: NCCL reported it too late, or for another
  // operation.
  void take_calls(RankHead& head, const Parts& parts) const {
    const auto& by_readings = clocks_.ranks.at(head.rank).gpu;
    std::vector<OffsetBound> calls;
    for (const OffsetBound& call : parts.calls) {
      if (by_readings) {
        const auto own_ns = static_cast<std::int64_t>(call.own_ns);
        const auto beyond_ns =
            static_cast<double>(own_ns + call.offset_ns - on(*by_readings, own_ns));
        const bool is_least = call.side == OffsetBound::Side::at_least;
        if ((is_least ? beyond_ns : -beyond_ns) > by_readings->error_at(call.own_ns))
          continue;
      }
      calls.push_back(call);
    }
    head.gpu_calls = tightest(std::move(calls));
  }

  void add_rank(RankHead& head, const Parts& parts, const RankHead* reference,
                const ClockModel* clock, bool compares_hosts, HostCollectives& found) const {
    std::optional<ClockModel> gpu;
    if (parts.by_gpu) {
      take_calls(head, parts);
      gpu = compare_gpus(head, reference->rank, *clock, parts, found);
    }
    if (!compares_hosts || (parts.by_gpu && !gpu))
      return;
    std::size_t hint = 0;
    for (const Part& part : parts.all) {
      std::int64_t begun_ns = part.begun_ns, ended_ns = part.ended_ns;
      if (gpu) {
        auto error_ns = [&](std::int64_t own_ns) {
          const double error = std::ceil(gpu->error_at(static_cast<std::uint64_t>(own_ns)));
          return static_cast<std::int64_t>(std::min(error, k_any_error_ns));
        };
        begun_ns = on(*gpu, part.begun_ns) - error_ns(part.begun_ns);
        ended_ns = on(*gpu, part.ended_ns) + error_ns(part.ended_ns);
      }
      found.try_emplace(part.key, hint).first.add(begun_ns, ended_ns);
    }
  }

  // `clock`: of the reference.
  static std::optional<ClockModel> compare_gpus(RankHead& head, int reference,
                                                const ClockModel& clock, const Parts& parts,
                                                const HostCollectives& found) {
    Comparison comparison;
    std::size_t hint = 0;
    for (const Part& part : parts.all)
      if (const auto same = found.find(part.key, hint); same && found.all()[*same].begun_gt != 0)
        comparison.add(part.begun_ns, part.ended_ns, on(clock, found.all()[*same].begun_gt),
                       on(clock, found.all()[*same].ended_gt));
    if (!comparison.is_empty())
      head.gpu_collectives = comparison.take(reference);
    return fit_gpu_clock(head, &clock);
  }

  static void compare_hosts(RankHead& head, const HostCollectives& found,
                            const HostCollectives& first) {
    Comparison comparison;
    std::size_t hint = 0;
    for (std::size_t i = 0; i < found.all().size(); ++i)
      if (const auto same = first.find(found.keys()[i], hint)) {
        const OnHost &here = found.all()[i], &there = first.all()[*same];
        comparison.add(here.last_begun_ns, here.first_ended_ns, there.last_begun_ns,
                       there.first_ended_ns);
      }
    if (!comparison.is_empty())
      head.host_collectives = comparison.take(std::nullopt);
  }

  static std::int64_t on(const ClockModel& clock, std::int64_t own_ns) {
    return clock.to_reference(static_cast<std::uint64_t>(own_ns));
  }

  TraceSource& source_;
  const TextTraits traits_;
  const Clocks clocks_;      // before collectives
  std::vector<Heads> hosts_; // in the order of their first ranks
};

} // namespace

void infer_clocks(TraceSource& source) {
  if (!source.ranks.empty())
    Inference(source).infer();
}

} // namespace ncclprobe::analysis::timeline
