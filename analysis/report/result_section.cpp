// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/result_section.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/comparison_section.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_columns.h"
#include "analysis/report/label_words.h"
#include "analysis/report/reference_range_section.h"
#include "analysis/report/result_charts.h"
#include "analysis/report/step_section.h"
#include "analysis/results/conditions.h"
#include "model/cell_label.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using Results = std::vector<const SettingResult*>;

// Groups of neighbours for which `same` holds. The results are sorted accordingly.
template <typename Same>
std::vector<Results> split(const Results& results, Same same) {
  std::vector<Results> groups;
  for (const SettingResult* result : results) {
    bool joins = std::any_of(groups.begin(), groups.end(), [&](Results& group) {
      if (!same(*group.front(), *result))
        return false;
      group.push_back(result);
      return true;
    });
    if (!joins)
      groups.push_back({result});
  }
  return groups;
}

// As same_family, but both placements share a table.
bool same_table(const SettingResult& a, const SettingResult& b) {
  SettingResult other{.label = b.label, .timing_mode = b.timing_mode, .ranks = b.ranks};
  other.label.placement = a.label.placement;
  return same_family(a, other);
}

bool has_both_placements(const Results& results) {
  return std::any_of(results.begin(), results.end(), [&](const SettingResult* result) {
    return result->label.placement != results.front()->label.placement;
  });
}

Value spread_source(const SettingResult& result) {
  if (result.spread_over == SettingResult::SpreadOver::nothing)
    return nullptr;
  return fmt::format("{} {}", result.spread_count,
                     result.spread_over == SettingResult::SpreadOver::processes ? "processes"
                                                                                : "batches");
}

// The wider side of the median's interval, relative to the median.
Value half_interval(const SettingResult& result) {
  if (!result.interval_ns)
    return nullptr;
  double widest_ns =
      std::max(result.interval_ns->high - result.time_ns, result.time_ns - result.interval_ns->low);
  return widest_ns / result.time_ns;
}

Value slowest_text(const SettingResult& result) {
  if (!result.slowest)
    return nullptr;
  double percent = 100 * (result.slowest->time_ns / result.time_ns - 1);
  return percent < 0.05 ? Value()
                        : Value(fmt::format("r{} +{:.1f}%", result.slowest->rank, percent));
}

std::string data_text(const SettingResult& result) {
  switch (result.data) {
  case DataState::wrong:
    return "WRONG";
  case DataState::unchecked:
    return "unchecked";
  case DataState::checked:
    break;
  }
  return result.checked_elements == 0 ? "-" : "ok"; // a size without elements has nothing to check
}

std::string state_text(const SettingResult& result) {
  return data_text(result) + (result.throttled_processes > 0 ? ", throttled" : "");
}

// A step of one rank, or without communication.
bool moves_nothing(const model::CellLabel& label) {
  const auto* step = label.step();
  return step && !step->communicates() && !step->copies_input();
}

// How correct data was checked.
void add_check_note(std::vector<Block>& notes, const Results& rows) {
  std::vector<std::string> methods;
  std::uint64_t fewest = UINT64_MAX, most = 0;
  for (const SettingResult* row : rows) {
    for (const std::string& method : row->check_methods)
      if (std::find(methods.begin(), methods.end(), method) == methods.end())
        methods.push_back(method);
    if (row->checked_launches > 0) {
      fewest = std::min(fewest, row->checked_launches);
      most = std::max(most, row->checked_launches);
    }
  }
  if (methods.empty())
    return;
  std::string launches = fewest == most ? std::to_string(most) : fmt::format("{}-{}", fewest, most);
  notes.push_back(Text{"",
                       fmt::format("data checked: {}{}", join(methods, "; "),
                                   most == 0 ? "" : fmt::format(" ({} launches a row)", launches)),
                       2});
}

void add_throttle_note(std::vector<Block>& notes, const Results& rows) {
  std::set<std::uint64_t> sizes;
  std::size_t throttled = 0;
  std::uint64_t reasons = 0;
  int most = 0;
  for (const SettingResult* row : rows)
    if (row->throttled_processes > 0) {
      ++throttled;
      sizes.insert(row->label.bytes);
      reasons |= row->throttle_reasons;
      most = std::max(most, row->throttled_processes);
    }
  if (sizes.empty())
    return;
  bool steps = rows.front()->label.step() != nullptr; // sizes say nothing here
  std::string which =
      steps ? fmt::format("{} of {} rows", throttled, rows.size()) : format_size_range(sizes);
  notes.push_back(Text{"",
                       fmt::format("throttled: {}, in up to {}: {}", which,
                                   count_of(static_cast<std::size_t>(most), "process", "processes"),
                                   throttle_text(reasons)),
                       2});
}

