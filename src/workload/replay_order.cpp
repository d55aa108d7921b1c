// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/replay_order.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace ncclprobe::workload {

using namespace model;
using base::Errc, base::Error, base::fail, base::Result;

namespace {

constexpr const char* k_expert = "expert"; // analysis::job::Role

std::string text_of(const CapturedOperation& one) {
  return one.kind == CapturedKind::message
             ? fmt::format("the message from rank {} to rank {}", one.from, one.to)
             : fmt::format("{} of {} {}", to_string(one.collective), one.count,
                           to_string(one.type));
}

class Orderer {
public:
  Orderer(const CapturedStep& step, const std::vector<int>& kept, int number)
      : step_(step), kept_(kept), number_(number) {}

  Result<ReplayOrder> order() {
    for (std::size_t i = 0; i < kept_.size(); ++i)
      numbers_[kept_[i]] = static_cast<int>(i);
    find_communicators();
    NCCLPROBE_TRY(read_calls());
    NCCLPROBE_TRY(check_members());
    NCCLPROBE_TRY(merge());
    return std::move(out_);
  }

private:
  const CapturedOperation& operation(int index) const {
    return step_.operations[static_cast<std::size_t>(index)];
  }
  const ReplayCommunicator* communicator_of(const CapturedOperation& one) const {
    const auto found = communicators_.find(one.communicator);
    return found == communicators_.end()
               ? nullptr
               : &out_.communicators[static_cast<std::size_t>(found->second)];
  }

  void find_communicators() {
    for (std::size_t i = 0; i < step_.communicators.size(); ++i) {
      const CapturedCommunicator& captured = step_.communicators[i];
      ReplayCommunicator made;
      made.captured = static_cast<int>(i);
      for (std::size_t own = 0; own < captured.ranks.size(); ++own)
        if (const auto rank = numbers_.find(captured.ranks[own]); rank != numbers_.end()) {
          made.numbers[static_cast<int>(own)] = static_cast<int>(made.ranks.size());
          made.ranks.push_back(rank->second);
        }
      if (made.ranks.size() < 2)
        continue;
      communicators_[static_cast<int>(i)] = static_cast<int>(out_.communicators.size());
      out_.communicators.push_back(std::move(made));
    }
  }

  // Whether a call is replayed.
  Result<bool> is_kept(const CapturedOperation& one) const {
    const ReplayCommunicator* within = communicator_of(one);
    const CapturedCommunicator& captured =
        step_.communicators[static_cast<std::size_t>(one.communicator)];
    if (one.kind == CapturedKind::message) {
      if (within != nullptr && within->numbers.contains(one.from) &&
          within->numbers.contains(one.to))
        return true;
      if (captured.role == k_expert || captured.size == 1)
        return false;
      return fail(Error{Errc::unsupported,
                        fmt::format("{} of communicator '{}' ({}) cannot be replayed: one of them "
                                    "is missing",
                                    text_of(one), captured.name, captured.role),
                        "replay all ranks that exchange messages (--captured-ranks, --ranks)"});
    }
    if (within == nullptr)
      return false;
    if (has_root(one.collective) && !within->numbers.contains(one.root))
      return fail(Error{Errc::unsupported,
                        fmt::format("{} of communicator '{}' cannot be replayed: its root, rank {} "
                                    "of it, is missing",
                                    text_of(one), captured.name, one.root),
                        "replay that rank, too (--captured-ranks)"});
    return true;
  }

