// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/captured_step.h"

#include "analysis/replay/chosen_steps.h"
#include "analysis/replay/computing.h"
#include "analysis/replay/host_pace.h"
#include "analysis/replay/operation_names.h"
#include "analysis/replay/rank_steps.h"
#include "analysis/statistics/statistics.h"
#include "analysis/timeline/clocks.h"
#include "base/name_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ncclprobe::analysis::replay {

using base::Errc, base::Error, base::fail, base::Result;
using job::Role;
using model::CapturedKind, model::CapturedOperation, model::CapturedStep;

namespace {

// More calls in the replayed steps would make a schedule that takes long to launch.
constexpr std::size_t k_most_calls = 1000;
// Share of a step. If a GPU waits longer for its host, the replay has a host, too.
constexpr double k_host_matters = 0.05;

class Capture {
public:
  Capture(const timeline::TraceSource& source, const job::FoundSteps& found,
          const CaptureRequest& request)
      : source_(source), found_(found), request_(request),
        clocks_(timeline::fit_clocks(source.ranks)) {}

  Result<CapturedStep> step() {
    NCCLPROBE_TRY(choose_kind());
    for (const job::RankSteps& rank : found_.ranks)
      NCCLPROBE_TRY(read(rank));
    NCCLPROBE_TRY(keep_steps_that_are_alike());
    const std::uint32_t middle = median_step();
    NCCLPROBE_TRY(find_operations(middle));
    for (RankSteps& rank : ranks_)
      group_calls(rank, rank.steps.at(middle));
    set_transfers();
    set_computing();
    if (request_.steps.value_or(2) > 1)
      choose_consecutive();
    return std::move(out_);
  }

private:
  Result<void> choose_kind() {
    out_.path = request_.path;
    if (found_.reason == job::NoSteps::marked)
      return fail(Error{Errc::invalid_argument,
                        "this is the trace of a run of ncclprobe, not of a captured job",
                        "start that run again (ncclprobe run); replay takes what ncclprobe record "
                        "has recorded"});
    if (found_.kinds.empty())
      return fail(Error{Errc::not_found, "no steps were found in the capture",
                        "record more steps (ncclprobe record); `ncclprobe report` shows what was "
                        "found"});
    const auto most = std::ranges::max_element(found_.kinds, {}, &job::StepKind::steps);
    out_.kind = request_.kind.value_or(static_cast<int>(most - found_.kinds.begin()));
    if (out_.kind < 0 || out_.kind >= std::ssize(found_.kinds))
      return fail(Errc::invalid_argument, "there is no kind {} of steps: the capture has {}",
                  out_.kind, found_.kinds.size());
    candidates_ = steps_to_compare(found_, static_cast<std::uint32_t>(out_.kind));
    if (candidates_.size() < k_fewest_captured_steps)
      return too_few(candidates_.size());
    return {};
  }

  tl::unexpected<Error> too_few(std::size_t steps) const {
    return fail(Error{Errc::not_found,
                      fmt::format("{} steps of kind {} can be compared, {} are needed", steps,
                                  out_.kind, k_fewest_captured_steps),
                      "record more steps, or name another kind (--step-kind)"});
  }

  Result<void> read(const job::RankSteps& found) {
    const auto clock = clocks_.ranks.find(found.rank);
    NCCLPROBE_TRY_ASSIGN(
        RankSteps own, rank_steps(source_, found, candidates_,
                                  clock == clocks_.ranks.end() ? std::nullopt : clock->second.gpu));
    if (own.steps.empty()) {
      without_steps_.push_back(found.rank);
      return {};
    }
    has_device_times_ = has_device_times_ && own.on_gpu;
    ranks_.push_back(std::move(own));
    return {};
  }