Value latency_value(const SettingResult& result) {
  if (!result.latency)
    return nullptr;
  const Latency& latency = *result.latency;
  return Object{{"p50_us", latency.p50_ns / 1e3},
                {"p90_us", latency.p90_ns / 1e3},
                {"p99_us", latency.p99_ns / 1e3},
                {"max_us", latency.max_ns / 1e3},
                {"launches", latency.launches}};
}

std::string_view spread_over_text(const SettingResult& result) {
  switch (result.spread_over) {
  case SettingResult::SpreadOver::processes:
    return "processes";
  case SettingResult::SpreadOver::batches:
    return "batches";
  case SettingResult::SpreadOver::nothing:
    break;
  }
  return "nothing";
}

Value against_default(const SettingResult& result, const Comparison* one) {
  if (!one)
    return nullptr;
  const SettingResult& baseline = *one->baseline;
  Object all{{"speed_ratio", six_digits(one->speed_ratio)},
             {"lowest_speed_ratio", baseline.lowest_ns / result.highest_ns},
             {"highest_speed_ratio", baseline.highest_ns / result.lowest_ns},
             {"within_spread",
              baseline.lowest_ns <= result.highest_ns && result.lowest_ns <= baseline.highest_ns},
             {"verdict", one->verdict},
             {"interval", interval_value(one->interval)},
             {"p", six_digits(one->p)},
             {"adjusted_p", six_digits(one->adjusted_p)},
             {"detectable_speed_ratio", six_digits(one->detectable)},
             {"processes", result.processes.size()},
             {"default_processes", baseline.processes.size()},
             {"pairs", one->pairs},
             {"throttled", one->throttled}};
  std::ranges::move(fields_of("why_not_decided", one->why_not_decided), std::back_inserter(all));
  return all;
}

TablePtr processes_table(const SettingResult& result) {
  std::vector<const ProcessTime*> processes;
  for (const ProcessTime& process : result.processes)
    processes.push_back(&process);
  TableOf<const ProcessTime*> table(std::move(processes));
  using Row = const ProcessTime*;
  table.add("trial", &ProcessTime::trial);
  table.add("replicate", &ProcessTime::replicate);
  table.add("time_us", [](Row one) { return one->time.over_batches_ns.median / 1e3; });
  table.add("throttle_reasons", [](Row one) { return throttle_text(one->throttle_reasons); });
  table.add("batch_time_us", [](Row one) {
    List times;
    for (double time_ns : one->time.batch_ns)
      times.emplace_back(time_ns / 1e3);
    return times;
  });
  return table.table();
}

TablePtr results_table(const RunFigures& figures) {
  using Row = const SettingResult*;
  std::vector<Row> rows;
  for (const SettingResult& result : figures.results)
    rows.push_back(&result);
  TableOf<Row> table(std::move(rows));
  auto of_latency = [&](const char* title, double Latency::*time_ns) {
    table.show(
        title,
        [=](Row one) { return one->latency ? Value(*one->latency.*time_ns / 1e3) : Value(); },
        {Unit::number});
  };
  table.add("synthetic", [synthetic = is_synthetic(figures.run)](Row) { return synthetic; });
  table.add("setting", &SettingResult::setting);
  table.add("settings", [](Row one) { return one->settings; });
  table.add("is_default", &SettingResult::is_default);
  table.add("ranks", &SettingResult::ranks);
  add_label(
      table, [](Row one) -> auto& { return one->label; });
  table.show("size", [](Row one) { return cell_bytes(one->label); }, {Unit::size});
  table
      .show(
          "place",
          [](Row one) { return one->label.placement == model::Placement::in_place ? "in" : "out"; })
      .left();
  table.add("timing_mode", &SettingResult::timing_mode);
  of_latency("p50 us", &Latency::p50_ns);
  of_latency("p90 us", &Latency::p90_ns);
  of_latency("p99 us", &Latency::p99_ns);
  of_latency("max us", &Latency::max_ns);
  table
      .show("launches",
            [](Row one) { return one->latency ? Value(one->latency->launches) : Value(); })
      .dispensable(4);
  table.add("time_us", [](Row one) { return in_us(one->time_ns); })
      .titled("time us", {Unit::number});
  table.add("time_min_us", [](Row one) { return in_us(one->lowest_ns); });
  table.add("time_max_us", [](Row one) { return in_us(one->highest_ns); });
  table.add("time_interval_us", [](Row one) { return interval_value(one->interval_ns, 1e3); });
  table.add("algbw_gb_per_s", &SettingResult::algbw_gb_per_s)
      .titled("algbw GB/s", {Unit::number})
      .dispensable(2);
  table.add("busbw_gb_per_s", &SettingResult::busbw_gb_per_s)
      .titled("busbw GB/s", {Unit::number})
      .if_any();
  table.add("launch_us", [](Row one) { return in_us(one->launch_ns); })
      .titled("launch us", {Unit::number})
      .if_any()
      .dispensable(1);
  table.show("+-%", [](Row one) { return half_interval(*one); }, {Unit::share});
  table.add("spread_percent", &SettingResult::spread_percent)
      .titled("range%", {Unit::fixed})
      .dispensable(3);
  table.add("spread_over", [](Row one) { return spread_over_text(*one); });
  table.add("spread_count", &SettingResult::spread_count);
  table.show("over", [](Row one) { return spread_source(*one); }).dispensable(5);
  table.add("slowest_rank",
            [](Row one) { return one->slowest ? Value(one->slowest->rank) : Value(); });
  table.add("slowest_rank_time_us",
            [](Row one) { return one->slowest ? Value(one->slowest->time_ns / 1e3) : Value(); });
  table.show("slowest", [](Row one) { return slowest_text(*one); }).dispensable(6);
  table.add("latency", [](Row one) { return latency_value(*one); });
  table.add("throttled_processes", &SettingResult::throttled_processes);
  table.add("throttle_reasons", [](Row one) { return throttle_text(one->throttle_reasons); });
  table.show("data", [](Row one) { return state_text(*one); }).left();
  table.add("data", &SettingResult::data);
  table.add("data_notes", &SettingResult::data_notes);
  table.add("checked_launches", &SettingResult::checked_launches);
  table.add("check_methods", &SettingResult::check_methods);
  table.add("against_default", [&verdicts = figures.verdicts](Row one) {
    return against_default(*one, verdicts.of(*one));
  });
  table.add("processes", [](Row one) { return processes_table(*one); });
  return table.table();
}

