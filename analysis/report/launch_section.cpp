// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/launch_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "base/text_table.h"
#include "base/wrapped_row.h"
#include "workload/label_words.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

constexpr int k_variant_columns = 22;

bool is_way_to_launch(std::string_view word) {
  return word == "graph" || word.starts_with("priority=");
}

std::string without(std::string_view variant, std::string_view left_out) {
  std::vector<std::string> kept;
  for (std::string_view word : workload::words_of(variant))
    if (word != left_out)
      kept.emplace_back(word);
  return join(kept, " ");
}

std::string change_text(double before, double after) {
  return before > 0 ? fmt::format("{:+.1f}%", 100 * (after / before - 1)) : "-";
}

std::optional<double> in_us(std::optional<double> ns) {
  return ns ? std::optional(*ns / 1e3) : std::nullopt;
}

} // namespace

std::vector<LaunchPair> launch_pairs(const std::vector<SettingResult>& results) {
  std::vector<LaunchPair> pairs;
  for (const SettingResult& changed : results)
    for (std::string_view word : workload::words_of(changed.label.variant)) {
      if (!is_way_to_launch(word) || !changed.is_default)
        continue;
      model::CellLabel label = changed.label;
      label.variant = without(label.variant, word);
      auto plain = std::find_if(results.begin(), results.end(), [&](const SettingResult& one) {
        return one.is_default && one.label == label && one.timing_mode == changed.timing_mode &&
               one.ranks == changed.ranks;
      });
      if (plain != results.end())
        pairs.push_back({&*plain, &changed, std::string(word)});
    }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const LaunchPair& a, const LaunchPair& b) { return a.word < b.word; });
  return pairs;
}

std::string render_launches(const model::Run& run, const std::vector<SettingResult>& results) {
  const std::vector<LaunchPair> pairs = launch_pairs(results);
  std::string out;
  for (std::size_t first = 0; first < pairs.size();) {
    const std::string& word = pairs[first].word;
    const std::string changed_title = word == "graph" ? "graph" : "with it";
    base::TextTable table({{"operation", base::TextTable::Align::left},
                           {"ranks"},
                           {"size"},
                           {"timed", base::TextTable::Align::left},
                           {"launch us"},
                           {changed_title},
                           {"time us"},
                           {changed_title},
                           {"change"}});
    for (; first < pairs.size() && pairs[first].word == word; ++first) {
      const SettingResult& plain = *pairs[first].plain;
      const SettingResult& changed = *pairs[first].changed;
      // Of the label alone: how it was timed has its own column.
      base::add_wrapped_row(
          table,
          {cell_name(plain.label, model::TimingMode::batch),
           std::to_string(rank_count(plain.label, plain.ranks)), cell_size(plain.label),
           std::string(model::to_string(plain.timing_mode)), format_number(in_us(plain.launch_ns)),
           format_number(in_us(changed.launch_ns)), format_number(plain.time_ns / 1e3),
           format_number(changed.time_ns / 1e3), change_text(plain.time_ns, changed.time_ns)},
          {k_variant_columns});
    }
    out += (out.empty() ? "" : "\n") +
           paragraph("",
                     fmt::format("Launched {}, default settings{}",
                                 word == "graph" ? std::string("directly and as a graph")
                                                 : "with " + word + " and without",
                                 synthetic_mark(run)),
                     0) +
           table.render(2);
  }
  return out;
}

} // namespace ncclprobe::analysis