  // Of each rank, those of its most frequent shape; of these, the ones that all ranks have.
  Result<void> keep_steps_that_are_alike() {
    std::map<std::uint32_t, std::size_t> alike; // ranks, by step
    for (RankSteps& rank : ranks_) {
      std::map<std::uint64_t, std::size_t> shapes;
      for (const auto& [number, step] : rank.steps)
        ++shapes[step.shape];
      const std::uint64_t usual =
          std::ranges::max_element(shapes, {}, [](const auto& one) { return one.second; })->first;
      std::erase_if(rank.steps, [&](const auto& one) { return one.second.shape != usual; });
      for (const auto& [number, step] : rank.steps)
        ++alike[number];
    }
    for (RankSteps& rank : ranks_)
      std::erase_if(rank.steps, [&](const auto& one) { return alike[one.first] < ranks_.size(); });
    if (ranks_.empty() || ranks_.front().steps.size() < k_fewest_captured_steps)
      return too_few(ranks_.empty() ? 0 : ranks_.front().steps.size());
    out_.steps = ranks_.front().steps.size();
    for (const RankSteps& rank : ranks_)
      out_.ranks.push_back(rank.rank);
    out_.has_device_times = has_device_times_;
    if (!has_device_times_)
      out_.remarks.emplace_back(
          "the capture has no times of the GPU: computing is the time between "
          "calls on the host, and contains waiting");
    if (!without_steps_.empty())
      out_.remarks.push_back(
          fmt::format("{} took no part in these steps", base::name_ranks(without_steps_)));
    out_.remarks.emplace_back("NCCL does not report the reduction: it is taken to be a sum");
    return {};
  }

  // The step whose length is the median; sets the length.
  std::uint32_t median_step() {
    std::vector<std::pair<double, std::uint32_t>> lengths_ns; // means over ranks
    for (const auto& [number, step] : ranks_.front().steps) {
      double sum_ns = 0;
      for (const RankSteps& rank : ranks_) {
        const TimedStep own = rank.steps.at(number).timed();
        sum_ns += static_cast<double>(own.end_ns() - own.begun_ns);
      }
      lengths_ns.emplace_back(sum_ns / static_cast<double>(ranks_.size()), number);
    }
    std::ranges::sort(lengths_ns);
    const auto& middle = lengths_ns[(lengths_ns.size() - 1) / 2];
    std::vector<double> lengths;
    for (const auto& [length_ns, number] : lengths_ns)
      lengths.push_back(length_ns);
    out_.step_ns = out_.usual_step_ns = median_in_place(lengths);
    return middle.second;
  }

  int communicator(std::uint64_t hash) {
    const auto [place, is_new] =
        communicators_.try_emplace(hash, static_cast<int>(out_.communicators.size()));
    if (!is_new)
      return place->second;
    model::CapturedCommunicator made;
    if (const auto known = found_.communicators.find(hash); known != found_.communicators.end()) {
      std::vector<std::uint64_t> steps;
      for (const job::StepKind& kind : found_.kinds)
        steps.push_back(kind.steps);
      const Role role = job::role_of(known->second, steps);
      made.name = known->second.name;
      made.role = base::to_string(role);
      made.size = known->second.size;
      made.ranks.assign(static_cast<std::size_t>(std::clamp(made.size, 0, 1 << 20)), -1);
      for (const auto& [own, rank] : known->second.ranks)
        if (own >= 0 && own < std::ssize(made.ranks))
          made.ranks[static_cast<std::size_t>(own)] = rank;
      roles_.push_back(role);
    } else {
      roles_.push_back(Role::unknown);
    }
    out_.communicators.push_back(std::move(made));
    return place->second;
  }

  // The rank's own number in a communicator.
  int own_rank(int communicator, int rank) const {
    const auto& ranks = out_.communicators[static_cast<std::size_t>(communicator)].ranks;
    return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin());
  }

