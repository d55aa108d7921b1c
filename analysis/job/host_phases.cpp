// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/host_phases.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::job {
namespace {

constexpr int k_all = -2, k_loading = -1;  // instead of a phase
constexpr double k_mostly = 0.5;           // of the lateness
constexpr double k_all_but_little = 0.9;   // of what was launched
constexpr double k_as_much_as_outer = 0.9; // for a phase within another one

// Windows do not overlap; a phase may cover several.
struct Window {
  std::uint32_t operation = 0;
  timeline::Span span;
};

std::vector<Window> windows_of(const std::vector<GraphOperation>& operations) {
  std::vector<Window> windows;
  std::int64_t last_ns = k_time_unknown;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const std::int64_t at_ns = operations[i].enqueued_ns;
    if (at_ns == k_time_unknown)
      continue;
    if (last_ns != k_time_unknown && at_ns > last_ns)
      windows.push_back({i, {last_ns, at_ns}});
    last_ns = std::max(last_ns, at_ns);
  }
  return windows;
}

// The lower median of `values` and of zeros, `all` in total.
double lower_median_with_zeros(std::vector<double>& values, std::size_t all) {
  const std::size_t zeros = all - values.size(), middle = (all - 1) / 2;
  if (middle < zeros)
    return 0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(middle - zeros);
  std::ranges::nth_element(values, at);
  return *at;
}

} // namespace

HostPhases::HostPhases(const StepGraph& graph) : graph_(graph) {
  std::set<timeline::PhasePath> all;
  for (const HostUse& host : graph.hosts)
    for (const auto& [phase, spans] : host.phases)
      all.insert(phase);
  phases_.assign(all.begin(), all.end());
  if (phases_.empty())
    return;
  pieces_.resize(graph.runs.size());
  for (std::uint32_t run = 0; run < graph.runs.size(); ++run) {
    pieces_[run].resize(graph.runs[run].ranks.size());
    for (std::uint32_t rank = 0; rank < pieces_[run].size(); ++rank)
      read(run, rank);
  }
  find_usual();
}

void HostPhases::read(std::uint32_t run, std::uint32_t rank) {
  const std::vector<Window> windows = windows_of(graph_.runs[run].ranks[rank]);
  const HostUse& host = graph_.hosts[rank];
  Pieces& pieces = pieces_[run][rank];
  if (windows.empty() || host.phases.empty())
    return;
  for (const Window& one : windows)
    pieces.push_back({one.operation, k_all, one.span.length()});
  auto add = [&](int phase, const timeline::Spans& spans) {
    auto span =
        std::ranges::upper_bound(spans, windows.front().span.begin, {}, &timeline::Span::end);
    for (; span != spans.end() && span->begin < windows.back().span.end; ++span) {
      auto window = std::ranges::upper_bound(windows, span->begin, {},
                                             [](const Window& one) { return one.span.end; });
      for (; window != windows.end() && window->span.begin < span->end; ++window)
        pieces.push_back(
            {window->operation, phase,
             std::min(span->end, window->span.end) - std::max(span->begin, window->span.begin)});
    }
  };
  add(k_loading, host.loading);
  for (const auto& [phase, spans] : host.phases)
    add(static_cast<int>(std::ranges::lower_bound(phases_, phase) - phases_.begin()), spans);
  std::ranges::sort(pieces, {},
                    [](const Piece& one) { return std::pair(one.operation, one.phase); });
  // One piece for all ranges of a phase.
  Pieces joined;
  for (const Piece& one : pieces)
    if (!joined.empty() && joined.back().operation == one.operation &&
        joined.back().phase == one.phase)
      joined.back().ns += one.ns;
    else
      joined.push_back(one);
  pieces = std::move(joined);
}

