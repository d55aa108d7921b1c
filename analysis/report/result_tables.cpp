// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/result_tables.h"

#include "analysis/report/cell_name.h"
#include "analysis/report/comparison_tables.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/step_section.h"
#include "analysis/results/conditions.h"
#include "base/text_table.h"
#include "base/units.h"
#include "workload/step_label.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Results = std::vector<const SettingResult*>;

constexpr std::string_view k_wrong = "WRONG";

// Runs of neighbours for which `same` holds; the results are sorted so that this groups them.
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

// As same_family, but both placements stand in one table.
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

std::string spread_source(const SettingResult& result) {
  if (result.spread_over == SettingResult::SpreadOver::nothing)
    return "-";
  return fmt::format("{} {}", result.spread_count,
                     result.spread_over == SettingResult::SpreadOver::processes ? "processes"
                                                                                : "batches");
}

// The wider side of the median's interval.
std::string interval_text(const SettingResult& result) {
  if (!result.interval_ns)
    return "-";
  double widest_ns =
      std::max(result.interval_ns->high - result.time_ns, result.time_ns - result.interval_ns->low);
  return fmt::format("{:.1f}", 100 * widest_ns / result.time_ns);
}

std::string slowest_text(const SettingResult& result) {
  if (!result.slowest)
    return "-";
  double percent = 100 * (result.slowest->time_ns / result.time_ns - 1);
  return percent < 0.05 ? "-" : fmt::format("r{} +{:.1f}%", result.slowest->rank, percent);
}

