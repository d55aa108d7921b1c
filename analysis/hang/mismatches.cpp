// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/mismatches.h"

#include <algorithm>
#include <map>
#include <string>

namespace ncclprobe::analysis::hang {
namespace {

using CallsOfRanks = std::map<int, const Call*>; // by global rank

bool has_root(const std::string& function) {
  return function == "broadcast" || function == "reduce" || function == "gather" ||
         function == "scatter";
}

// Ranks that agree with each other, largest group first; of equal ones that with the lowest rank.
std::vector<std::vector<int>> camps(const CallsOfRanks& calls) {
  std::vector<std::vector<int>> all;
  for (const auto& [rank, call] : calls) {
    auto same = std::ranges::find_if(all, [&, one = call](const std::vector<int>& camp) {
      return !difference(*calls.at(camp.front()), *one);
    });
    if (same == all.end())
      all.push_back({rank});
    else
      same->push_back(rank);
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &std::vector<int>::size);
  return all;
}

std::optional<std::uint64_t> elsewhere(const std::map<std::uint64_t, CallsOfRanks>& calls,
                                       const Mismatch& mismatch, const std::vector<int>& others) {
  std::optional<std::uint64_t> nearest;
  for (const auto& [position, of_ranks] : calls)
    for (const int rank : others)
      if (auto found = of_ranks.find(rank);
          found != of_ranks.end() && position != mismatch.position &&
          !difference(*found->second, mismatch.theirs) &&
          found->second->number == mismatch.theirs.number && !nearest)
        nearest = position;
  return nearest;
}

} // namespace

std::optional<Argument> difference(const Call& one, const Call& other) {
  if (one.function != other.function)
    return Argument::function;
  if (one.data_type != other.data_type)
    return Argument::data_type;
  if (one.count != other.count && !one.count_may_differ)
    return Argument::count;
  if (one.root != other.root && has_root(one.function))
    return Argument::root;
  if (one.algorithm != other.algorithm)
    return Argument::algorithm;
  if (one.protocol != other.protocol)
    return Argument::protocol;
  return std::nullopt;
}

std::vector<Mismatch> find_mismatches(const Job& job) {
  std::vector<Mismatch> all;
  for (std::size_t group = 0; group < job.groups.size(); ++group) {
    std::map<std::uint64_t, CallsOfRanks> calls; // by position
    for (const RankCalls& rank : job.ranks)
      for (const Call& call : rank.calls)
        if (call.group == group && call.kind == CallKind::collective)
          calls[call.position][rank.rank] = &call;
    std::size_t found = 0;
    for (const auto& [position, of_ranks] : calls) {
      const std::vector<std::vector<int>> by_call = camps(of_ranks);
      for (std::size_t i = 1; i < by_call.size() && found < k_most_mismatches; ++i, ++found) {
        Mismatch one;
        one.group = group;
        one.position = position;
        one.ranks = by_call[i];
        one.theirs = *of_ranks.at(by_call[i].front());
        one.others = *of_ranks.at(by_call[0].front());
        one.argument = *difference(one.others, one.theirs);
        if (one.argument == Argument::function)
          one.elsewhere = elsewhere(calls, one, by_call[0]);
        all.push_back(std::move(one));
      }
    }
  }
  return all;
}

} // namespace ncclprobe::analysis::hang
