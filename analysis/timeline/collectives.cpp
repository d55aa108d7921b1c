// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/collectives.h"

#include "base/hash.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ncclprobe::analysis::timeline {

using base::mixed;
using trace::NcclKind;
using trace::OperationKind;
using trace::OperationRow;

namespace {

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL" and "all_reduce" alike.
std::string plain(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != '_')
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

} // namespace

TextTraits::TextTraits(const std::vector<std::string>& texts)
    : collective(texts.size()), all(texts.size()) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::string text = plain(texts[i]);
    auto names_one_of = [&](std::initializer_list<std::string_view> words) {
      return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        return text.find(word) != std::string::npos;
      });
    };
    all[i] = names_one_of({"allreduce", "allgather", "reducescatter", "alltoall"});
    collective[i] = all[i] || names_one_of({"broadcast", "reduce", "gather", "scatter"});
  }
}

std::vector<CollectivePart> collective_parts(const RankTrace& trace, const Activities& activities,
                                             const OperationIndex& operations,
                                             const TextTraits& traits, const TraceSource& source) {
  std::vector<CollectivePart> parts;
  std::unordered_map<std::uint16_t, const trace::CommunicatorRow*> communicators;
  for (const auto& row : trace.communicators)
    communicators[row.id] = &row;
  std::unordered_map<std::uint64_t, std::uint16_t> times_seen; // by operation and name
  bool has_steps = !operations.steps().empty();
  for (std::size_t i = 0; i < activities.all.size(); ++i) {
    const DeviceActivity& activity = activities.all[i];
    if (activity.kind != Class::communication || (has_steps && activity.step == k_no_step))
      continue;
    const OperationRow* row = operations.find(activity.operation);
    CollectivePart part;
    part.activity = static_cast<std::uint32_t>(i);
    if (has_steps)
      part.step = operations.steps()[activity.step];
    if (activity.nccl > 0) {
      const auto& nccl = trace.nccl_operations[activity.nccl - 1];
      auto communicator = communicators.find(nccl.communicator);
      if (nccl.kind != NcclKind::collective || communicator == communicators.end())
        continue;
      part.key = {mixed(communicator->second->hash + mixed(nccl.function.id)), nccl.sequence};
      part.expected_ranks = static_cast<std::uint32_t>(std::max(0, communicator->second->ranks));
      part.needs_all = traits.needs_all(nccl.function.id);
      parts.push_back(part);
      continue;
    }
    bool may_be = row != nullptr && has_steps &&
                  (row->kind == OperationKind::collective ||
                   ((row->kind == OperationKind::group || row->kind == OperationKind::graph) &&
                    traits.is_collective(activity.name)));
    if (!may_be)
      continue;
    // Kernels of one name are on one stream, hence in the same order on all ranks.
    std::uint64_t occurrence =
        times_seen[(std::uint64_t{activity.operation} << 32) | activity.name]++;
    auto place = static_cast<std::uint64_t>(static_cast<std::uint32_t>(row->cell)) << 32 |
                 static_cast<std::uint32_t>(row->batch);
    part.key = {mixed(mixed(place) + activity.name), (std::uint64_t{row->iteration} << 32) |
                                                         (std::uint64_t{row->index} << 16) |
                                                         occurrence};
    part.expected_ranks = source.participants ? source.participants(row->cell, row->index)
                                              : static_cast<std::uint32_t>(source.ranks.size());
    part.needs_all = traits.needs_all(activity.name);
    parts.push_back(part);
  }
  return parts;
}

bool is_held_out(const CollectiveKey& key) {
  return mixed(key.where + mixed(key.which)) % k_one_is_held_out_of == 0;
}

void CollectiveTable::add(const CollectivePart& part, std::int64_t start_ns, std::int64_t end_ns,
                          int rank) {
  const auto [collective, is_new] = summaries_.try_emplace(part.key, hint_);
  if (is_new) {
    collective.step = part.step;
    collective.expected_ranks = part.expected_ranks;
    collective.needs_all = part.needs_all;
    collective.is_held_out = is_held_out(part.key);
  }
  ++collective.ranks;
  if (start_ns < collective.first_start_ns) {
    collective.first_start_ns = start_ns;
    collective.first_rank = rank;
  }
  if (start_ns > collective.last_start_ns) {
    collective.second_last_start_ns = collective.last_start_ns;
    collective.second_last_rank = collective.last_rank;
    collective.last_start_ns = start_ns;
    collective.last_rank = rank;
  } else if (start_ns > collective.second_last_start_ns) {
    collective.second_last_start_ns = start_ns;
    collective.second_last_rank = rank;
  }
  if (end_ns < collective.first_end_ns) {
    collective.first_end_ns = end_ns;
    collective.first_end_rank = rank;
  }
}

const CollectiveSummary* CollectiveTable::find(const CollectiveKey& key, std::size_t& hint) const {
  const auto at = summaries_.find(key, hint);
  return at ? &all()[*at] : nullptr;
}

} // namespace ncclprobe::analysis::timeline
