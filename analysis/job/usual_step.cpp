// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/usual_step.h"

#include "analysis/job/job_operation.h"
#include "analysis/statistics/statistics.h"
#include "analysis/timeline/in_turn.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_readers = 2; // threads

std::uint64_t operations_in(const StepKind& kind) {
  std::uint64_t operations = 0;
  for (const StepPart& part : kind.parts)
    operations += part.times;
  return operations;
}

std::string kind_words(const StepKind& kind, const std::vector<std::string>& texts) {
  std::string words;
  for (const StepPart& part : kind.parts)
    words += fmt::format("{}{} of {} bytes x {}", words.empty() ? "" : ", ",
                         part.function < texts.size() ? texts[part.function] : "?", part.bytes,
                         part.times);
  return words;
}

// From the begin of each step to that of the next in its batch; nothing if there is none.
std::optional<double> median_step_ns(const std::vector<JobOperation>& operations,
                                     const RankSteps& rank, const FoundSteps& found,
                                     std::uint32_t kind) {
  std::vector<double> lengths_ns;
  const StepBatch* batch_before = nullptr;
  std::uint32_t step_before = 0;
  std::int64_t begin_before_ns = 0;
  for (const StepStretch& stretch : rank.stretches)
    for (std::uint32_t i = 0; i < stretch.steps; ++i) {
      const std::size_t first = stretch.first_operation + std::size_t{i} * stretch.operations;
      const std::uint32_t step = stretch.first_step + i;
      const StepBatch* batch = batch_of(found.batches, step);
      if (batch == nullptr || batch->kind != kind || first >= operations.size()) {
        batch_before = nullptr;
        continue;
      }
      const std::int64_t begin_ns = operations[first].begin_ns;
      if (batch == batch_before && step == step_before + 1)
        lengths_ns.push_back(static_cast<double>(begin_ns - begin_before_ns));
      batch_before = batch;
      step_before = step;
      begin_before_ns = begin_ns;
    }
  if (lengths_ns.empty())
    return std::nullopt;
  return median(std::move(lengths_ns));
}

} // namespace

base::Result<std::optional<UsualStep>> usual_step(const timeline::TraceSource& source,
                                                  const FoundSteps& found) {
  if (found.reason != NoSteps::found || found.kinds.empty())
    return std::optional<UsualStep>();
  const auto most = std::ranges::max_element(
      found.kinds, {}, [](const StepKind& kind) { return kind.steps * operations_in(kind); });
  const auto kind = static_cast<std::uint32_t>(most - found.kinds.begin());
  std::vector<double> of_ranks;
  std::optional<base::Error> trouble;
  struct Length {
    std::optional<double> step_ns;
    bool on_gpu = false;
  };
  bool on_gpu = true;
  timeline::work_in_turn(
      found.ranks.size(), k_readers,
      [&](std::size_t i) -> base::Result<Length> {
        NCCLPROBE_TRY_ASSIGN(const auto trace,
                             source.load(found.ranks[i].rank, timeline::Pass::collectives));
        const std::vector<JobOperation> operations = job_operations(trace, source.texts);
        return Length{median_step_ns(operations, found.ranks[i], found, kind),
                      std::ranges::any_of(operations, &JobOperation::on_gpu)};
      },
      [&](std::size_t, const base::Result<Length>& length) {
        if (!length) {
          trouble = length.error();
        } else if (length->step_ns) {
          of_ranks.push_back(*length->step_ns);
          on_gpu = on_gpu && length->on_gpu;
        }
        return !trouble.has_value();
      });
  if (trouble)
    return base::fail(*trouble);
  return std::optional(UsualStep{kind_words(*most, source.texts), most->steps,
                                 of_ranks.empty() ? 0 : median(std::move(of_ranks)), on_gpu});
}

} // namespace ncclprobe::analysis::job
