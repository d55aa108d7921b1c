// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/survey/memory_split.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::analysis {
namespace {

using What = model::MemoryUse::What;
using Readings = std::map<int, std::map<What, std::uint64_t>>; // by rank

Readings readings_of(const model::TrialRecord& trial) {
  Readings all;
  for (const model::WorkerRecord& worker : trial.workers)
    for (const model::MemoryUse& one : worker.memory)
      all[one.rank][one.what] = one.bytes;
  return all;
}

std::optional<std::uint64_t> growth(const std::map<What, std::uint64_t>& readings, What from,
                                    What to, std::uint64_t known = 0) {
  auto before = readings.find(from);
  auto after = readings.find(to);
  if (before == readings.end() || after == readings.end() || after->second < before->second + known)
    return std::nullopt;
  return after->second - before->second - known;
}

bool is_first(const model::TrialRecord& trial) {
  return !trial.prepared && !readings_of(trial).empty();
}

// Whole MiB: devices give memory in pieces of 2 MiB.
std::string mib_text(std::uint64_t bytes) {
  return fmt::format("{} MiB", (bytes + (1 << 19)) >> 20);
}

} // namespace

std::vector<MemorySplit> memory_splits(const model::TrialRecord& trial,
                                       const model::TrialRecord* first) {
  Readings at_first = trial.prepared && first != nullptr ? readings_of(*first) : Readings{};
  std::vector<MemorySplit> splits;
  for (auto& [rank, readings] : readings_of(trial)) {
    auto start = readings;
    if (trial.prepared) {
      start.erase(What::before);
      start.erase(What::opened);
      for (What what : {What::before, What::opened})
        if (auto found = at_first[rank].find(what); found != at_first[rank].end())
          start[what] = found->second;
    }
    MemorySplit& split = splits.emplace_back();
    split.setting = trial.spec.label();
    split.rank = rank;
    split.context_bytes = growth(start, What::before, What::opened);
    split.connecting_bytes = growth(start, What::opened, What::connected);
    if (auto found = readings.find(What::buffers); found != readings.end()) {
      split.buffer_bytes = found->second;
      split.launching_bytes = growth(readings, What::connected, What::finished, split.buffer_bytes);
    }
  }
  return splits;
}

std::vector<MemorySplit> memory_splits(const model::Run& run) {
  auto first = std::ranges::find_if(run.trials, is_first);
  std::vector<MemorySplit> all;
  std::set<std::string> seen;
  auto add = [&](bool by_default) {
    for (const model::TrialRecord& trial : run.trials)
      if (trial.spec.purpose == model::Purpose::measure && trial.outcome.ok() &&
          trial.spec.is_default() == by_default && seen.insert(trial.spec.label()).second)
        for (MemorySplit& one : memory_splits(trial, first == run.trials.end() ? nullptr : &*first))
          all.push_back(std::move(one));
  };
  add(true);
  add(false);
  return all;
}

std::string memory_text(const std::vector<MemorySplit>& of_setting) {
  std::string text;
  auto add = [&](const char* name, auto part) {
    std::optional<std::uint64_t> most;
    for (const MemorySplit& one : of_setting)
      if (std::optional<std::uint64_t> bytes = part(one))
        most = std::max(most.value_or(0), *bytes);
    if (most)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, mib_text(*most));
  };
  add("context", [](const MemorySplit& one) { return one.context_bytes; });
  add("connecting", [](const MemorySplit& one) { return one.connecting_bytes; });
  add("buffers", [](const MemorySplit& one) { return std::optional(one.buffer_bytes); });
  add("launching", [](const MemorySplit& one) { return one.launching_bytes; });
  return text;
}

} // namespace ncclprobe::analysis
