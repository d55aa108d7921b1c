// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/tune/explanation_section.h"

#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::tune {
namespace {

Value list_of(const std::vector<Use>& uses) {
  List list;
  for (const Use& one : uses)
    list.emplace_back(Object{
        {"algorithm", one.algorithm}, {"protocol", one.protocol}, {"channels", one.channels}});
  return list;
}

std::string words_of(const std::vector<Use>& uses) {
  std::vector<std::string> words;
  for (const Use& one : uses)
    words.push_back(in_words(one));
  return base::join(words, "; ");
}

struct ChoicesRow {
  std::string target;
  std::string settings;
  std::vector<Use> by_default;
  std::vector<Use> otherwise;
};

struct PartsRow {
  std::string target;
  std::string side;
  steps::StepTimes times;
  std::optional<int> sms;
};

struct ChangeRow {
  const search::Parameter* parameter;
  int value;
  const search::Gain* gain;
  bool left_out;
};

std::optional<int> sms_of(const HowItRan& side) {
  return side.sms() > 0 ? std::optional(side.sms()) : std::nullopt;
}

// The default and the candidates that clearly lost, as the search measured them.
void add_losers(const Tuning& tuning, std::size_t target, std::vector<PartsRow>& rows) {
  const std::string& name = tuning.space.targets[target].name;
  const search::Candidate unset = default_candidate(tuning.space);
  const auto of_default = tuning.step_times.of(target, unset);
  const auto losers = clear_losers(tuning.outcome, tuning.min_gain);
  if (!of_default || losers.empty())
    return;
  auto sms_in_search = [&](const search::Candidate& candidate) {
    const auto shown = std::ranges::find(tuning.choices, candidate, &CandidateChoices::candidate);
    return shown == tuning.choices.end()
               ? std::nullopt
               : sms_of({.uses = shown->by_target[target], .times = std::nullopt});
  };
  rows.push_back({name, "default, in the search", *of_default, sms_in_search(unset)});
  for (const search::Candidate& one : losers)
    if (const auto times = tuning.step_times.of(target, one))
      rows.push_back({name, to_text(tuning.space, one), *times, sms_in_search(one)});
}

void add_delivery(const Tuning& tuning, std::size_t i, std::vector<PartsRow>& rows) {
  const auto& [of_default, of_delivery] = tuning.explanations[i];
  if (!of_default.times || !of_delivery.times)
    return;
  const std::string& target = tuning.space.targets[i].name;
  steps::StepTimes difference = *of_default.times;
  difference *= -1;
  difference += *of_delivery.times;
  const auto before = sms_of(of_default), after = sms_of(of_delivery);
  rows.push_back({target, "default", *of_default.times, before});
  rows.push_back({target, "delivered", *of_delivery.times, after});
  rows.push_back({target, "difference", difference,
                  before && after ? std::optional(*after - *before) : std::nullopt});
}

} // namespace

TablePtr change_table(const Tuning& tuning) {
  const search::Outcome& outcome = tuning.outcome;
  std::vector<ChangeRow> rows;
  for (const auto& [p, gain] : outcome.of_changes)
    rows.push_back({&tuning.space.parameters[p], outcome.settings.candidate[p], &gain, false});
  for (const search::LeftOut& one : outcome.left_out)
    rows.push_back({&tuning.space.parameters[one.parameter], one.value, &one.gain, true});
  std::erase_if(rows, [](const ChangeRow& row) { return row.value == 0; }); // nothing was proven
  TableOf<ChangeRow> table(std::move(rows));
  using Row = const ChangeRow&;
  table.add("parameter", [](Row row) { return row.parameter->name; }).titled("parameter").left();
  table
      .add("value",
           [](Row row) { return row.parameter->values[static_cast<std::size_t>(row.value)]; })
      .titled("value")
      .left(24);
  table.add("speed_ratio", [](Row row) { return six_digits(row.gain->speed); })
      .titled("with / without it", {Unit::ratio, 3});
  table.add("interval", [](Row row) { return interval_value(row.gain->interval); })
      .titled("interval", {Unit::fixed, 3})
      .interval();
  table.add("processes", [](Row row) { return row.gain->processes; })
      .titled("processes")
      .dispensable(1);
  table.add("without_effect", [](Row row) { return row.left_out; });
  table.show_left("result", [](Row row) { return row.left_out ? "left out: no effect" : "kept"; });
  return table.table();
}