  Result<void> read_calls() {
    queues_.resize(kept_.size());
    std::map<int, std::size_t> collectives; // by operation
    std::map<std::pair<int, int>, std::size_t> groups;
    for (const CapturedCall& call : step_.calls) {
      const auto number = numbers_.find(call.rank);
      if (number == numbers_.end() || call.step != number_)
        continue;
      const int rank = number->second;
      const CapturedOperation& one = operation(call.operation);
      out_.rest_ns[rank] += call.compute_ns;
      if (call.host_ns > 0)
        out_.rest_host_ns[rank] += call.host_ns;
      NCCLPROBE_TRY_ASSIGN(const bool kept, is_kept(one));
      if (!kept)
        continue;
      const bool is_message = one.kind == CapturedKind::message;
      std::size_t unit = units_.size();
      if (!is_message)
        unit = collectives.try_emplace(call.operation, unit).first->second;
      else if (call.group >= 0)
        unit = groups.try_emplace({rank, call.group}, unit).first->second;
      const bool is_new = unit == units_.size();
      if (is_new) {
        units_.emplace_back();
        units_[unit].communicator = communicators_.at(one.communicator);
        units_[unit].collective = !is_message;
        units_[unit].rank = is_message ? rank : -1;
      }
      ReplayUnit& made = units_[unit];
      const bool is_own = made.compute_ns.try_emplace(rank, 0.0).second;
      made.compute_ns[rank] += std::exchange(out_.rest_ns[rank], 0.0);
      if (const auto host = out_.rest_host_ns.find(rank); host != out_.rest_host_ns.end()) {
        made.hosts[rank].ns += host->second;
        out_.rest_host_ns.erase(host);
      }
      if (call.host_waits)
        made.hosts[rank].waits = true;
      if (call.is_waited_for)
        made.waiting.insert(rank);
      if (is_message) {
        const bool to_itself = one.from == one.to;
        const bool known = std::ranges::any_of(
            made.calls, [&](const ReplayCall& other) { return other.operation == call.operation; });
        const ReplayCommunicator& within =
            out_.communicators[static_cast<std::size_t>(made.communicator)];
        if (!to_itself || !known)
          made.calls.push_back(
              {call.operation,
               to_itself ||
                   within.ranks[static_cast<std::size_t>(within.rank_of(one.from))] == rank});
      } else if (made.calls.empty()) {
        made.calls.push_back({call.operation, true});
      }
      if (is_own)
        queues_[static_cast<std::size_t>(rank)].push_back(unit);
    }
    return {};
  }

  // All ranks of a communicator take part in its collectives.
  Result<void> check_members() const {
    for (const ReplayUnit& unit : units_) {
      if (!unit.collective)
        continue;
      for (int rank : out_.communicators[static_cast<std::size_t>(unit.communicator)].ranks)
        if (!unit.compute_ns.contains(rank))
          return fail(Error{Errc::unsupported,
                            fmt::format("rank {} of the job was not seen to take part in {}",
                                        kept_[static_cast<std::size_t>(rank)],
                                        text_of(operation(unit.calls.front().operation))),
                            "replay other ranks (--captured-ranks), or record the job again"});
    }
    return {};
  }

  // Whether it comes next on all its ranks; `within`: among the calls of its communicator only.
  bool is_next(std::size_t unit, bool within) const {
    return std::ranges::all_of(units_[unit].compute_ns, [&](const auto& own) {
      const std::deque<std::size_t>& queue = queues_[static_cast<std::size_t>(own.first)];
      if (!within)
        return queue.front() == unit;
      const auto first = std::ranges::find_if(queue, [&](std::size_t other) {
        return units_[other].communicator == units_[unit].communicator;
      });
      return *first == unit;
    });
  }

  std::optional<std::size_t> next_unit() const {
    for (const auto& queue : queues_)
      if (!queue.empty() && is_next(queue.front(), false))
        return queue.front();
    // Threads of a job may call different communicators in different orders.
    for (const auto& queue : queues_)
      for (std::size_t unit : queue)
        if (is_next(unit, true))
          return unit;
    return std::nullopt;
  }

  Result<void> merge() {
    std::size_t left = units_.size();
    for (; left > 0; --left) {
      const std::optional<std::size_t> next = next_unit();
      if (!next)
        return fail(Errc::unsupported,
                    "ranks call the operations of a communicator in different orders, {} of them "
                    "cannot be replayed",
                    left);
      for (const auto& [rank, ns] : units_[*next].compute_ns)
        std::erase(queues_[static_cast<std::size_t>(rank)], *next);
      out_.units.push_back(std::move(units_[*next]));
      // Its ranks are asked of no queue any more.
    }
    return {};
  }

  const CapturedStep& step_;
  const std::vector<int>& kept_;
  int number_; // of the step
  ReplayOrder out_;
  std::map<int, int> numbers_;                  // ranks of the replay, by those of the job
  std::map<int, int> communicators_;            // of the replay, by those of the capture
  std::vector<ReplayUnit> units_;               // in the order in which they were first seen
  std::vector<std::deque<std::size_t>> queues_; // of units, by rank
};

} // namespace

Result<ReplayOrder> replay_order(const CapturedStep& step, const std::vector<int>& kept,
                                 int number) {
  return Orderer(step, kept, number).order();
}

} // namespace ncclprobe::workload
