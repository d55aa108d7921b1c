// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/phases.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::size_t k_phase_levels = 2;

struct HostSteps {
  Spans windows; // sorted, do not overlap
  std::vector<int> cells;
};

HostSteps host_steps(const RankTrace& trace, const OperationIndex& operations) {
  const std::vector<StepKey>& keys = operations.steps();
  std::vector<std::int64_t> first_ns(keys.size(), INT64_MAX);
  for (const trace::NcclOperationRow& row : trace.nccl_operations)
    if (const std::uint32_t step = operations.step_of(row.operation); step != k_no_step)
      first_ns[step] = std::min(first_ns[step], static_cast<std::int64_t>(row.enqueue_ns));
  HostSteps steps;
  for (std::size_t i = 0; i + 1 < keys.size(); ++i)
    if (keys[i + 1].cell == keys[i].cell && keys[i + 1].batch == keys[i].batch &&
        first_ns[i] < first_ns[i + 1] && first_ns[i + 1] != INT64_MAX &&
        (steps.windows.empty() || steps.windows.back().end <= first_ns[i])) {
      steps.windows.push_back({first_ns[i], first_ns[i + 1]});
      steps.cells.push_back(keys[i].cell);
    }
  return steps;
}

Span span_of(const trace::RangeRow& row) {
  return {static_cast<std::int64_t>(row.start_ns), static_cast<std::int64_t>(row.end_ns)};
}

bool contains(const trace::RangeRow& outer, const trace::RangeRow& inner) {
  return outer.kind == trace::RangeKind::nested && inner.kind == trace::RangeKind::nested &&
         outer.thread == inner.thread &&
         outer.end_ns >= inner.end_ns; // ranges of domains may overlap
}

bool covers_several(const Span& range, const Spans& windows) {
  const auto first = std::ranges::lower_bound(windows, range.begin, {}, &Span::begin);
  return windows.end() - first > 1 && (first + 1)->end <= range.end;
}

// The ranges of each phase, in any order.
std::map<PhasePath, Spans> spans_of_phases(std::vector<trace::RangeRow> ranges,
                                           const Spans& windows, const NumberedNames& names) {
  std::erase_if(ranges, [&](const trace::RangeRow& row) {
    return row.end_ns <= row.start_ns || covers_several(span_of(row), windows);
  });
  std::ranges::sort(ranges, {}, [](const trace::RangeRow& row) {
    return std::tuple(row.kind, row.thread, row.start_ns, row.level);
  });
  std::map<PhasePath, Spans> phases;
  std::vector<const trace::RangeRow*> open; // that contain the next one
  for (const trace::RangeRow& row : ranges) {
    while (!open.empty() && !contains(*open.back(), row))
      open.pop_back();
    open.push_back(&row);
    if (open.size() > k_phase_levels)
      continue;
    PhasePath path;
    for (const trace::RangeRow* one : open)
      path.push_back({names.of(one->name), names.of(one->domain)});
    phases[std::move(path)].push_back(span_of(row));
  }
  return phases;
}

} // namespace

NumberedNames::NumberedNames(const std::vector<std::string>& texts) : texts_(texts) {
  for (const std::string& text : texts)
    if (std::string common = trace::without_numbers(text); common != text)
      ++alike_[std::move(common)];
}

std::string NumberedNames::of(trace::TextId text) const {
  if (text.id >= texts_.size())
    return "";
  std::string common = trace::without_numbers(texts_[text.id]);
  const auto alike = alike_.find(common);
  return alike != alike_.end() && alike->second > k_most_numbered ? common : texts_[text.id];
}

ByCell<Phases> phases_of(const RankTrace& trace, const OperationIndex& operations,
                         const NumberedNames& names) {
  ByCell<Phases> all;
  if (trace.ranges.empty())
    return all;
  const HostSteps steps = host_steps(trace, operations);
  ByCell<Spans> windows;
  for (std::size_t i = 0; i < steps.windows.size(); ++i) {
    Phases& phases = all[steps.cells[i]];
    ++phases.steps;
    phases.length_ns += steps.windows[i].length();
    windows[steps.cells[i]].push_back(steps.windows[i]);
  }
  for (auto& [cell, of_cell] : windows)
    of_cell = unite(std::move(of_cell));
  for (auto& [phase, spans] : spans_of_phases(trace.ranges, steps.windows, names)) {
    const Spans set = unite(std::move(spans));
    for (const auto& [cell, of_cell] : windows)
      if (const std::int64_t ns = shared_length(set, of_cell); ns > 0)
        all[cell].ns[phase] += ns;
  }
  return all;
}

} // namespace ncclprobe::analysis::timeline
