// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/gap_causes.h"

#include <algorithm>
#include <numeric>

namespace ncclprobe::analysis::job {

namespace {

constexpr double k_explained = 0.3; // of what a gap exceeds the usual by

// `sorted` do not overlap.
double covered_ns(const timeline::Spans& sorted, const timeline::Span& in) {
  double sum = 0;
  auto at = std::ranges::upper_bound(sorted, in.begin, {}, &timeline::Span::end);
  for (; at != sorted.end() && at->begin < in.end; ++at)
    sum += static_cast<double>(std::min(at->end, in.end) - std::max(at->begin, in.begin));
  return sum;
}

double lower_median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

} // namespace

GapCauses::GapCauses(const StepGraph& graph, const StepModel& model) : graph_(graph) {
  knows_any_ =
      std::ranges::any_of(graph.gpus, [](const GpuUse& one) { return !one.known.empty(); });
  if (!knows_any_)
    return;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<std::vector<double>, k_gap_parts>>
      seen;
  for (const StepRun& run : graph.runs) {
    const MeasuredRun measured = measure(graph, run, model.waited, &model.typical);
    for (std::uint32_t r = 0; r < run.ranks.size(); ++r)
      for (std::size_t i = 0; i < run.ranks[r].size(); ++i)
        if (const auto own = parts(r, measured[r][i]))
          for (std::size_t part = 0; part < own->size(); ++part)
            seen[{run.ranks[r][i].slot, r}][part].push_back((*own)[part]);
  }
  std::map<std::uint32_t, std::array<std::vector<double>, k_gap_parts>> by_slot;
  for (auto& [key, values] : seen)
    for (std::size_t part = 0; part < values.size(); ++part)
      by_slot[key.first][part].push_back(lower_median_of(values[part]));
  for (auto& [slot, values] : by_slot)
    for (std::size_t part = 0; part < values.size(); ++part)
      usual_[slot][part] = lower_median_of(values[part]);
}

std::optional<GapCauses::Parts> GapCauses::parts(std::uint32_t rank,
                                                 const MeasuredOperation& measured) const {
  if (!measured.is_clean || measured.gap_ns <= 0 || rank >= graph_.gpus.size())
    return std::nullopt;
  const GpuUse& gpu = graph_.gpus[rank];
  const timeline::Span gap{measured.ready_ns - measured.gap_ns, measured.ready_ns};
  if (std::ranges::none_of(gpu.known, [&](const timeline::Span& known) {
        return known.begin <= gap.begin && gap.end <= known.end;
      }))
    return std::nullopt;
  const double computing_ns = covered_ns(gpu.computing, gap);
  const double copies_ns = covered_ns(gpu.copies, gap);
  const double input_ns = covered_ns(gpu.input, gap);
  return Parts{computing_ns, copies_ns, input_ns,
               static_cast<double>(measured.gap_ns) - computing_ns - copies_ns - input_ns};
}

GapCauses::Division GapCauses::divided(std::uint32_t rank, const GraphOperation& operation,
                                       const MeasuredOperation& measured, double length_ns,
                                       double late_ns) const {
  Division out;
  double known_ns = 0; // from kernels
  auto take = [&](const Parts& shares, double longest_ns) {
    const double all_ns = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (all_ns <= 0)
      return;
    known_ns = std::min(length_ns, longest_ns);
    for (std::size_t part = 0; part < shares.size(); ++part)
      out.parts[part] = known_ns * shares[part] / all_ns;
  };
  if (const auto own = parts(rank, measured))
    take(*own, length_ns);
  else if (const auto usual = usual_.find(operation.slot); usual != usual_.end())
    take(usual->second, std::accumulate(usual->second.begin(), usual->second.end(), 0.0));
  out.late_ns = std::min(late_ns, length_ns - known_ns);
  out.parts[static_cast<std::size_t>(GapCause::computing)] += length_ns - known_ns - out.late_ns;
  return out;
}

std::optional<GapCause> GapCauses::cause(std::uint32_t rank, const GraphOperation& operation,
                                         const MeasuredOperation& measured) const {
  const auto own = parts(rank, measured);
  if (!own)
    return std::nullopt;
  const Parts& usual = usual_.at(operation.slot);
  Parts excess{};
  double all_ns = 0;
  for (std::size_t part = 0; part < excess.size(); ++part) {
    excess[part] = (*own)[part] - usual[part];
    all_ns += excess[part];
  }
  const auto longest = std::ranges::max_element(excess);
  if (*longest > 0 && *longest >= k_explained * all_ns)
    return static_cast<GapCause>(longest - excess.begin());
  return static_cast<GapCause>(std::ranges::max_element(*own) - own->begin());
}

} // namespace ncclprobe::analysis::job
