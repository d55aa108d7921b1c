// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/input_waits.h"

#include "analysis/timeline/host_steps.h"
#include "analysis/timeline/name_words.h"

#include <algorithm>
#include <array>
#include <map>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr auto k_clear = std::to_array<std::string_view>({"dataloader", "dataloading", "dataset"});
constexpr auto k_verbs = std::to_array<std::string_view>(
    {"load", "loading", "loader", "fetch", "fetching", "prefetch", "read", "reading", "next", "get",
     "wait", "waiting", "generator"});
constexpr auto k_nouns = std::to_array<std::string_view>(
    {"data", "batch", "batches", "minibatch", "input", "inputs", "sample", "samples"});
constexpr auto k_short = std::to_array<std::string_view>(
    {"load", "loading", "loader", "fetch", "fetching", "prefetch", "data", "input", "inputs"});
// Work of other kinds whose names may have the same words.
constexpr auto k_others = std::to_array<std::string_view>(
    {"parallel", "forward", "backward", "grad", "grads", "gradient", "gradients", "checkpoint",
     "embedding", "embeddings", "model", "weights", "state", "optimizer"});

} // namespace

bool names_input(std::string_view name) {
  const std::vector<std::string> words = words_of_name(name);
  if (words.empty() || has_any(words, k_others))
    return false;
  return has_any(words, k_clear) || (has_any(words, k_verbs) && has_any(words, k_nouns)) ||
         std::ranges::all_of(words,
                             [](const std::string& word) { return is_any_of(word, k_short); });
}

InputRanges::InputRanges(const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    is_input_.push_back(names_input(text));
}

Spans InputRanges::of(const RankTrace& trace, const OperationIndex& operations) const {
  if (trace.ranges.empty())
    return {};
  const Spans steps = host_steps(trace, operations).windows;
  struct OfThread {
    Spans loading;
    bool does_more = false;
  };
  std::map<std::uint32_t, OfThread> threads;
  for (const trace::RangeRow& row : trace.ranges) {
    if (covers_several(span_of(row), steps))
      continue;
    OfThread& thread = threads[row.thread];
    if (row.name.id < is_input_.size() && is_input_[row.name.id])
      thread.loading.push_back(span_of(row));
    else
      thread.does_more = true;
  }
  const bool any_does_more =
      std::ranges::any_of(threads, [](const auto& one) { return one.second.does_more; });
  Spans all;
  for (const auto& [number, thread] : threads)
    if (thread.does_more == any_does_more)
      all.insert(all.end(), thread.loading.begin(), thread.loading.end());
  return unite(std::move(all));
}

Spans input_waits(const RankTrace& trace, const Spans& busy, const Spans& loading) {
  if (!loading.empty())
    return subtract(loading, busy);
  Spans waits;
  for (std::size_t i = 0; i < trace.copies.kind.size(); ++i) {
    if (trace.copies.kind[i] != trace::CopyKind::host_to_device)
      continue;
    const auto start_ns = static_cast<std::int64_t>(trace.copies.start_ns[i]);
    const auto at = std::ranges::lower_bound(busy, start_ns, {}, &Span::begin);
    if (at != busy.end() && at->begin == start_ns && at != busy.begin())
      waits.push_back({std::prev(at)->end, start_ns});
  }
  return unite(std::move(waits));
}

} // namespace ncclprobe::analysis::timeline