std::string data_text(const SettingResult& result) {
  switch (result.data) {
  case DataState::wrong:
    return std::string(k_wrong);
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

// A step of one rank, or without its communication.
bool moves_nothing(const model::CellLabel& label) {
  auto step = workload::read_step_label(label);
  return step && !step->communicates() && step->input_copy().empty();
}

// How the data that is ok was looked at.
std::string check_footnote(const Results& rows) {
  std::vector<std::string> methods;
  std::uint64_t fewest = UINT64_MAX, most = 0;
  for (const SettingResult* row : rows) {
    for (const std::string& method : row->check_methods)
      if (std::find(methods.begin(), methods.end(), method) == methods.end())
        methods.push_back(printable(method));
    if (row->checked_launches > 0) {
      fewest = std::min(fewest, row->checked_launches);
      most = std::max(most, row->checked_launches);
    }
  }
  if (methods.empty())
    return "";
  std::string launches = fewest == most ? std::to_string(most) : fmt::format("{}-{}", fewest, most);
  return paragraph("",
                   fmt::format("data checked: {}{}", join(methods, "; "),
                               most == 0 ? "" : fmt::format(" ({} launches a row)", launches)),
                   2);
}

std::string throttle_footnote(const Results& rows) {
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
    return "";
  bool steps = workload::read_step_label(rows.front()->label).has_value(); // sizes tell nothing
  std::string which =
      steps ? fmt::format("{} of {} rows", throttled, rows.size()) : format_size_range(sizes);
  return paragraph("",
                   fmt::format("throttled: {}, in up to {}: {}", which,
                               count_of(static_cast<std::size_t>(most), "process", "processes"),
                               throttle_text(reasons)),
                   2);
}

// The default's figures; without a result of the default, those of the first setting that has one.
std::string render_figures(const model::Run& run, const Results& table) {
  auto chosen = std::find_if(table.begin(), table.end(),
                             [](const SettingResult* result) { return result->is_default; });
  const SettingResult& lead = chosen == table.end() ? *table.front() : **chosen;
  Results rows;
  for (const SettingResult* result : table)
    if (result->setting == lead.setting)
      rows.push_back(result);

  bool placements = has_both_placements(rows);
  bool latency = lead.timing_mode == model::TimingMode::latency;
  bool busbw = std::any_of(rows.begin(), rows.end(), [](const SettingResult* row) {
    return row->busbw_gb_per_s.has_value();
  });
  std::string caption =
      fmt::format("{}{}, {}, {}{}", describe(lead),
                  placements ? "" : ", " + placement_text(lead.label.placement),
                  count_of(static_cast<std::size_t>(lead.ranks), "rank", "ranks"),
                  lead.is_default ? "default settings"
                                  : printable(lead.setting) + " (the default has no result)",
                  synthetic_mark(run));

  bool launches = !(latency && placements) && // no room
                  std::any_of(rows.begin(), rows.end(),
                              [](const SettingResult* row) { return row->launch_ns.has_value(); });

  bool sizes = std::any_of(rows.begin(), rows.end(), [](const SettingResult* row) {
    return cell_size(row->label) != k_no_size; // an empty kernel moves nothing
  });

  std::vector<TextTable::Column> columns;
  if (sizes)
    columns.push_back({"size"});
  if (placements)
    columns.push_back({"place", TextTable::Align::left});
  if (latency) {
    columns.insert(columns.end(), {{"p50 us"}, {"p90 us"}, {"p99 us"}, {"max us"}, {"launches"}});
  } else {
    columns.push_back({"time us"});
    if (sizes)
      columns.push_back({"algbw GB/s"});
    if (busbw)
      columns.push_back({"busbw GB/s"});
  }
  if (launches) // the shorter name where more stands in a line, as 100 columns must do
    columns.push_back({latency || placements ? "host us" : "launch us"});
  columns.insert(columns.end(),
                 {{"+-%"}, {"range%"}, {"over"}, {"slowest"}, {"data", TextTable::Align::left}});

  TextTable text(std::move(columns));
  for (const SettingResult* row : rows) {
    std::vector<std::string> cells;
    if (sizes)
      cells.push_back(cell_size(row->label));
    if (placements)
      cells.push_back(row->label.placement == model::Placement::in_place ? "in" : "out");
    if (latency) {
      for (double time_ns :
           {row->latency->p50_ns, row->latency->p90_ns, row->latency->p99_ns, row->latency->max_ns})
        cells.push_back(format_number(time_ns / 1e3));
      cells.push_back(std::to_string(row->latency->launches));
    } else {
      cells.push_back(format_number(row->time_ns / 1e3));
      if (sizes)
        cells.push_back(format_number(row->algbw_gb_per_s));
      if (busbw)
        cells.push_back(format_number(row->busbw_gb_per_s));
    }
    if (launches)
      cells.push_back(row->launch_ns ? format_number(*row->launch_ns / 1e3) : "-");
    cells.push_back(interval_text(*row));
    cells.push_back(row->spread_percent ? fmt::format("{:.1f}", *row->spread_percent) : "-");
    cells.push_back(spread_source(*row));
    cells.push_back(slowest_text(*row));
    cells.push_back(state_text(*row));
    text.add_row(std::move(cells));
  }
  return paragraph("", caption, 0) + text.render(2) + data_footnotes(rows);
}

} // namespace

std::string data_footnotes(const std::vector<const SettingResult*>& rows) {
  std::vector<std::string> notes;
  bool nothing_moved = false;
  for (const SettingResult* row : rows) {
    if (row->data == DataState::unchecked && moves_nothing(row->label)) {
      nothing_moved = true;
      continue;
    }
    for (const std::string& note : row->data_notes) {
      std::string line = data_text(*row) + ": " + printable(note);
      if (row->data == DataState::wrong)
        line = base::format_bytes(row->label.bytes) + " " + line;
      if (std::find(notes.begin(), notes.end(), line) == notes.end())
        notes.push_back(line);
    }
  }
  if (nothing_moved && notes.empty())
    notes.push_back("rows without communication have nothing to check");
  std::string out = check_footnote(rows);
  for (const std::string& note : notes)
    out += paragraph("", note, 2);
  return out + throttle_footnote(rows);
}

std::string render_result_tables(const model::Run& run, const std::vector<SettingResult>& results,
                                 const Verdicts& verdicts) {
  Results all;
  for (const SettingResult& result : results)
    if (!steps::is_step(result))
      all.push_back(&result);
  std::string out;
  for (const Results& table : split(all, same_table)) {
    out += "\n" + render_figures(run, table);
    for (const Results& family : split(table, same_family))
      if (std::string text = render_comparison(run, family, verdicts); !text.empty())
        out += "\n" + text;
  }
  return out;
}

std::string render_reading_notes(const std::vector<SettingResult>& results,
                                 const Verdicts& verdicts) {
  if (std::all_of(results.begin(), results.end(), steps::is_step))
    return "";
  constexpr int k_hang = 13;
  auto with_mode = [&](model::TimingMode mode) {
    return std::any_of(results.begin(), results.end(),
                       [&](const SettingResult& result) { return result.timing_mode == mode; });
  };
  std::string out = "\nHow to read this\n";
  if (with_mode(model::TimingMode::batch))
    out += paragraph(
        "  time us",
        "per operation: mean over ranks, median over batches, then over processes. Launches are "
        "back to back: at small sizes this is the inverse of throughput, not a latency.",
        k_hang);
  if (with_mode(model::TimingMode::latency))
    out += paragraph("  p50 us ...",
                     "one launch at a time, between two events on the device: mean over ranks, "
                     "percentile over the launches of a process, median of that over processes; "
                     "max is the slowest of all launches.",
                     k_hang);
  if (with_mode(model::TimingMode::batch))
    out += paragraph(
        "  GB/s",
        "1e9 bytes/s. algbw, busbw as in nccl-tests; busbw is a ring's: switches can beat it.",
        k_hang);
  if (std::any_of(results.begin(), results.end(),
                  [](const SettingResult& result) { return result.launch_ns.has_value(); }))
    out += paragraph(
        "  launch us",
        "or host us: how long the host was busy asking for an operation (of a graph, for its "
        "launch); in a worker that drives several ranks, for all of them.",
        k_hang);
  out +=
      paragraph("  +-%",
                fmt::format("half of the {:.0f}% interval of the median over processes (the wider "
                            "side). It assumes no distribution and needs six processes.",
                            100 * k_confidence),
                k_hang);
  out += paragraph("  range%", "(largest - smallest) / median of what \"over\" counts.", k_hang);
  out +=
      paragraph("  slowest", "the slowest rank's own time against the mean of all ranks.", k_hang);
  if (!verdicts.comparisons.empty()) {
    out += paragraph("  1.10x",
                     "10% more GB/s than the default (geometric mean over a range of sizes, where "
                     "no difference counts as 1). (1.10x): not decided.",
                     k_hang);
    out += paragraph("  =, same", "no difference beyond chance and the noise of this run.", k_hang);
    out += paragraph("  open", "not decided: too few processes, or too noisy to tell.", k_hang);
  }
  return out;
}

std::string render_summary(const RunSummary& run, const std::vector<SettingResult>& results,
                           const steps::TracedCells& traced) {
  Results all;
  for (const SettingResult& result : results)
    if (result.is_default && result.data != DataState::wrong && !steps::is_step(result))
      all.push_back(&result);
  std::string out;
  for (const Results& table : split(all, same_table)) {
    auto by_bandwidth = [](const SettingResult* a, const SettingResult* b) {
      return a->busbw_gb_per_s < b->busbw_gb_per_s;
    };
    const SettingResult& peak = **std::max_element(table.begin(), table.end(), by_bandwidth);
    const SettingResult& smallest = *table.front();
    std::string text = fmt::format("{} us", format_number(smallest.time_ns / 1e3));
    if (std::string size = cell_size(smallest.label); size != k_no_size)
      text += fmt::format(" at {}", size);
    if (peak.busbw_gb_per_s)
      text = fmt::format("busbw up to {} GB/s, at {}; {}", format_number(peak.busbw_gb_per_s),
                         base::format_bytes(peak.label.bytes), text);
    out += paragraph("  ", fmt::format("{}: {}{}", describe(peak), text, synthetic_mark(run)), 2);
  }
  out += render_step_summary(run, results, traced);
  return out.empty() ? "" : "\nIn short, with default settings\n" + out;
}

} // namespace ncclprobe::analysis
