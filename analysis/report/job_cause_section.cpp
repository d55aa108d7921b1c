// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/job_words.h"
#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/name_ranks.h"
#include "base/units.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace ncclprobe::analysis {

using namespace job;
using base::format_duration;

namespace {

constexpr FindingKind k_model_checked{
    "job_model", Severity::note,
    "Check: {steps} steps were predicted from the usual times of the other steps. Predicted: "
    "{predicted}, measured: {seen} (medians). {changes}"},
    k_some_steps{"job_steps_chosen", Severity::note,
                 "From {steps} steps, spread over the whole job. All steps would need too much "
                 "memory."},
    k_no_kernels{"job_kernels_not_recorded", Severity::note,
                 "Kernels were not recorded. Only the hosts' launches separate slow computing from "
                 "a late host. GPU work that the host launched late looks like a late host. "
                 "'record --cuda' records kernels."},
    k_input_not_known{
        "job_input_not_known", Severity::note,
        "The capture does not show whether a late host waited for its input: {who}. Such a wait "
        "counts as host late. An NVTX range around the loading, such as 'load', shows it."};

std::string seen_by_text(CauseSeenBy seen_by) {
  switch (seen_by) {
  case CauseSeenBy::times:
    return "";
  case CauseSeenBy::kernels:
    return "kernels";
  case CauseSeenBy::other_steps:
    return "other steps";
  case CauseSeenBy::launches:
    return "launches";
  case CauseSeenBy::ranges:
    return "ranges";
  }
  return "";
}

// Its tables refer to it, and to the figures of the report. All of them stay.
class CauseTables {
public:
  CauseTables(const JobCauses& causes, const timeline::Timeline& timeline)
      : causes_(causes), timeline_(timeline) {
    double longest_ns = 0;
    for (double step_ns : causes.held_up.step_ns)
      longest_ns = std::max(longest_ns, step_ns);
    unit_ = unit_for(longest_ns);
  }
  const TimeUnit& unit() const { return unit_; }

  TablePtr path() const {
    TableOf<PathShare> table(causes_.held_up.path);
    using Row = const PathShare&;
    table.add("cell", &PathShare::kind).titled("cell");
    table.add("cause", &PathShare::cause);
    table.add("function", [this](Row row) { return row.operations < 0 ? Value() : function(row); });
    table.add("role", [this](Row row) {
      return row.operations < 0 ? Value() : Value(operations(row).role);
    });
    table.show_left("part", [this](Row row) {
      return row.operations < 0 ? cause_text(row.cause)
                                : fmt::format("{}, {}", function(row), group(operations(row).role));
    });
    add_per_step(table, "time", "per step", [](Row row) { return std::optional(row.time); });
    table.add("share", &PathShare::share).titled("share", {Unit::percent});
    table.add("most_rank", [](Row row) { return row.operations < 0 ? Value(row.most) : Value(); });
    table
        .add("most_ranks",
             [this](Row row) {
               return row.operations < 0 ? Value() : Value(communicator(row.most).ranks);
             })
        .nested();
    table.show_left("most of it", [this](Row row) {
      return row.operations < 0 ? base::name_ranks({row.most})
                                : base::name_ranks(communicator(row.most).ranks);
    });
    table.add("most_share", &PathShare::most_share).titled("its part", {Unit::percent});
    return table.table();
  }

  TablePtr hold_ups() const {
    TableOf<HoldUp> table(causes_.held_up.hold_ups);
    using Row = const HoldUp&;
    table.add("cell", &HoldUp::kind).titled("cell");
    add_origin(table, [](Row row) -> const DelayOrigin& { return row.origin; });
    add_phase(table, [](Row row) { return row.phase; });
    table.add("seen_by", &HoldUp::seen_by);
    table.show_left("by", [](Row row) { return seen_by_text(row.seen_by); }).dispensable(2);
    table.add("steps", &HoldUp::steps).titled("steps", {Unit::grouped});
    table.add("of_steps", [this](Row row) { return causes_.held_up.steps[row.kind]; })
        .titled("of", {Unit::grouped});
    add_per_step(table, "excess", "too long", [](Row row) { return std::optional(row.excess); });
    add_per_step(table, "gain", "gain", [](Row row) { return row.gain; });
    return table.table();
  }

