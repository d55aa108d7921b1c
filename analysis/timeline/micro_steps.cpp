// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/micro_steps.h"

#include "trace/range_rows.h"

#include "analysis/timeline/host_steps.h"
#include "analysis/timeline/name_words.h"

#include <optional>
#include <tuple>

namespace ncclprobe::analysis::timeline {
namespace {

constexpr auto k_passes = std::to_array<std::string_view>(
    {"forward", "fwd", "micro", "microbatch", "microstep", "accumulation"});
constexpr auto k_beside = std::to_array<std::string_view>({"batch", "step", "pass"});

// Of one thread, the outermost ranges of each name.
struct MarkedPass {
  std::int64_t begin_ns = 0;
  std::string name; // without numbers: "micro-batch 0" and "micro-batch 1" are two of one name
};

std::vector<MarkedPass> passes_of(const RankTrace& trace, const std::vector<std::string>& texts,
                                  const Spans& steps) {
  std::vector<bool> is_pass;
  for (const std::string& text : texts)
    is_pass.push_back(names_micro_step(text));
  std::vector<trace::RangeRow> rows;
  for (const trace::RangeRow& row : trace.ranges)
    if (row.name.id < is_pass.size() && is_pass[row.name.id] &&
        !covers_several(span_of(row), steps))
      rows.push_back(row);
  std::ranges::sort(rows, {}, [](const trace::RangeRow& row) {
    return std::tuple(row.thread, row.start_ns, row.level);
  });
  std::vector<MarkedPass> passes;
  std::map<std::pair<std::uint32_t, std::string>, std::uint64_t> until_ns; // by thread and name
  for (const trace::RangeRow& row : rows) {
    std::string name = trace::without_numbers(texts[row.name.id]);
    std::uint64_t& open_ns = until_ns[{row.thread, name}];
    if (row.start_ns < open_ns)
      continue; // within another one
    open_ns = row.end_ns;
    passes.push_back({static_cast<std::int64_t>(row.start_ns), std::move(name)});
  }
  std::ranges::stable_sort(passes, {}, &MarkedPass::begin_ns);
  return passes;
}

} // namespace

bool names_micro_step(std::string_view name) {
  const std::vector<std::string> words = words_of_name(name);
  return has_any(words, k_passes) && std::ranges::all_of(words, [](const std::string& word) {
           return is_any_of(word, k_passes) || is_any_of(word, k_beside);
         });
}

ByCell<MicroStepCounts> micro_steps_of(const RankTrace& trace, const OperationIndex& operations,
                                       const std::vector<std::string>& texts) {
  ByCell<MicroStepCounts> all;
  if (trace.ranges.empty())
    return all;
  const HostSteps steps = host_steps(trace, operations);
  const std::vector<MarkedPass> passes = passes_of(trace, texts, steps.windows);
  auto pass = passes.begin();
  for (std::size_t i = 0; i < steps.windows.size(); ++i) {
    std::map<std::string_view, std::uint32_t> counts;
    for (; pass != passes.end() && pass->begin_ns < steps.windows[i].end; ++pass)
      if (pass->begin_ns >= steps.windows[i].begin)
        ++counts[pass->name];
    if (counts.empty())
      continue;
    const std::uint32_t first = counts.begin()->second;
    if (std::ranges::all_of(counts, [&](const auto& one) { return one.second == first; }))
      ++all[steps.cells[i]][first];
  }
  return all;
}

} // namespace ncclprobe::analysis::timeline