// The default's figures; without a result of the default, those of the first setting with one.
Section figures_section(const RunFigures& figures, const TablePtr& all, const Results& table) {
  auto chosen = std::find_if(table.begin(), table.end(),
                             [](const SettingResult* result) { return result->is_default; });
  const SettingResult& lead = chosen == table.end() ? *table.front() : **chosen;
  Results rows;
  View view{.table = all, .rows = std::vector<std::size_t>()};
  for (const SettingResult* result : table)
    if (result->setting == lead.setting) {
      rows.push_back(result);
      view.rows->push_back(static_cast<std::size_t>(result - figures.results.data()));
    }
  const bool placements = has_both_placements(rows);
  const bool sizes = std::ranges::any_of(
      rows, [](const SettingResult* row) { return cell_bytes(row->label).has_value(); });
  if (sizes)
    view.columns = {"size"};
  if (placements)
    view.columns.emplace_back("place");
  for (const char* title : lead.timing_mode == model::TimingMode::latency
                               ? std::vector{"p50 us", "p90 us", "p99 us", "max us", "launches"}
                               : std::vector{"time us", "busbw GB/s"})
    view.columns.emplace_back(title);
  if (sizes && lead.timing_mode != model::TimingMode::latency)
    view.columns.insert(view.columns.end() - 1, "algbw GB/s");
  view.columns.insert(view.columns.end(), {"launch us", "+-%", "range%", "over", "slowest"});
  view.columns.emplace_back("data");
  Section section{"results",
                  fmt::format("{}{}, {}, {}{}", describe(lead),
                              placements ? "" : ", " + placement_text(lead.label.placement),
                              count_of(static_cast<std::size_t>(lead.ranks), "rank", "ranks"),
                              lead.is_default ? "default settings"
                                              : lead.setting + " (the default has no result)",
                              synthetic_mark(figures.run)),
                  {std::move(view)}};
  section.charts = result_charts(table, reference_lines(figures.run, rows));
  add_data_notes(section.blocks, rows);
  return section;
}

} // namespace

void add_data_notes(std::vector<Block>& blocks, const std::vector<const SettingResult*>& rows) {
  std::vector<std::string> notes;
  bool nothing_moved = false;
  for (const SettingResult* row : rows) {
    if (row->data == DataState::unchecked && moves_nothing(row->label)) {
      nothing_moved = true;
      continue;
    }
    for (const std::string& note : row->data_notes) {
      std::string line = data_text(*row) + ": " + note;
      if (row->data == DataState::wrong)
        line = size_text(row->label.bytes) + " " + line;
      if (std::find(notes.begin(), notes.end(), line) == notes.end())
        notes.push_back(line);
    }
  }
  if (nothing_moved && notes.empty())
    notes.push_back("rows without communication have nothing to check");
  add_check_note(blocks, rows);
  for (const std::string& note : notes)
    blocks.push_back(Text{"", note, 2});
  add_throttle_note(blocks, rows);
}