  TablePtr late() const {
    TableOf<LateRank> table(causes_.held_up.late);
    using Row = const LateRank&;
    table.add("cell", &LateRank::kind).titled("cell");
    table.add("role", [this](Row row) { return communicator(row.communicator).role; });
    table.show_left("group",
                    [this](Row row) { return group(communicator(row.communicator).role); });
    table.add("ranks", [this](Row row) { return communicator(row.communicator).ranks; }).nested();
    table
        .show_left(
            "ranks",
            [this](Row row) {
              return base::format_number_list(communicator(row.communicator).ranks);
            },
            16)
        .dispensable(2);
    table.add("rank", &LateRank::rank).titled("last");
    table.add("times_last", &LateRank::times).titled("times", {Unit::grouped});
    table.add("meetings", &LateRank::meetings).titled("of", {Unit::grouped});
    add_per_step(table, "delay", "delay", [](Row row) { return std::optional(row.delay); });
    add_origin(table, [](Row row) -> const DelayOrigin& { return row.causes.front().origin; });
    add_phase(table, [](Row row) { return row.causes.front().phase; });
    table.add("seen_by", [](Row row) { return row.causes.front().seen_by; });
    table.show_left("by", [](Row row) { return seen_by_text(row.causes.front().seen_by); })
        .dispensable(2);
    add_per_step(table, "gain", "gain", [](Row row) { return row.gain; });
    table
        .add("causes",
             [this](Row row) {
               List all;
               for (const LateCause& one : row.causes)
                 all.push_back(Object{{"cause", one.origin.cause},
                                      {"seen_by", one.seen_by},
                                      {"rank", rank_value(one.origin)},
                                      {"ranks", ranks_value(one.origin)},
                                      {"phase", phase_text(one.phase)},
                                      {"times", one.times},
                                      {"delay_ns", one.delay_ns}});
               return all;
             })
        .nested();
    return table.table();
  }

  TablePtr what_ifs() const {
    struct WhatIfRow : Predicted {
      std::string text;
    };
    std::vector<WhatIfRow> rows;
    for (const auto& [what, all] : causes_.what_ifs)
      for (const Predicted& one : all)
        rows.push_back({one, what.text});
    TableOf<WhatIfRow> table(std::move(rows));
    using Row = const WhatIfRow&;
    table.add("what_if", &WhatIfRow::text).titled("what if").left(30);
    table.add("cell", [](Row row) { return row.kind; }).titled("cell");
    table.add("operations", [](Row row) { return row.operations; });
    table.add("step_ns", [](Row row) { return row.seen_ns; });
    table.show("step", [unit = unit_](Row row) { return in_unit(row.seen_ns, unit); });
    table.add("predicted_ns", [](Row row) { return row.predicted_ns; });
    table.show("then", [unit = unit_](Row row) { return in_unit(row.predicted_ns, unit); });
    add_per_step(table, "gain", "gain", [](Row row) { return std::optional(row.gain); });
    table.add("gain_share", [](Row row) { return row.share; }).titled("of a step", {Unit::percent});
    table.add("disturbances_checked", [](Row row) { return row.check.disturbances; });
    table.add("error", [](Row row) {
      return row.check.disturbances > 0 ? Value(row.check.median_error) : Value();
    });
    return table.table();
  }

