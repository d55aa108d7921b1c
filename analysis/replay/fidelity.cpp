// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/replay/fidelity.h"

#include "analysis/statistics/statistics.h"
#include "workload/replay_step.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::replay {
namespace {

struct Samples {
  std::vector<double> captured_ns, replayed_ns;
  std::size_t times = 0;
};

double median_or_zero(std::vector<double>& values) {
  return values.empty() ? 0 : median_in_place(values);
}

std::vector<OperationFidelity> operations_of(const model::CapturedStep& captured,
                                             const steps::StepResult& result) {
  std::map<std::string, double> replayed_ns; // by label; the side that came last
  for (const steps::BucketTimes& one : result.buckets) {
    const auto [known, is_new] = replayed_ns.try_emplace(one.label, one.transfer_ns);
    if (!is_new)
      known->second = std::min(known->second, one.transfer_ns);
  }
  std::map<std::tuple<int, model::Collective, std::uint64_t>, Samples> kinds;
  for (std::size_t i = 0; i < captured.operations.size(); ++i) {
    const auto found = replayed_ns.find(workload::replayed_label(captured, static_cast<int>(i)));
    if (found == replayed_ns.end()) // left out, or a further message of a group
      continue;
    const model::CapturedOperation& one = captured.operations[i];
    Samples& samples = kinds[{one.communicator, one.collective, one.bytes()}];
    ++samples.times;
    samples.replayed_ns.push_back(found->second);
    if (one.transfer_ns > 0)
      samples.captured_ns.push_back(one.transfer_ns);
  }
  std::vector<OperationFidelity> all;
  for (auto& [key, samples] : kinds) {
    const auto& [communicator, collective, bytes] = key;
    all.push_back({communicator,
                   captured.communicators[static_cast<std::size_t>(communicator)].role,
                   collective,
                   bytes,
                   samples.times,
                   {median_or_zero(samples.captured_ns), median_or_zero(samples.replayed_ns)}});
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, [](const OperationFidelity& one) {
    return static_cast<double>(one.times) * one.time.replayed_ns;
  });
  return all;
}

} // namespace

std::optional<Fidelity> fidelity(const model::CapturedStep& captured,
                                 const std::vector<steps::StepResult>& results) {
  const auto result = std::ranges::find_if(results, [](const steps::StepResult& one) {
    return one.is_default && one.step.options.pattern == model::StepPattern::replay &&
           one.step.parts == model::StepParts::all && !one.processes.empty();
  });
  if (result == results.end())
    return std::nullopt;
  return Fidelity{{captured.step_ns, result->times.step_ns},
                  {captured.exposed_ns, result->times.exposed_ns()},
                  operations_of(captured, *result)};
}

} // namespace ncclprobe::analysis::replay