TablePtr choices_table(const Tuning& tuning) {
  std::vector<ChoicesRow> rows;
  auto add = [&](std::size_t target, const std::string& settings,
                 const std::vector<Use>& by_default, const std::vector<Use>& otherwise) {
    if (!by_default.empty() && !otherwise.empty())
      rows.push_back({tuning.space.targets[target].name, settings, by_default, otherwise});
  };
  for (std::size_t i = 0; i < tuning.explanations.size(); ++i)
    add(i, "as delivered", tuning.explanations[i].of_default.uses,
        tuning.explanations[i].of_delivery.uses);
  for (std::size_t c = 1; c < tuning.choices.size(); ++c)
    for (std::size_t i = 0; i < tuning.space.targets.size(); ++i)
      add(i, to_text(tuning.space, tuning.choices[c].candidate),
          tuning.choices.front().by_target[i], tuning.choices[c].by_target[i]);
  TableOf<ChoicesRow> table(std::move(rows));
  using Get = const ChoicesRow&;
  table.add("target", &ChoicesRow::target).titled("target").left(30);
  table.add("settings", &ChoicesRow::settings).titled("settings").left(32);
  table.add("default", [](Get row) { return list_of(row.by_default); }).nested();
  table.add("otherwise", [](Get row) { return list_of(row.otherwise); }).nested();
  table.show_left(
      "by default", [](Get row) { return words_of(row.by_default); }, 32);
  table.show_left(
      "with them", [](Get row) { return words_of(row.otherwise); }, 32);
  table.add("same", [](Get row) { return row.by_default == row.otherwise; });
  return table.table();
}

TablePtr in_process_table(const Tuning& tuning) {
  TableOf<InProcessCheck> table(tuning.in_process);
  using Check = const InProcessCheck&;
  table.add("target", [space = tuning.space](Check one) { return space.targets[one.target].name; })
      .titled("target")
      .left(30);
  table.add("settings", &InProcessCheck::settings).titled("settings").left(32);
  table
      .add("speed_ratio",
           [](Check one) {
             return one.ratio ? std::optional(six_digits(one.ratio->ratio)) : std::nullopt;
           })
      .titled("in process / fresh", {Unit::ratio, 3});
  table
      .add("interval",
           [](Check one) { return one.ratio ? interval_value(one.ratio->interval) : Value(); })
      .titled("interval", {Unit::fixed, 3})
      .interval();
  table.add("in_process_processes", &InProcessCheck::in_process_processes);
  table.add("fresh_processes", &InProcessCheck::fresh_processes);
  table.add("differs", &InProcessCheck::differs);
  table.show_left("differ", [](Check one) {
    return !one.ratio ? "too few processes" : one.differs ? "yes" : "not shown";
  });
  table.add("is_logged", &InProcessCheck::is_logged);
  table
      .show_left(
          "in its log",
          [](Check one) { return one.is_logged ? Value(*one.is_logged ? "yes" : "no") : Value(); })
      .if_any();
  add_why(table, "why_different", &InProcessCheck::reason);
  table
      .show_left(
          "why", [](Check one) { return one.reason ? Value(in_words(one.reason)) : Value(); }, 40)
      .if_any();
  return table.table();
}

TablePtr step_parts_table(const Tuning& tuning) {
  std::vector<PartsRow> rows;
  for (std::size_t i = 0; i < tuning.space.targets.size(); ++i) {
    if (i < tuning.explanations.size())
      add_delivery(tuning, i, rows);
    add_losers(tuning, i, rows);
  }
  TableOf<PartsRow> table(std::move(rows));
  table.add("target", &PartsRow::target).titled("target").left(30).once();
  table.add("side", &PartsRow::side).titled("ms a step").left();
  auto add = [&](const char* key, const char* title, auto part) {
    table.add(key, [part](const PartsRow& row) { return six_digits(part(row.times)); });
    table.show(title, [part](const PartsRow& row) { return part(row.times) / 1e6; },
               {Unit::fixed, 3});
  };
  add("step_ns", "step", [](const steps::StepTimes& one) { return one.step_ns; });
  add("computing_ns", "computing", [](const steps::StepTimes& one) { return one.compute_ns; });
  add("exposed_wait_ns", "uncovered wait",
      [](const steps::StepTimes& one) { return one.exposed_wait_ns; });
  add("exposed_transfer_ns", "uncovered transfer",
      [](const steps::StepTimes& one) { return one.exposed_transfer_ns; });
  add("rest_ns", "rest",
      [](const steps::StepTimes& one) { return one.exposed_copy_ns + one.idle_ns; });
  table.add("sms", &PartsRow::sms).titled("SMs of communication").if_any();
  return table.table();
}

} // namespace ncclprobe::analysis::tune
