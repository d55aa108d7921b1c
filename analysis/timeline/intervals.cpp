// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/intervals.h"

#include <algorithm>

namespace ncclprobe::analysis::timeline {

Spans unite(Spans spans) {
  auto earlier = [](const Span& a, const Span& b) { return a.begin < b.begin; };
  if (!std::is_sorted(spans.begin(), spans.end(), earlier))
    std::sort(spans.begin(), spans.end(), earlier);
  std::size_t kept = 0;
  for (const Span& span : spans) {
    if (span.end <= span.begin)
      continue;
    if (kept > 0 && span.begin <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    else
      spans[kept++] = span;
  }
  spans.resize(kept);
  return spans;
}

std::int64_t length(const Spans& set) {
  std::int64_t sum = 0;
  for (const Span& span : set)
    sum += span.length();
  return sum;
}

namespace {

template <typename Visit>
void for_each_shared(const Spans& a, const Spans& b, Visit visit) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    Span both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end)
      visit(both);
    a[i].end < b[j].end ? ++i : ++j;
  }
}

} // namespace

Spans intersect(const Spans& a, const Spans& b) {
  Spans out;
  for_each_shared(a, b, [&](Span both) { out.push_back(both); });
  return out;
}

std::int64_t shared_length(const Spans& a, const Spans& b) {
  std::int64_t sum = 0;
  for_each_shared(a, b, [&](Span both) { sum += both.length(); });
  return sum;
}

Spans subtract(const Spans& a, const Spans& b) {
  Spans out;
  std::size_t j = 0;
  for (Span rest : a) {
    while (j < b.size() && b[j].end <= rest.begin)
      ++j;
    for (std::size_t k = j; k < b.size() && b[k].begin < rest.end; ++k) {
      if (b[k].begin > rest.begin)
        out.push_back({rest.begin, b[k].begin});
      rest.begin = b[k].end;
    }
    if (rest.begin < rest.end)
      out.push_back(rest);
  }
  return out;
}

std::int64_t CoverMeter::covered(Span span) {
  while (first_ < set_->size() && (*set_)[first_].end <= span.begin)
    ++first_;
  std::int64_t sum = 0;
  for (std::size_t i = first_; i < set_->size() && (*set_)[i].begin < span.end; ++i)
    sum += std::min((*set_)[i].end, span.end) - std::max((*set_)[i].begin, span.begin);
  return sum;
}

void cut(const Spans& windows, const std::vector<const Spans*>& sets, const PieceVisitor& visit) {
  std::array<std::size_t, k_most_sets> at{}; // the first span of each set that may end later
  for (std::size_t window = 0; window < windows.size(); ++window) {
    std::int64_t now = windows[window].begin;
    while (now < windows[window].end) {
      std::int64_t next = windows[window].end;
      unsigned inside = 0;
      for (std::size_t s = 0; s < sets.size(); ++s) {
        const Spans& set = *sets[s];
        while (at[s] < set.size() && set[at[s]].end <= now)
          ++at[s];
        if (at[s] == set.size())
          continue;
        const Span& span = set[at[s]];
        if (span.begin <= now)
          inside |= 1u << s;
        next = std::min(next, span.begin <= now ? span.end : span.begin);
      }
      visit(window, inside, next - now);
      now = next;
    }
  }
}

} // namespace ncclprobe::analysis::timeline