void HostPhases::find_usual() {
  using Key = std::tuple<std::uint32_t, int, std::uint32_t>; // slot, phase, rank
  std::map<Key, std::vector<double>> seen;
  for (std::size_t run = 0; run < pieces_.size(); ++run)
    for (std::uint32_t rank = 0; rank < pieces_[run].size(); ++rank)
      for (const Piece& one : pieces_[run][rank])
        seen[{graph_.runs[run].ranks[rank][one.operation].slot, one.phase, rank}].push_back(
            static_cast<double>(one.ns));
  std::map<std::pair<std::uint32_t, int>, std::vector<double>> of_ranks;
  std::map<std::uint32_t, std::size_t> ranks; // by slot
  for (auto& [key, values] : seen) {
    const auto& [slot, phase, rank] = key;
    ranks[slot] += phase == k_all;
    const std::size_t windows = seen.at({slot, k_all, rank}).size();
    of_ranks[{slot, phase}].push_back(lower_median_with_zeros(values, windows));
  }
  for (auto& [key, values] : of_ranks)
    usual_[key] = lower_median_with_zeros(values, ranks.at(key.first));
}

std::vector<HostPhases::Excess> HostPhases::excesses(std::uint32_t run, std::uint32_t rank,
                                                     std::uint32_t operation) const {
  std::vector<Excess> out;
  if (pieces_.empty())
    return out;
  const std::uint32_t slot = graph_.runs[run].ranks[rank][operation].slot;
  const Pieces& pieces = pieces_[run][rank];
  auto at = std::ranges::lower_bound(pieces, operation, {}, &Piece::operation);
  for (; at != pieces.end() && at->operation == operation; ++at) {
    const auto ns = static_cast<double>(at->ns);
    out.push_back({at->phase, ns, ns - usual_.at({slot, at->phase})});
  }
  return out;
}

// Of the phases with at least this much: the one with most, or one within it that has nearly as
// much.
int HostPhases::innermost(const std::vector<Excess>& all, double Excess::*part,
                          double least_ns) const {
  const Excess* best = nullptr;
  for (const Excess& one : all) {
    if (one.phase < 0 || one.*part <= 0 || one.*part < least_ns)
      continue;
    auto depth = [&](const Excess& of) {
      return phases_[static_cast<std::size_t>(of.phase)].size();
    };
    const bool is_better =
        best == nullptr ||
        (depth(one) > depth(*best)   ? one.*part >= k_as_much_as_outer * (best->*part)
         : depth(one) < depth(*best) ? k_as_much_as_outer * (one.*part) > best->*part
                                     : one.*part > best->*part);
    if (is_better)
      best = &one;
  }
  return best == nullptr ? -1 : best->phase;
}

int HostPhases::of_late_host(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const {
  const std::vector<Excess> all = excesses(run, rank, operation);
  if (all.empty() || all.front().excess_ns <= 0) // k_all is the first
    return -1;
  return innermost(all, &Excess::excess_ns, k_mostly * all.front().excess_ns);
}

int HostPhases::of_launches(std::uint32_t run, std::uint32_t rank, std::uint32_t operation) const {
  const std::vector<Excess> all = excesses(run, rank, operation);
  return all.empty() ? -1 : innermost(all, &Excess::ns, k_all_but_little * all.front().ns);
}

bool HostPhases::loads_longer(std::uint32_t run, std::uint32_t rank,
                              std::uint32_t operation) const {
  const std::vector<Excess> all = excesses(run, rank, operation);
  const auto loading = std::ranges::find(all, k_loading, &Excess::phase);
  return loading != all.end() && loading->excess_ns > 0 &&
         loading->excess_ns >= k_mostly * all.front().excess_ns;
}

double HostPhases::loading_ns(std::uint32_t run, std::uint32_t rank,
                              std::uint32_t operation) const {
  const std::vector<Excess> all = excesses(run, rank, operation);
  const auto loading = std::ranges::find(all, k_loading, &Excess::phase);
  return loading != all.end() ? loading->ns : 0;
}

} // namespace ncclprobe::analysis::job
