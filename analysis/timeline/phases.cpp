// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/phases.h"

#include "analysis/timeline/host_steps.h"

#include <algorithm>
#include <tuple>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr std::size_t k_phase_levels = 2;

bool contains(const trace::RangeRow& outer, const trace::RangeRow& inner) {
  return outer.kind == trace::RangeKind::nested && inner.kind == trace::RangeKind::nested &&
         outer.thread == inner.thread &&
         outer.end_ns >= inner.end_ns; // ranges of domains may overlap
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

std::map<PhasePath, Spans> spans_of_phases(const RankTrace& trace, const OperationIndex& operations,
                                           const NumberedNames& names) {
  if (trace.ranges.empty())
    return {};
  const Spans windows = host_steps(trace, operations).windows;
  std::vector<trace::RangeRow> ranges = trace.ranges;
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
  for (auto& [phase, spans] : phases)
    spans = unite(std::move(spans));
  return phases;
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
  for (const auto& [phase, spans] : spans_of_phases(trace, operations, names))
    for (const auto& [cell, of_cell] : windows)
      if (const std::int64_t ns = shared_length(spans, of_cell); ns > 0)
        all[cell].ns[phase] += ns;
  return all;
}

} // namespace ncclprobe::analysis::timeline