  Result<void> find_operations(std::uint32_t step) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, int> known; // JobOperation::where, which
    auto text = [&](trace::TextId id) -> std::string {
      return id.id < source_.texts.size() ? source_.texts[id.id] : "";
    };
    for (const RankSteps& rank : ranks_)
      for (const Call& call : rank.steps.at(step).calls) {
        const auto [place, is_new] = known.try_emplace({call.what.where, call.what.which},
                                                       static_cast<int>(out_.operations.size()));
        model::CapturedCall made{rank.rank, place->second, -1, 0, false};
        out_.calls.push_back(made);
        if (!is_new)
          continue;
        CapturedOperation one;
        one.communicator = communicator(call.communicator);
        one.count = call.row.count;
        const auto type = data_type_of(text(call.row.data_type));
        if (!type)
          return fail(Errc::unsupported, "{} of type '{}' cannot be replayed",
                      text(call.row.function), text(call.row.data_type));
        one.type = *type;
        if (call.row.kind == trace::NcclKind::collective) {
          const auto collective = collective_of(text(call.row.function));
          if (!collective)
            return fail(Errc::unsupported, "'{}' cannot be replayed", text(call.row.function));
          one.collective = *collective;
          one.root = has_root(*collective) ? std::max(0, call.row.root) : 0;
        } else {
          const int own = own_rank(one.communicator, rank.rank);
          const bool sends = call.row.kind == trace::NcclKind::send;
          one.kind = CapturedKind::message;
          one.collective = model::Collective::send_recv;
          one.from = sends ? own : call.row.peer;
          one.to = sends ? call.row.peer : own;
        }
        out_.operations.push_back(one);
      }
    return {};
  }

  // Messages of a rank that overlap on one communicator were launched as a group: without one, its
  // stream would run them one after the other.
  void group_calls(RankSteps& rank, const StepCalls& step) const {
    int groups = 0;
    std::int64_t end_ns = 0, enqueued_ns = 0;
    for (std::size_t i = 0; i < step.calls.size(); ++i) {
      const Call& call = step.calls[i];
      const bool is_message = call.row.kind != trace::NcclKind::collective;
      const auto called_ns = static_cast<std::int64_t>(call.row.enqueue_ns);
      const bool continues = is_message && i > 0 &&
                             step.calls[i - 1].row.kind != trace::NcclKind::collective &&
                             step.calls[i - 1].communicator == call.communicator &&
                             (call.what.begin_ns < end_ns || called_ns < enqueued_ns);
      if (!continues) {
        rank.units.push_back({i, i, communicators_.at(call.communicator)});
        end_ns = enqueued_ns = 0;
        ++groups;
      }
      rank.units.back().last = i + 1;
      rank.groups.push_back(is_message ? groups : -1);
      end_ns = std::max(end_ns, call.what.end_ns);
      enqueued_ns = std::max(enqueued_ns, static_cast<std::int64_t>(call.row.enqueued_ns));
    }
  }

  // No rank can have waited in the shortest part of an operation: it came last.
  void set_transfers() {
    if (!has_device_times_)
      return;
    std::vector<std::vector<double>> shortest(out_.operations.size());
    for (const auto& [number, unused] : ranks_.front().steps) {
      std::vector<double> own(out_.operations.size(), -1);
      std::size_t at = 0;
      for (const RankSteps& rank : ranks_)
        for (const Call& call : rank.steps.at(number).calls) {
          double& ns = own[static_cast<std::size_t>(out_.calls[at++].operation)];
          const auto length_ns = static_cast<double>(call.what.end_ns - call.what.begin_ns);
          ns = ns < 0 ? length_ns : std::min(ns, length_ns);
        }
      for (std::size_t i = 0; i < own.size(); ++i)
        if (own[i] >= 0)
          shortest[i].push_back(own[i]);
    }
    for (std::size_t i = 0; i < shortest.size(); ++i)
      if (!shortest[i].empty())
        out_.operations[i].transfer_ns = median_in_place(shortest[i]);
  }

  // Where the steps do not tell, what the communicator is for does. Gradients and parameters are
  // communicated beside computing; all else is needed at once.
  bool is_waited_for(const RankSteps& rank, const UnitPlace& unit, const WaitSigns& signs) const {
    if (const auto waits = signs.waits(unit.communicator))
      return *waits;
    const Call& first = rank.steps.begin()->second.calls[unit.first];
    const Role role = roles_[static_cast<std::size_t>(unit.communicator)];
    if (role == Role::data || role == Role::sharded_data)
      return false;
    return unit.last - unit.first > 1 || first.row.kind != trace::NcclKind::send;
  }

  void set_computing() {
    std::vector<double> computing_ns(out_.steps), lengths_ns(out_.steps);
    WaitSigns signs;
    for (const RankSteps& rank : ranks_)
      if (has_device_times_)
        signs.add(rank.units, rank.timed_steps());
    std::size_t at = 0; // in the calls of all ranks
    for (RankSteps& rank : ranks_) {
      const std::vector<TimedStep> steps = rank.timed_steps();
      for (const UnitPlace& unit : rank.units)
        rank.waited.push_back(is_waited_for(rank, unit, signs));
      const Computing computing = computing_of(rank.units, rank.waited, steps, rank.kernels);
      for (std::size_t i = 0; i < rank.units.size(); ++i)
        for (std::size_t call = rank.units[i].first; call < rank.units[i].last; ++call, ++at) {
          out_.calls[at].group = rank.groups[call];
          out_.calls[at].is_waited_for = rank.waited[i];
          out_.calls[at].compute_ns = call == rank.units[i].first ? computing.before_ns[i] : 0;
        }
      for (std::size_t i = 0; i < steps.size(); ++i) {
        computing_ns[i] += computing.of_step_ns[i];
        lengths_ns[i] += static_cast<double>(steps[i].end_ns() - steps[i].begun_ns);
      }
    }
    std::vector<double> exposed_ns;
    for (std::size_t i = 0; i < computing_ns.size(); ++i)
      exposed_ns.push_back(std::max(0.0, lengths_ns[i] - computing_ns[i]) /
                           static_cast<double>(ranks_.size()));
    out_.exposed_ns = median_in_place(exposed_ns);
  }

  // A rank's part in all compared steps, by step.
  struct RankTimes {
    std::vector<TimedStep> steps;
    std::vector<bool> host_waits; // before each unit
    GpuComputing computing;
    std::vector<std::vector<double>> gaps_ns; // between calls, by unit: computing and a late host
  };

  std::vector<RankTimes> times_of_ranks() const {
    HostWaitSigns signs;
    std::vector<RankTimes> all;
    for (const RankSteps& rank : ranks_) {
      RankTimes& own = all.emplace_back();
      own.steps = rank.timed_steps();
      own.computing = gpu_computing(rank.units, rank.waited, own.steps, rank.kernels);
      own.gaps_ns = computing_of(rank.units, rank.waited, own.steps, rank.kernels).steps_ns;
      signs.add(rank.units, own.steps);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::size_t i = 0; i < ranks_[r].units.size(); ++i)
        all[r].host_waits.push_back(signs.waits(ranks_[r].units.size(), i));
    return all;
  }

  // Steps that differ, or whose GPUs wait for their host, are more than their medians: each rank is
  // late at another time. So the replay has some of them as they were.
  void choose_consecutive() {
    const std::vector<RankTimes> times = times_of_ranks();
    double late_ns = 0;
    for (const RankTimes& rank : times)
      for (double ns : rank.computing.host_late_ns)
        late_ns += ns / static_cast<double>(out_.steps * times.size());
    out_.host_late_ns = has_device_times_ ? late_ns : 0;
    const bool has_host = has_device_times_ && late_ns > k_host_matters * out_.usual_step_ns;
    std::vector<StepLength> lengths;
    for (const auto& [number, unused] : ranks_.front().steps)
      lengths.push_back(length_of(times, lengths.size(), number, has_host));
    if (!request_.steps && !has_host && !lengths_differ(lengths))
      return;
    const std::size_t most =
        request_.steps
            ? static_cast<std::size_t>(*request_.steps)
            : std::clamp<std::size_t>(k_most_calls / out_.calls.size(), 1, k_most_replayed_steps);
    const std::vector<std::uint32_t> chosen = usual_consecutive_steps(lengths, most);
    const auto first = static_cast<std::size_t>(
        std::ranges::find(lengths, chosen.front(), &StepLength::number) - lengths.begin());
    out_.replayed_steps = static_cast<int>(chosen.size());
    out_.first_step = chosen.front();
    out_.step_ns = out_.exposed_ns = 0;
    for (std::size_t i = first; i < first + chosen.size(); ++i) {
      out_.step_ns += lengths[i].length_ns / static_cast<double>(chosen.size());
      out_.exposed_ns += lengths[i].exposed_ns / static_cast<double>(chosen.size());
    }
    set_calls(times, first, chosen.size(), has_host);
    out_.remarks.push_back(
        fmt::format("a step of the capture usually lasts {:.2f} ms (median of {}), the replayed "
                    "ones {:.2f} ms",
                    out_.usual_step_ns / 1e6, out_.steps, out_.step_ns / 1e6));
    if (!has_host)
      return;
    out_.remarks.push_back(fmt::format("GPUs wait for their host for {:.2f} ms of a step, so the "
                                       "replay has hosts of the same pace",
                                       late_ns / 1e6));
    if (std::ranges::all_of(ranks_, [](const auto& rank) { return rank.kernels.known.empty(); }))
      out_.remarks.emplace_back("kernels were not recorded (ncclprobe record --cuda): the shortest "
                                "computing that was seen counts as computing of the GPU, and any "
                                "time beyond it as a late host");
  }

  StepLength length_of(const std::vector<RankTimes>& times, std::size_t at, std::uint32_t number,
                       bool has_host) const {
    StepLength sum{number, 0, 0};
    for (std::size_t r = 0; r < times.size(); ++r) {
      const RankTimes& own = times[r];
      const auto length_ns = static_cast<double>(own.steps[at].end_ns() - own.steps[at].begun_ns);
      double exposed = length_ns;
      if (has_host)
        exposed = exposed_ns(ranks_[r].units, ranks_[r].waited, own.host_waits, {own.steps[at]},
                             {own.computing.steps_ns[at]});
      else
        for (double ns : own.gaps_ns[at])
          exposed -= ns;
      sum.length_ns += length_ns / static_cast<double>(times.size());
      sum.exposed_ns += std::max(0.0, exposed) / static_cast<double>(times.size());
    }
    return sum;
  }

  // The calls of these steps, with their own times.
  void set_calls(const std::vector<RankTimes>& times, std::size_t first, std::size_t count,
                 bool has_host) {
    const std::vector<model::CapturedCall> usual = std::move(out_.calls);
    out_.calls.clear();
    std::vector<std::vector<std::vector<double>>> hosts_ns;
    for (std::size_t r = 0; r < times.size(); ++r) {
      const auto begin = times[r].steps.begin() + static_cast<std::ptrdiff_t>(first);
      hosts_ns.push_back(host_times(ranks_[r].units, times[r].host_waits,
                                    {begin, begin + static_cast<std::ptrdiff_t>(count)}));
    }
    for (std::size_t step = 0; step < count; ++step) {
      std::size_t at = 0; // in the calls of all ranks
      for (std::size_t r = 0; r < times.size(); ++r) {
        const auto& computing_ns =
            has_host ? times[r].computing.steps_ns[first + step] : times[r].gaps_ns[first + step];
        for (std::size_t i = 0; i < ranks_[r].units.size(); ++i)
          for (std::size_t call = ranks_[r].units[i].first; call < ranks_[r].units[i].last;
               ++call) {
            model::CapturedCall own = usual[at++];
            const bool is_first = call == ranks_[r].units[i].first;
            own.step = static_cast<int>(step);
            own.compute_ns = is_first ? computing_ns[i] : 0;
            own.host_ns = is_first && has_host ? hosts_ns[r][step][i] : 0;
            own.host_waits = is_first && has_host && times[r].host_waits[i];
            out_.calls.push_back(own);
          }
      }
    }
  }

  const timeline::TraceSource& source_;
  const job::FoundSteps& found_;
  const CaptureRequest& request_;
  const timeline::Clocks clocks_;
  CapturedStep out_;
  std::vector<std::uint32_t> candidates_; // steps, ascending
  std::vector<RankSteps> ranks_;
  std::vector<int> without_steps_; // ranks
  std::map<std::uint64_t, int> communicators_;
  std::vector<Role> roles_; // of communicators
  bool has_device_times_ = true;
};

} // namespace

Result<CapturedStep> captured_step(const timeline::TraceSource& source,
                                   const job::FoundSteps& found, const CaptureRequest& request) {
  return Capture(source, found, request).step();
}

} // namespace ncclprobe::analysis::replay
