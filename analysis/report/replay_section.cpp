// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/replay_section.h"

#include "analysis/replay/fidelity.h"
#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "base/number_list.h"

#include <cmath>

namespace ncclprobe::analysis {

using replay::Fidelity;
using replay::OperationFidelity;
using replay::TwoTimes;

namespace {

constexpr FindingKind k_reproduces{
    "replay_error", Severity::note,
    "The replayed step is {difference} the captured one. Its exposed communication differs by "
    "{exposed_ms:+.3f} ms."},
    k_replay_not_measured{"replay_not_measured", Severity::warning,
                          "The replay was not measured, so it is unknown how well it reproduces "
                          "the captured step."},
    k_verdict_of_replay{
        "verdict_of_replay", Severity::note,
        "These ratios are of the replay. Its step is {difference} the job's. Smaller gains may "
        "not appear in the job."},
    k_verdict_of_unknown{"verdict_of_unmeasured_replay", Severity::warning,
                         "These ratios are of the replay. How well it reproduces the job is "
                         "unknown, because its default was not measured."};

constexpr std::size_t k_most_operation_rows = 16; // JSON has all

const model::CapturedStep* captured(const RunFigures& figures) {
  const auto& all = figures.run.header.captured;
  return all.empty() ? nullptr : &all.front();
}

double percent_more(const TwoTimes& time) {
  return 100 * (time.ratio().value_or(1) - 1);
}

// "8.6% shorter than", "as long as".
std::string difference_text(const TwoTimes& time) {
  const double percent = percent_more(time);
  if (std::abs(percent) < 0.05)
    return "as long as";
  return fmt::format("{:.1f}% {} than", std::abs(percent), percent > 0 ? "longer" : "shorter");
}

struct QuantityRow {
  const char* quantity;
  TwoTimes time;
};

Value ms_of(double ns) {
  return ns > 0 ? Value(ns / 1e6) : Value();
}
Value us_of(double ns) {
  return ns > 0 ? Value(ns / 1e3) : Value();
}

TablePtr quantities_table(const Fidelity& found) {
  TableOf<QuantityRow> table({{"step", found.step}, {"exposed communication", found.exposed}});
  using Row = const QuantityRow&;
  table.add("quantity", &QuantityRow::quantity).titled("of a step").left();
  table.add("captured_ns", [](Row row) { return row.time.captured_ns; });
  table.show("captured ms", [](Row row) { return ms_of(row.time.captured_ns); },
             {Unit::milliseconds});
  table.add("replayed_ns", [](Row row) { return row.time.replayed_ns; });
  table.show("replayed ms", [](Row row) { return ms_of(row.time.replayed_ns); },
             {Unit::milliseconds});
  table.add("ratio", [](Row row) { return row.time.ratio(); }).titled("ratio", {Unit::fixed, 3});
  return table.table();
}

TablePtr operations_table(const Fidelity& found) {
  TableOf<OperationFidelity> table(found.operations);
  using Row = const OperationFidelity&;
  table.add("communicator", &OperationFidelity::communicator).titled("group");
  table.add("role", &OperationFidelity::role).titled("role").left();
  table.add("collective", &OperationFidelity::collective).titled("operation").left();
  table.add("bytes", &OperationFidelity::bytes).titled("size", {Unit::size});
  table.add("times", &OperationFidelity::times).titled("per step");
  table.add("captured_ns", [](Row row) {
    return row.time.captured_ns > 0 ? Value(row.time.captured_ns) : Value();
  });
  table.show("captured us", [](Row row) { return us_of(row.time.captured_ns); }, {Unit::fixed, 1});
  table.add("replayed_ns", [](Row row) { return row.time.replayed_ns; });
  table.show("replayed us", [](Row row) { return us_of(row.time.replayed_ns); }, {Unit::fixed, 1});
  table.add("ratio", [](Row row) { return row.time.ratio(); }).titled("ratio", {Unit::fixed, 3});
  return table.table();
}

// Otherwise they are medians. The first step of a capture is never replayed.
bool has_own_times(const model::CapturedStep& step) {
  return step.first_step > 0;
}

Object described(const model::CapturedStep& step) {
  return Object{{"capture", step.path},
                {"step_kind", step.kind},
                {"steps", step.steps},
                {"replayed_steps", step.replayed_steps},
                {"first_step", has_own_times(step) ? Value(step.first_step) : Value()},
                {"usual_step_ns", step.usual_step_ns > 0 ? Value(step.usual_step_ns) : Value()},
                {"host_late_ns", step.host_late_ns},
                {"ranks", step.ranks},
                {"replayed_ranks", step.replayed},
                {"compute", to_string(step.compute)},
                {"device_times", step.has_device_times},
                {"remarks", step.remarks}};
}

// Other backends burn the time of a CPU, or nothing.
std::string_view computing_text(const model::CapturedStep& step, std::string_view backend) {
  if (backend != "nvidia")
    return "";
  return step.compute == model::ReplayCompute::gemm ? "; matrix products stand for computing"
                                                    : "; a small kernel stands for computing";
}

std::string source_text(const model::CapturedStep& step) {
  if (has_own_times(step))
    return fmt::format("{}, {} of kind {} from number {}, with their own times; ranks {}",
                       step.path, count_of(step.replayed_steps, "step", "consecutive steps"),
                       step.kind, step.first_step, base::format_number_list(step.replayed));
  return fmt::format("{}, steps of kind {}: medians of {}; ranks {}", step.path, step.kind,
                     count_of(step.steps, "step", "steps"),
                     base::format_number_list(step.replayed));
}

} // namespace

Report replay_report(const RunFigures& figures) {
  const model::CapturedStep* step = captured(figures);
  if (step == nullptr)
    return {};
  const auto found = replay::fidelity(*step, figures.steps);
  Object data = described(*step);
  Section section{"replay",
                  "How well the replay reproduces the captured step" + synthetic_mark(figures.run)};
  section.hang = 2;
  if (found) {
    const TablePtr quantities = quantities_table(*found), operations = operations_table(*found);
    data.emplace_back("times", quantities);
    data.emplace_back("operations", operations);
    section.blocks.push_back(View{.table = quantities});
    section.blocks.push_back(View{.table = operations, .most_rows = k_most_operation_rows});
    const double exposed_ms = (found->exposed.replayed_ns - found->exposed.captured_ns) / 1e6;
    section.blocks.push_back(Findings{"  ",
                                      {{&k_reproduces,
                                        {{"step_percent", percent_more(found->step)},
                                         {"difference", difference_text(found->step)},
                                         {"exposed_ms", exposed_ms}}}},
                                      2});
  } else {
    section.blocks.push_back(Findings{"  ", {{&k_replay_not_measured, {}}}, 2});
  }
  section.blocks.push_back(Text{
      "  capture:",
      source_text(*step) + std::string(computing_text(*step, figures.run.header.backend)), 11});
  for (const std::string& remark : step->remarks)
    section.blocks.push_back(Text{"  -", remark + ".", 4});
  return {.sections = {std::move(section)}, .data = {{"replay", std::move(data)}}};
}

std::vector<Finding> replay_caution(const RunFigures& figures) {
  const model::CapturedStep* step = captured(figures);
  if (step == nullptr)
    return {};
  const auto found = replay::fidelity(*step, figures.steps);
  if (!found || !found->step.ratio())
    return {{&k_verdict_of_unknown, {}}};
  return {{&k_verdict_of_replay,
           {{"step_percent", percent_more(found->step)},
            {"difference", difference_text(found->step)}}}};
}

} // namespace ncclprobe::analysis
