// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/prediction_report.h"

#include "analysis/predict/prediction_base.h"
#include "analysis/report/label_words.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace ncclprobe::analysis {
namespace {

using cost_model::CollectiveModel;
using cost_model::Fit;
using cost_model::LogGp;
using cost_model::Piece;
using cost_model::Predicted;

constexpr int k_prediction_version = 4;
constexpr int k_quality_hang = 11;

constexpr FindingKind k_no_error_by_size{
    "no_error_by_size", Severity::warning,
    "error unknown: too few sizes were measured to leave one out"},
    k_no_error_by_ranks{"no_error_by_ranks", Severity::warning,
                        "error unknown: it needs steps of this kind measured at three or more "
                        "numbers of ranks, at least two of them above 1"},
    k_one_number_of_ranks{
        "one_number_of_ranks", Severity::warning,
        "{collective} was measured on {ranks} ranks only: its growth with ranks is unknown"},
    k_no_loggp{"no_loggp", Severity::note,
               "LogGP: no data. It needs the same sizes launched back to back and one at a time "
               "(run --mode latency; --also adds that run)."},
    k_single_launches{"single_launches", Severity::note,
                      "o is the host's time for one launch call. L does not include it: a single "
                      "launch is timed on the device, which is kept busy until the call returns. "
                      "Residuals: at most {worst_residual_percent:.1f}%."},
    k_host_sets_pace{"host_sets_pace", Severity::note,
                     "Where the host sets the pace, g is the time of its calls. The gap itself may "
                     "be shorter."},
    k_calls_not_timed{"calls_not_timed", Severity::note,
                      "Rows without o: the run did not time the host's calls, so g is the longer "
                      "of gap and overhead."},
    k_not_predicted{"not_predicted", Severity::warning, "{ranks} ranks: {why}."},
    k_no_interval{"no_interval", Severity::warning, "No interval: {why}."},
    k_time_unknown{"time_unknown", Severity::warning,
                   "{activity}: its time is unknown and counts as 0."},
    k_interval_of{"interval_of", Severity::note,
                  "Sources of the interval at {ranks} ranks, in percent of the step: transfers "
                  "+-{transfers:.1f}, computing +-{computing:.1f}, operations of another size "
                  "+-{sizes:.1f}, the network between nodes as stated +-{inter_node:.1f}, errors "
                  "of the replay +-{replay:.1f}."},
    k_stated_exactly{
        "stated_exactly", Severity::note,
        "The stated computing speed is assumed to be exact: a range (--tflops 350-450) "
        "widens the interval."};

std::string ms(double ns) {
  return fmt::format("{:.3f}", ns / 1e6);
}

// "11.2 +-1.1"; intervals of factors are symmetrical.
std::string factor_text(const Fit& line, std::size_t factor, double unit) {
  std::string text = format_number(line.factors[factor] / unit);
  if (const auto& interval = line.intervals[factor])
    text += fmt::format(" +-{:.3g}", (interval->high - interval->low) / 2 / unit);
  return text;
}

double worst_residual(const Fit& line) {
  double worst = 0;
  for (double residual : line.residuals)
    worst = std::max(worst, std::abs(residual));
  return worst;
}

template <typename T>
std::string way_text(const T& one) {
  return one.algorithm.empty() ? "?" : one.algorithm + " " + one.protocol;
}

Block errors_block(model::Collective collective, const cost_model::RankErrors& errors) {
  if (errors.measured.size() < 2)
    return Findings{"  numbers",
                    {{&k_one_number_of_ranks,
                      {{"collective", collective}, {"ranks", errors.measured.front()}}}},
                    k_quality_hang};
  const std::string ranks =
      fmt::format("{} on {} ranks", model::to_string(collective), fmt::join(errors.measured, ", "));
  return Text{"  numbers",
              errors.left_out.empty()
                  ? ranks + ": none could be left out"
                  : fmt::format("{}, each number left out in turn: {:.1f}% (root mean square)",
                                ranks, 100 * errors.rms()),
              k_quality_hang};
}

Section quality_section(const Prediction& prediction) {
  Section section{"quality", "How well the model fits the measurements"};
  auto add = [&](const char* label, std::string text) {
    section.blocks.push_back(Text{label, std::move(text), k_quality_hang});
  };
  if (const auto& left = prediction.left_out)
    add("  sizes", fmt::format("each left out in turn and predicted: median error {:.1f}% "
                               "(largest {:.1f}%, {} sizes)",
                               100 * left->median, 100 * left->largest, left->sizes));
  else
    section.blocks.push_back(Findings{"  sizes", {{&k_no_error_by_size}}, k_quality_hang});
  for (const auto& [collective, errors] : prediction.rank_errors)
    section.blocks.push_back(errors_block(collective, errors));
  if (const auto& held = prediction.held_out) {
    const Predicted& one = held->predicted;
    add("  ranks",
        fmt::format("the step at {} ranks, predicted from {}: {} ms{}; measured {} ms ({:+.1f}%)",
                    one.ranks, fmt::join(held->from_ranks, ", "), ms(one.step_ns),
                    one.step_interval_ns ? fmt::format(" [{}, {}]", ms(one.step_interval_ns->low),
                                                       ms(one.step_interval_ns->high))
                                         : "",
                    ms(held->measured_ns), 100 * held->error()));
  } else {
    section.blocks.push_back(Findings{"  ranks", {{&k_no_error_by_ranks}}, k_quality_hang});
  }
  const cost_model::StepBase& base = prediction.base;
  if (prediction.replayed_ns)
    add("  replay",
        fmt::format("the step {} {}: {} ms by its schedule, measured {} ms ({:+.1f}%){}",
                    base.ranks > 0 ? "at" : "that gave the rates, at",
                    count_of(static_cast<std::size_t>(base.measured_ranks), "rank", "ranks"),
                    ms(*prediction.replayed_ns), ms(base.measured.step_ns),
                    100 * (*prediction.replayed_ns / base.measured.step_ns - 1),
                    base.ranks > 0 ? "; predictions include this difference" : ""));
  return section;
}

// A factor of a line, in units of `unit`, with its interval.
template <typename Row, typename FitOf>
void add_factor(TableOf<Row>& table, std::size_t factor, double unit, FitOf fit_of, const char* key,
                const char* interval_key, const char* title) {
  table.add(key, [=](const Row& row) { return fit_of(row).factors[factor] / unit; });
  table.add(interval_key,
            [=](const Row& row) { return interval_value(fit_of(row).intervals[factor], unit); });
  table.show(title, [=](const Row& row) { return factor_text(fit_of(row), factor, unit); });
}

struct PieceRow : Piece {
  const CollectiveModel* model;
};
TablePtr pieces_table(const std::vector<const CollectiveModel*>& models) {
  std::vector<PieceRow> rows;
  for (const CollectiveModel* model : models)
    for (const Piece& piece : model->pieces)
      rows.push_back({piece, model});
  TableOf<PieceRow> table(std::move(rows));
  auto line = [](const PieceRow& row) -> const Fit& { return row.line; };
  table.show("collective", [](const PieceRow& row) { return row.model->collective; }).left();
  table.show("ranks", [](const PieceRow& row) { return row.model->ranks; });
  table.add("first_bytes", &PieceRow::first_bytes).titled("from", {Unit::size});
  table.add("last_bytes", &PieceRow::last_bytes).titled("to", {Unit::size});
  table.add("algorithm", &PieceRow::algorithm);
  table.add("protocol", &PieceRow::protocol);
  table.show("by", way_text<PieceRow>).left();
  add_factor(table, 0, 1e3, line, "alpha_us", "alpha_interval_us", "alpha us");
  add_factor(table, 1, 1e-3, line, "beta_us_per_mb", "beta_interval_us_per_mb", "beta us/MB");
  table.add("residuals", [](const PieceRow& row) { return row.line.residuals; });
  table
      .show("resid. %", [](const PieceRow& row) { return worst_residual(row.line); }, {Unit::share})
      .dispensable(1);
  table.add("begins", &PieceRow::begin).titled("begins").left();
  return table.table();
}

Report models_report(const std::vector<CollectiveModel>& models) {
  std::vector<const CollectiveModel*> all;
  for (const CollectiveModel& model : models)
    all.push_back(&model);
  Section section{"collectives",
                  "Collectives: t(m) = alpha + beta m, least squares of relative errors (+-: 95%)",
                  {View{pieces_table(all)}}};
  TableOf<const CollectiveModel*> table(std::move(all));
  table.add("collective", &CollectiveModel::collective);
  table.add("ranks", &CollectiveModel::ranks);
  table.add("points", &CollectiveModel::points);
  table.add("left_out_errors", &CollectiveModel::left_out_errors);
  table.add("pieces", [](const CollectiveModel* one) { return pieces_table({one}); });
  return {.sections = {std::move(section)}, .data = {{"collectives", table.table()}}};
}

Report loggp_report(const std::vector<LogGp>& models) {
  TableOf<LogGp> table(models);
  auto fit = [](const LogGp& one) -> const Fit& { return one.fit; };
  table.add("collective", &LogGp::collective).titled("collective").left();
  table.add("ranks", &LogGp::ranks).titled("ranks");
  table.add("first_bytes", &LogGp::first_bytes).titled("from", {Unit::size});
  table.add("last_bytes", &LogGp::last_bytes).titled("to", {Unit::size});
  table.add("algorithm", &LogGp::algorithm);
  table.add("protocol", &LogGp::protocol);
  table.show("by", way_text<LogGp>).left();
  add_factor(table, 0, 1e3, fit, "L_us", "L_interval_us", "L us");
  table.add("o_us", [](const LogGp& one) { return in_us(one.overhead_ns); })
      .titled("o us", {Unit::number})
      .dispensable(2);
  table.add("bound_by_host", &LogGp::is_bound_by_host).titled("host's pace").dispensable(1);
  add_factor(table, 1, 1e3, fit, "g_us", "g_interval_us", "g us");
  add_factor(table, 2, 1e-3, fit, "G_us_per_mb", "G_interval_us_per_mb", "G us/MB");
  table.add("residuals", [](const LogGp& one) { return one.fit.residuals; });
  Section section{"loggp"};
  if (models.empty()) {
    section.blocks = {Findings{"", {{&k_no_loggp}}}};
  } else {
    double worst = 0;
    for (const LogGp& one : models)
      worst = std::max(worst, worst_residual(one.fit));
    section.title = "LogGP: one at a time L + (m-1) G, back to back max(g, o) + (m-1) G (+-: 95%)";
    std::vector<Finding> notes{{&k_single_launches, {{"worst_residual_percent", 100 * worst}}}};
    if (std::ranges::any_of(models, [](auto& one) { return one.is_bound_by_host() == true; }))
      notes.push_back({&k_host_sets_pace});
    if (std::ranges::any_of(models, [](auto& one) { return !one.is_bound_by_host(); }))
      notes.push_back({&k_calls_not_timed});
    section.blocks = {View{table.table()}, Findings{"", std::move(notes), 2}};
  }
  return {.sections = {std::move(section)}, .data = {{"loggp", table.table()}}};
}

TablePtr predicted_table(const Prediction& prediction) {
  TableOf<Predicted> table(prediction.predicted);
  auto add = [&](const char* key, auto get) { // null if it could not be predicted
    return table.add(key, [get](const Predicted& one) -> Value {
      return one.why_not ? Value() : Value(std::invoke(get, one));
    });
  };
  table.add("ranks", &Predicted::ranks).titled("ranks");
  table
      .add("nodes", [node = std::max(prediction.ranks_per_node, 1)](
                        const Predicted& one) { return (one.ranks + node - 1) / node; })
      .titled("nodes");
  add("step_ms", [](const Predicted& one) {
    return one.step_ns / 1e6;
  }).titled("step ms", {Unit::fixed, 3});
  add("step_interval_ms",
      [](const Predicted& one) { return interval_value(one.step_interval_ns, 1e6); })
      .titled("95%", {Unit::fixed, 3})
      .interval();
  add("uncovered_ms", [](const Predicted& one) {
    return one.exposed_ns / 1e6;
  }).titled("uncovered ms", {Unit::fixed, 3});
  add("efficiency", &Predicted::efficiency).titled("efficiency %", {Unit::share});
  add("efficiency_interval",
      [](const Predicted& one) { return interval_value(one.efficiency_interval); })
      .titled("95%", {Unit::share})
      .interval();
  add("half_width_transfers", &Predicted::from_transfers);
  add("half_width_computing", &Predicted::from_computing);
  add("half_width_sizes", &Predicted::from_sizes);
  add("half_width_inter_node", &Predicted::from_inter_node);
  add("half_width_replay", &Predicted::from_replay);
  add_why(table, "why_not", &Predicted::why_not);
  add_why(table, "why_no_interval", &Predicted::why_no_interval);
  table.add("taken_to_need_no_time", &Predicted::unknown);
  return table.table();
}

Section predicted_section(const Prediction& prediction, TablePtr table) {
  const cost_model::StepBase& base = prediction.base;
  Section section{"predicted",
                  fmt::format("Steps: computing {}; a single rank {} ms ({})", base.source,
                              ms(base.alone_ns), base.alone_source),
                  {View{std::move(table)}}};
  std::vector<Finding> found;
  for (const Predicted& one : prediction.predicted) {
    if (one.why_not) {
      found.push_back({&k_not_predicted, {{"ranks", one.ranks}, {"why", in_words(one.why_not)}}});
      continue;
    }
    if (one.why_no_interval)
      found.push_back({&k_no_interval, {{"why", in_words(one.why_no_interval)}}});
    for (const std::string& activity : one.unknown)
      found.push_back({&k_time_unknown, {{"activity", activity}}});
  }
  const auto last = std::find_if(prediction.predicted.rbegin(), prediction.predicted.rend(),
                                 [](const auto& one) { return one.step_interval_ns.has_value(); });
  if (last != prediction.predicted.rend()) {
    found.push_back({&k_interval_of,
                     {{"ranks", last->ranks},
                      {"transfers", 100 * last->from_transfers},
                      {"computing", 100 * last->from_computing},
                      {"sizes", 100 * last->from_sizes},
                      {"inter_node", 100 * last->from_inter_node},
                      {"replay", 100 * last->from_replay}}});
    if (base.measured_ranks == 0 && base.half_width == 0.0)
      found.push_back({&k_stated_exactly});
  }
  std::set<std::string> said;
  for (Finding& one : found)
    if (said.insert(in_words(one)).second)
      section.blocks.push_back(Findings{"", {std::move(one)}, 2});
  return section;
}

} // namespace