  TablePtr checks() const {
    struct CheckRow : ModelCheck {
      std::size_t cell = 0;
    };
    std::vector<CheckRow> rows;
    for (std::size_t i = 0; i < causes_.checks.size(); ++i)
      rows.push_back({causes_.checks[i], i});
    TableOf<CheckRow> table(std::move(rows));
    using Row = const CheckRow&;
    table.add("cell", &CheckRow::cell);
    table.add("steps", [](Row row) { return row.steps; });
    table.add("predicted_ns", [](Row row) { return row.predicted_ns; });
    table.add("seen_ns", [](Row row) { return row.seen_ns; });
    table.add("disturbances", [](Row row) { return row.disturbances; });
    table.add("predicted_change_ns", [](Row row) { return row.predicted_change_ns; });
    table.add("seen_change_ns", [](Row row) { return row.seen_change_ns; });
    table.add("error",
              [](Row row) { return row.disturbances > 0 ? Value(row.median_error) : Value(); });
    return table.table();
  }

private:
  const GraphCommunicator& communicator(int number) const {
    return causes_.communicators[static_cast<std::size_t>(number)];
  }
  const OperationClass& operations(const PathShare& row) const {
    return causes_.classes[static_cast<std::size_t>(row.operations)];
  }
  std::string function(const PathShare& row) const {
    return timeline_.texts.at(operations(row).function);
  }
  static std::string group(Role role) { return role_text(role); }

  Value rank_value(const DelayOrigin& origin) const {
    return origin.rank < 0 ? Value() : Value(origin.rank);
  }
  Value ranks_value(const DelayOrigin& origin) const {
    return origin.communicator < 0 ? Value() : Value(communicator(origin.communicator).ranks);
  }

  std::string phase_text(int phase) const { // empty: not known
    return phase < 0 ? "" : phase_name(causes_.held_up, phase);
  }
  template <typename Row, typename Get>
  void add_phase(TableOf<Row>& table, Get get) const {
    table.add("phase", [=, this](const Row& row) { return phase_text(get(row)); });
    table
        .show_left(
            "phase",
            [=, this](const Row& row) {
              return get(row) < 0 ? Value() : Value(phase_text(get(row)));
            },
            24)
        .if_any();
  }

  template <typename Row, typename Get>
  void add_origin(TableOf<Row>& table, Get get) const {
    table.add("cause", [=](const Row& row) { return get(row).cause; });
    table.show_left("cause", [=](const Row& row) { return cause_text(get(row).cause); });
    table.add("cause_rank", [=, this](const Row& row) { return rank_value(get(row)); });
    table.add("cause_ranks", [=, this](const Row& row) { return ranks_value(get(row)); }).nested();
    table.show_left("of", [=, this](const Row& row) -> Value {
      const DelayOrigin& origin = get(row);
      if (origin.communicator >= 0)
        return base::name_ranks(communicator(origin.communicator).ranks);
      return origin.rank >= 0 ? Value(base::name_ranks({origin.rank})) : Value();
    });
  }

  template <typename Row, typename Get>
  void add_per_step(TableOf<Row>& table, const std::string& key, const char* title, Get get) const {
    table.add(key + "_ns", [=](const Row& row) {
      const std::optional<PerStep> time = get(row);
      return time ? Value(time->mean_ns) : Value();
    });
    table.show(title, [=, unit = unit_](const Row& row) -> Value {
      const std::optional<PerStep> time = get(row);
      return time ? Value(in_unit(time->mean_ns, unit)) : Value();
    });
    auto interval = [=](const Row& row) {
      const std::optional<PerStep> time = get(row);
      return time ? time->interval : std::nullopt;
    };
    table.add(key + "_interval_ns", [=](const Row& row) { return Value(interval(row)); })
        .interval();
    table.show("95%", [=, unit = unit_](const Row& row) { return range(interval(row), unit); })
        .dispensable(1);
  }

