// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/replay_shapes.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::workload {

using namespace model;

namespace {

// Ranks of the replay that it has.
std::vector<int> replayed_members(const CapturedCommunicator& communicator,
                                  const std::vector<int>& replayed) {
  std::vector<int> members;
  for (int rank : communicator.ranks)
    if (const auto found = std::ranges::find(replayed, rank); found != replayed.end())
      members.push_back(static_cast<int>(found - replayed.begin()));
  return members;
}

// Into how many communicators like this one the replayed ranks are split; 0: it is none of them.
int split_of(const CapturedCommunicator& communicator, const std::vector<int>& replayed) {
  const std::vector<int> members = replayed_members(communicator, replayed);
  const int size = static_cast<int>(members.size());
  const int world = static_cast<int>(replayed.size());
  if (size < 2 || world % size != 0 || members.front() % size != 0)
    return 0;
  for (int i = 0; i < size; ++i)
    if (members[static_cast<std::size_t>(i)] != members.front() + i)
      return 0;
  return world / size;
}

} // namespace

std::vector<ReplayedShape> replayed_shapes(const CapturedStep& step) {
  std::vector<std::pair<std::uint64_t, ReplayedShape>> found; // with the bytes in a step
  for (const CapturedOperation& one : step.operations) {
    if (one.kind != CapturedKind::collective || one.count == 0)
      continue;
    const int split =
        split_of(step.communicators[static_cast<std::size_t>(one.communicator)], step.replayed);
    if (split == 0)
      continue;
    const ReplayedShape shape{one.collective, one.count, one.type, split};
    const auto known =
        std::ranges::find(found, shape, [](const auto& other) { return other.second; });
    if (known == found.end())
      found.emplace_back(one.bytes(), shape);
    else
      known->first += one.bytes();
  }
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [](const auto& one) { return one.first; });
  found.resize(std::min(found.size(), k_most_replayed_shapes));
  std::vector<ReplayedShape> shapes;
  for (const auto& [bytes, shape] : found)
    shapes.push_back(shape);
  return shapes;
}

std::vector<std::vector<int>> groups_without_shape(const CapturedStep& step) {
  std::vector<std::vector<int>> groups;
  for (const CapturedOperation& one : step.operations) {
    if (one.kind != CapturedKind::collective || one.count == 0)
      continue;
    const auto& communicator = step.communicators[static_cast<std::size_t>(one.communicator)];
    std::vector<int> members = replayed_members(communicator, step.replayed);
    if (members.size() > 1 && split_of(communicator, step.replayed) == 0 &&
        std::ranges::find(groups, members) == groups.end())
      groups.push_back(std::move(members));
  }
  return groups;
}

} // namespace ncclprobe::workload