Report prediction_report(const Prediction& prediction) {
  const cost_model::StepBase& base = prediction.base;
  const auto& left = prediction.left_out;
  const auto& held = prediction.held_out;
  List left_out_ranks;
  for (const auto& [collective, errors] : prediction.rank_errors) {
    List relative;
    for (const auto& one : errors.errors)
      relative.push_back(one.relative);
    left_out_ranks.push_back(Object{{"collective", collective},
                                    {"measured", errors.measured},
                                    {"left_out", errors.left_out},
                                    {"errors", std::move(relative)}});
  }
  Report report{
      .data = {{"schema", "ncclprobe.prediction"},
               {"schema_version", k_prediction_version},
               {"synthetic", prediction.synthetic},
               {"workload", base.request.pattern},
               {"model", base.request.model.name},
               {"ranks_per_node", prediction.ranks_per_node},
               {"left_out_sizes", left ? Value(Object{{"median_error", left->median},
                                                      {"largest_error", left->largest},
                                                      {"sizes", left->sizes}})
                                       : Value()},
               {"left_out_ranks", std::move(left_out_ranks)},
               {"held_out_step",
                held ? Value(Object{{"ranks", held->predicted.ranks},
                                    {"from_ranks", held->from_ranks},
                                    {"predicted_ms", held->predicted.step_ns / 1e6},
                                    {"predicted_interval_ms",
                                     interval_value(held->predicted.step_interval_ns, 1e6)},
                                    {"measured_ms", held->measured_ns / 1e6},
                                    {"error", held->error()}})
                     : Value()},
               {"computing", base.source},
               {"alone_ms", base.alone_ns / 1e6},
               {"alone", base.alone_source},
               {"replayed_ms",
                prediction.replayed_ns ? Value(*prediction.replayed_ns / 1e6) : Value()}},
      .rows = predicted_table(prediction)};
  report.sections.push_back(
      {"heading", fmt::format("Predicted steps{}: {}", prediction.synthetic ? " [SYNTHETIC]" : "",
                              describe(base.request))});
  report.sections.push_back(quality_section(prediction));
  append(report, models_report(prediction.models));
  append(report, loggp_report(prediction.loggp));
  report.data.emplace_back("predicted", report.rows);
  report.sections.push_back(predicted_section(prediction, report.rows));
  report.sections.push_back(
      {.key = "method",
       .blocks = {Text{
           "",
           fmt::format("The step's schedule is replayed with the times of the models: a ring over "
                       "nodes of {} ranks (a tree where NCCL used one). Uncovered is the time in "
                       "which a rank does not compute. The intervals are for one more process. "
                       "They include the errors named above, but not the differences of other "
                       "machines, networks or neighbours.",
                       prediction.ranks_per_node)}},
       .part = Section::Part::method});
  return report;
}

} // namespace ncclprobe::analysis
