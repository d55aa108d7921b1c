// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_use.h"

#include <algorithm>

namespace ncclprobe::analysis::job {
namespace {

bool reduces(const CommunicatorUse& use) {
  return std::ranges::any_of(use.operations, [](const auto& one) {
    const auto& [function, bytes] = one.first;
    return bytes > k_control_bytes && is_reduction(function);
  });
}

std::vector<bool> kinds_with_gradients(const FoundSteps& found) {
  std::vector<std::uint64_t> steps;
  for (const StepKind& kind : found.kinds)
    steps.push_back(kind.steps);
  std::vector<bool> has(found.kinds.size());
  for (const auto& [hash, communicator] : found.communicators) {
    const Role role = role_of(communicator, steps);
    if (role == Role::data || role == Role::sharded_data)
      for (const auto& [kind, use] : communicator.uses)
        has[kind] = has[kind] || reduces(use);
  }
  return has;
}

bool has_several_operations(const StepKind& kind) {
  return kind.parts.size() > 1 || (!kind.parts.empty() && kind.parts.front().times > 1);
}

} // namespace

std::vector<StepUse> step_uses(const FoundSteps& found) {
  std::vector<StepUse> uses(found.kinds.size());
  const std::vector<bool> has_gradients = kinds_with_gradients(found);
  std::vector<std::size_t> training;
  for (std::size_t kind = 0; kind < uses.size(); ++kind)
    if (has_gradients[kind] && has_several_operations(found.kinds[kind]))
      training.push_back(kind);
  if (training.size() != 1)
    return uses;
  uses[training.front()] = StepUse::training;
  std::vector<std::size_t> batches(uses.size()), after_training(uses.size());
  for (std::size_t i = 0; i < found.batches.size(); ++i) {
    const std::uint32_t kind = found.batches[i].kind;
    ++batches[kind];
    after_training[kind] += i > 0 && found.batches[i - 1].kind == training.front();
  }
  for (std::size_t kind = 0; kind < uses.size(); ++kind)
    if (!has_gradients[kind] && batches[kind] > 1 && after_training[kind] == batches[kind])
      uses[kind] = StepUse::evaluation;
  return uses;
}

} // namespace ncclprobe::analysis::job