Report result_report(const RunFigures& figures) {
  const TablePtr all = results_table(figures);
  Report report{.data = {{"results", all}}};
  Results measured;
  for (const SettingResult& result : figures.results)
    if (!steps::is_step(result))
      measured.push_back(&result);
  for (const Results& table : split(measured, same_table)) {
    report.sections.push_back(figures_section(figures, all, table));
    for (const Results& family : split(table, same_family))
      report.sections.push_back(comparison_section(figures, family));
  }
  return report;
}

Section reading_section(const RunFigures& figures) {
  const std::vector<SettingResult>& results = figures.results;
  Section section{.key = "reading", .part = Section::Part::method};
  if (std::all_of(results.begin(), results.end(), steps::is_step))
    return section;
  section.title = "How to read this";
  auto add = [&](const char* term, std::string text) {
    section.blocks.push_back(Text{term, std::move(text), 13});
  };
  auto with_mode = [&](model::TimingMode mode) {
    return std::any_of(results.begin(), results.end(),
                       [&](const SettingResult& result) { return result.timing_mode == mode; });
  };
  if (with_mode(model::TimingMode::batch))
    add("  time us",
        "per operation: mean over ranks, median over batches, then over processes. Launches are "
        "back to back: at small sizes this is the inverse of throughput, not a latency.");
  if (with_mode(model::TimingMode::latency))
    add("  p50 us ...", "one launch at a time, between two events on the device: mean over ranks, "
                        "percentile over the launches of a process, median of that over processes; "
                        "max is the slowest of all launches.");
  if (with_mode(model::TimingMode::batch))
    add("  GB/s",
        "1e9 bytes/s. algbw and busbw as in nccl-tests. Reduction in switches can raise busbw "
        "above the rate of the links.");
  if (std::any_of(results.begin(), results.end(),
                  [](const SettingResult& result) { return result.launch_ns.has_value(); }))
    add("  launch us", "host time to launch one operation, or one graph; a worker that drives "
                       "several ranks launches for all of them.");
  add("  +-%", fmt::format("half of the {:.0f}% interval of the median over processes (the wider "
                           "side). It assumes no distribution and needs six processes.",
                           100 * k_confidence));
  add("  range%", "(largest - smallest) / median, over the batches or processes in column over.");
  add("  slowest", "the slowest rank, and how far its time is above the mean of all ranks.");
  if (!figures.verdicts.comparisons.empty()) {
    add("  1.10x", "10% more GB/s than the default (geometric mean over a range of sizes, where "
                   "no difference counts as 1). (1.10x): not decided.");
    add("  =, same", "no difference beyond chance and the noise of this run.");
    add("  open", "not decided: too few processes, or too noisy to tell.");
  }
  return section;
}

Section summary_section(const RunFigures& figures) {
  Results all;
  for (const SettingResult& result : figures.results)
    if (result.is_default && result.data != DataState::wrong && !steps::is_step(result))
      all.push_back(&result);
  const std::string mark = synthetic_mark(figures.run);
  Section section{.key = "summary", .part = Section::Part::answer};
  for (const Results& table : split(all, same_table)) {
    auto by_bandwidth = [](const SettingResult* a, const SettingResult* b) {
      return a->busbw_gb_per_s < b->busbw_gb_per_s;
    };
    const SettingResult& peak = **std::max_element(table.begin(), table.end(), by_bandwidth);
    const SettingResult& smallest = *table.front();
    std::string text = fmt::format("{} us", format_number(smallest.time_ns / 1e3));
    if (std::string size = cell_size(smallest.label); size != k_no_size)
      text += fmt::format(" at {}", size);
    if (peak.busbw_gb_per_s > 0.0) // not of one rank
      text = fmt::format("busbw up to {} GB/s, at {}; {}", format_number(peak.busbw_gb_per_s),
                         size_text(peak.label.bytes), text);
    section.blocks.push_back(Text{"  ", fmt::format("{}: {}{}", describe(peak), text, mark), 2});
  }
  if (!all.empty() && std::ranges::all_of(all, [](const auto* one) { return one->ranks == 1; }))
    section.blocks.push_back(Text{"  ",
                                  "One rank sends nothing: these are the times of a launch and of "
                                  "copies in its own memory. Bandwidth needs two ranks or more.",
                                  2});
  for (const std::string& sentence : step_sentences(figures))
    section.blocks.push_back(Text{"  ", sentence + mark, 2});
  if (!section.blocks.empty())
    section.title = "In short, with default settings";
  return section;
}

} // namespace ncclprobe::analysis
