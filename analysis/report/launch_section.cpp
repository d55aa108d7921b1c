// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/launch_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"

#include <algorithm>
#include <utility>

namespace ncclprobe::analysis {
namespace {

// How a cell is launched, from its label; null: the label does not say.
struct LaunchWay {
  model::Launch* launch = nullptr;
  int* priority = nullptr;
};
LaunchWay launch_way(model::CellLabel& label) {
  if (auto* one = std::get_if<model::CollectiveLabel>(&label.what))
    return {&one->launch, &one->priority};
  if (auto* one = std::get_if<model::EmptyKernelLabel>(&label.what))
    return {&one->launch};
  if (auto* one = std::get_if<model::StepLabel>(&label.what))
    return {&one->options.launch, &one->options.priority};
  return {};
}

std::string change_text(double before, double after) {
  return before > 0 ? fmt::format("{:+.1f}%", 100 * (after / before - 1)) : "-";
}

} // namespace

std::vector<LaunchPair> launch_pairs(const std::vector<SettingResult>& results) {
  std::vector<LaunchPair> pairs;
  for (const SettingResult& changed : results) {
    if (!changed.is_default)
      continue;
    auto add_pair = [&](const model::CellLabel& label, std::string word) {
      auto plain = std::find_if(results.begin(), results.end(), [&](const SettingResult& one) {
        return one.is_default && one.label == label && one.timing_mode == changed.timing_mode &&
               one.ranks == changed.ranks;
      });
      if (plain != results.end())
        pairs.push_back({&*plain, &changed, std::move(word)});
    };
    model::CellLabel direct = changed.label, of_default_priority = changed.label;
    if (auto* launch = launch_way(direct).launch;
        launch && std::exchange(*launch, model::Launch::direct) == model::Launch::graph)
      add_pair(direct, "graph");
    if (int* priority = launch_way(of_default_priority).priority)
      if (const int before = std::exchange(*priority, 0); before != 0)
        add_pair(of_default_priority, fmt::format("priority={}", before));
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const LaunchPair& a, const LaunchPair& b) { return a.word < b.word; });
  return pairs;
}

Report launch_report(const model::Run& run, const std::vector<SettingResult>& results) {
  const std::vector<LaunchPair> pairs = launch_pairs(results);
  Report report;
  for (auto first = pairs.begin(); first != pairs.end();) {
    const std::string& word = first->word;
    const auto last =
        std::find_if(first, pairs.end(), [&](const LaunchPair& pair) { return pair.word != word; });
    TableOf<LaunchPair> table({first, last});
    using Row = const LaunchPair&;
    const std::string changed_title = word == "graph" ? "graph" : "with it";
    // From the label alone: the timing has its own column.
    table
        .show("operation",
              [](Row one) { return cell_name(one.plain->label, model::TimingMode::batch); })
        .left(22);
    table.show("ranks", [](Row one) { return rank_count(one.plain->label, one.plain->ranks); });
    table.show("size", [](Row one) { return cell_bytes(one.plain->label); }, {Unit::size});
    table.show("timed", [](Row one) { return one.plain->timing_mode; }).left();
    for (auto [side, title] : {std::pair(&LaunchPair::plain, std::string("launch us")),
                               std::pair(&LaunchPair::changed, changed_title)})
      table.show(title, [side = side](Row one) { return in_us((one.*side)->launch_ns); },
                 {Unit::number});
    for (auto [side, title] : {std::pair(&LaunchPair::plain, std::string("time us")),
                               std::pair(&LaunchPair::changed, changed_title)})
      table.show(title, [side = side](Row one) { return (one.*side)->time_ns / 1e3; },
                 {Unit::number});
    table.show("change",
               [](Row one) { return change_text(one.plain->time_ns, one.changed->time_ns); });
    report.sections.push_back({"launches",
                               fmt::format("Launched {}, default settings{}",
                                           word == "graph" ? std::string("directly and as a graph")
                                                           : "with " + word + " and without",
                                           synthetic_mark(run)),
                               {View{table.table()}}});
    first = last;
  }
  return report;
}

} // namespace ncclprobe::analysis