  const JobCauses& causes_;
  const timeline::Timeline& timeline_;
  TimeUnit unit_;
};

Finding checked(const ModelCheck& check) {
  std::string changes = "No step was disturbed, so predictions of changes could not be checked.";
  if (check.disturbances > 0)
    changes = fmt::format("The predicted delay of {} was {} in total, the measured one {}; "
                          "median error {:.0f}%.",
                          count_of(check.disturbances, "disturbed step", "disturbed steps"),
                          format_duration(check.predicted_change_ns),
                          format_duration(check.seen_change_ns), 100 * check.median_error);
  return {&k_model_checked,
          {{"steps", check.steps},
           {"predicted", format_duration(check.predicted_ns)},
           {"seen", format_duration(check.seen_ns)},
           {"changes", changes}}};
}

// Hosts that are late without a sign of why.
std::vector<Finding> input_not_known(const HeldUp& held_up) {
  std::set<int> ranks;
  auto note = [&](const DelayOrigin& origin, CauseSeenBy seen_by) {
    if (origin.cause == DelayCause::host && seen_by == CauseSeenBy::launches &&
        std::ranges::find(held_up.loading_marked, origin.rank) == held_up.loading_marked.end())
      ranks.insert(origin.rank);
  };
  for (const HoldUp& row : held_up.hold_ups)
    note(row.origin, row.seen_by);
  for (const LateRank& row : held_up.late)
    note(row.causes.front().origin, row.causes.front().seen_by);
  if (ranks.empty())
    return {};
  return {{&k_input_not_known, {{"who", base::name_ranks({ranks.begin(), ranks.end()})}}}};
}

} // namespace

std::string phase_name(const HeldUp& held_up, int phase) {
  const std::string& name = held_up.phases.at(static_cast<std::size_t>(phase)).back().name;
  return name.empty() ? "(no name)" : name;
}

std::string cause_text(DelayCause cause) {
  switch (cause) {
  case DelayCause::computing:
    return "computing";
  case DelayCause::host:
    return "host late";
  case DelayCause::copies:
    return "copies";
  case DelayCause::input:
    return "input late";
  case DelayCause::slow_link:
    return "slow link";
  case DelayCause::slow_transfers:
    return "slow transfers";
  case DelayCause::transfer:
    return "transfer";
  case DelayCause::many:
    return "many small delays";
  }
  return "not known";
}

Report job_causes_report(const timeline::Timeline& timeline, const TimelineHeading& heading) {
  if (!heading.causes)
    return {};
  const JobCauses& causes = *heading.causes;
  const auto kept = std::make_shared<const CauseTables>(causes, timeline);
  const CauseTables& tables = *kept;
  const TablePtr what_ifs = tables.what_ifs();
  Report report{.data = {{"job_causes", Object{{"has_all_steps", causes.has_all_steps},
                                               {"critical_path", tables.path()},
                                               {"hold_ups", tables.hold_ups()},
                                               {"late", tables.late()},
                                               {"checks", tables.checks()},
                                               {"what_if", what_ifs}}}}};
  report.figures.push_back(kept);
  const char* unit = tables.unit().name;
  auto add = [&](const char* key, std::string title, TablePtr table) {
    if (table->rows > 0)
      report.sections.push_back(
          {key, std::move(title), {View{.table = std::move(table), .most_rows = k_most_rows}}});
  };
  add("what_if", fmt::format("What if, {} per step", unit), what_ifs);
  if (what_ifs->rows > 0)
    report.rows = what_ifs;
  add("critical_path",
      fmt::format("What decides how long a step lasts, {} (critical path across "
                  "ranks)",
                  unit),
      tables.path());
  add("hold_ups", fmt::format("What holds the job up, {} per step", unit), tables.hold_ups());
  add("job_late",
      fmt::format("Who comes last and why, {} per step (the cause is where the delay began)", unit),
      tables.late());
  Findings found{"  ", {}, 2};
  for (const ModelCheck& check : causes.checks)
    if (check.steps > 0 && found.all.size() < k_most_cells)
      found.all.push_back(checked(check));
  if (!causes.has_all_steps) {
    std::uint64_t steps = 0;
    for (std::uint64_t of_kind : causes.held_up.steps)
      steps += of_kind;
    found.all.push_back({&k_some_steps, {{"steps", steps}}});
  }
  if (!causes.held_up.kernels_recorded &&
      !(causes.held_up.hold_ups.empty() && causes.held_up.late.empty()))
    found.all.push_back({&k_no_kernels, {}});
  std::ranges::copy(input_not_known(causes.held_up), std::back_inserter(found.all));
  if (!found.all.empty() && !report.sections.empty())
    report.sections.back().blocks.push_back(std::move(found));
  return report;
}

} // namespace ncclprobe::analysis
