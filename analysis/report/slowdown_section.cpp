// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"

namespace ncclprobe::analysis {

using namespace timeline;

namespace {

constexpr FindingKind k_too_few_kernels{"too_few_kernels", Severity::note,
                                        "{what}: no kind of kernel ran both ways often enough."},
    k_not_slowed{
        "not_slowed", Severity::note,
        "{what}: the difference from running alone is less than twice the clocks' error of "
        "{error:.3f} (from {kinds} that ran both ways often enough)."},
    k_slowed{"slowed", Severity::note,
             "{what} takes {ratio:.3f}{error_words} times as long as alone (from {kinds} that ran "
             "both ways often enough)."};

std::string kernel_name(const Timeline& timeline, const KernelSlowdown& one) {
  constexpr std::size_t k_most = 72;
  const std::string name = printable(text_of(timeline, one.name));
  return name.size() <= k_most ? name : name.substr(0, k_most - 3) + "...";
}

// "2 of 3" if some ran too rarely; null for one.
Value kinds_value(const KernelSlowdown& one) {
  return one.kinds <= 1 ? Value()
         : one.sum.kinds == one.kinds || one.sum.kinds == 0
             ? Value(grouped(one.kinds))
             : Value(fmt::format("{} of {}", one.sum.kinds, one.kinds));
}

Value ratio_value(const KernelSlowdown& one) {
  return !one.sum.ratio()     ? Value("too few")
         : one.sum.is_shown() ? Value(*one.sum.ratio())
                              : Value("<2x +-");
}

Value ratio_error(const KernelSlowdown& one) {
  return one.sum.ratio_error() > 0 ? Value(one.sum.ratio_error()) : Value();
}

std::string interval_text(const KernelSlowdown& one) {
  const auto interval = one.sum.interval();
  return interval && one.sum.is_shown()
             ? fmt::format("[{:.3f}, {:.3f}]", interval->low, interval->high)
             : "";
}

TablePtr kernels_table(const Timeline& timeline, std::vector<KernelSlowdown> kernels) {
  TableOf<KernelSlowdown> table(std::move(kernels));
  using Row = const KernelSlowdown&;
  table.show("kernel", [&timeline](Row one) { return kernel_name(timeline, one); }).left();
  table.show("cell", [](Row one) { return cell_value(one.cell); });
  table.show("kinds", kinds_value).if_any();
  table.show("beside", &KernelSlowdown::overlapped, {Unit::grouped});
  table.show("alone", &KernelSlowdown::alone, {Unit::grouped});
  table.show("in cell", [](Row one) { return cell_value(one.alone_cell); }).if_any();
  table.show("ratio", ratio_value, {Unit::fixed, 3});
  table.show("+-", ratio_error, {Unit::fixed, 3}).if_any();
  table.show("95%", interval_text).left().dispensable(1);
  return table.table();
}

TablePtr slowdowns_table(const Timeline& timeline) {
  TableOf<Slowdown> table(timeline.slowdowns);
  using Row = const Slowdown&;
  table.add("kernel", [&timeline](Row one) { return text_of(timeline, one.kind.name); });
  table.add("communication", [](Row one) { return one.kind.communication; });
  table.add("cell", [](Row one) { return one.kind.cell; });
  table.add("operation_index", [](Row one) { return one.kind.operation_index; });
  table.add("shape", [](Row one) { return one.kind.shape; });
  table.add("overlapped", &Slowdown::overlapped);
  table.add("alone", &Slowdown::alone);
  table.add("alone_in_cell", &Slowdown::alone_cell);
  table.add("ratio", &Slowdown::ratio);
  table.add("ratio_error", &Slowdown::ratio_error);
  table.add("interval", [](Row one) { return one.interval; });
  table.add("sum_ns", &Slowdown::sum_ns);
  return table.table();
}

// `place`: "In cell 3, " if there are several.
Finding slowdown_finding(const SlowdownSum& sum, bool communication, const std::string& place) {
  std::string what =
      communication ? "Communication beside computation" : "Computation beside communication";
  if (!place.empty())
    what = place + static_cast<char>(what[0] - 'A' + 'a') + what.substr(1);
  if (!sum.ratio())
    return {&k_too_few_kernels, {{"what", what}}};
  return {
      sum.is_shown() ? &k_slowed : &k_not_slowed,
      {{"what", what},
       {"ratio", *sum.ratio()},
       {"error", sum.ratio_error()},
       {"error_words", sum.ratio_error() > 0 ? fmt::format(" +- {:.3f}", sum.ratio_error()) : ""},
       {"kinds", count_of(sum.kinds, "kind of kernel", "kinds of kernels")}}};
}

} // namespace

Report slowdowns_report(const Timeline& timeline, const TimelineHeading& heading) {
  Report report{.data = {{"slowdowns", slowdowns_table(timeline)}}};
  Section section{"slowdowns"};
  if (!timeline.slowdowns.empty())
    section.title = "Slowdown by overlap";
  for (bool communication : {false, true}) {
    const ByCell<SlowdownSum> sums = sums_of(timeline.slowdowns, communication);
    report.data.emplace_back(
        communication ? "communication_slowdown" : "compute_slowdown",
        by_cell(sums, heading, [](const SlowdownSum& sum) {
          return Object{{"ratio", sum.ratio()},
                        {"ratio_error", sum.ratio() ? Value(sum.ratio_error()) : Value()}};
        }));
    std::vector<KernelSlowdown> kernels = by_kernel(timeline.slowdowns);
    std::erase_if(kernels, [&](auto& one) { return one.communication != communication; });
    if (kernels.empty())
      continue;
    for (const auto& [cell, sum] : sums)
      section.blocks.push_back(
          Findings{"  ",
                   {slowdown_finding(sum, communication,
                                     sums.size() > 1 ? fmt::format("In cell {}, ", cell) : "")},
                   2});
    section.blocks.push_back(
        View{.table = kernels_table(timeline, std::move(kernels)), .most_rows = k_most_rows});
  }
  report.sections.push_back(std::move(section));
  return report;
}

} // namespace ncclprobe::analysis
