// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/prediction_report.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/report/prediction_base.h"
#include "base/text_table.h"
#include "base/units.h"
#include "base/wrapped_row.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using cost_model::CollectiveModel;
using cost_model::Fit;
using cost_model::Piece;

// The most ranks of any host; 0 for a run without any.
int ranks_per_host(const model::Run& run) {
  std::map<int, int> counts;
  int most = 0;
  for (const model::RankPlace& place : run.header.ranks)
    most = std::max(most, ++counts[place.host]);
  return most;
}

std::string ms(double ns) {
  return fmt::format("{:.3f}", ns / 1e6);
}

std::string interval_text(const std::optional<Interval>& interval, double unit,
                          fmt::format_string<double> format) {
  return interval ? fmt::format("[{}, {}]", fmt::format(format, interval->low / unit),
                                fmt::format(format, interval->high / unit))
                  : "unknown";
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

std::string errors_text(model::Collective collective, const cost_model::RankErrors& errors) {
  const auto name = model::to_string(collective);
  if (errors.measured.size() < 2)
    return fmt::format("{} was measured on {} ranks only: how it grows with them is not known",
                       name, errors.measured.front());
  if (errors.left_out.empty())
    return fmt::format("{} on {} ranks: none could be left out", name,
                       fmt::join(errors.measured, ", "));
  return fmt::format("{} on {} ranks, each number left out in turn: {:.1f}% (root mean square)",
                     name, fmt::join(errors.measured, ", "), 100 * errors.rms());
}

// " [10.1, 12.3]"
std::string bounds_text(const cost_model::Predicted& one) {
  return one.step_interval_ns ? " " + interval_text(one.step_interval_ns, 1e6, "{:.3f}") : "";
}

std::string render_quality(const Prediction& prediction) {
  std::string out = "How good the model is, on what was measured\n";
  out += paragraph(
      "  sizes",
      prediction.left_out
          ? fmt::format("each left out in turn: predicted with a median error of {:.1f}% (largest "
                        "{:.1f}%, {} sizes)",
                        100 * prediction.left_out->median, 100 * prediction.left_out->largest,
                        prediction.left_out->sizes)
          : "no error is known: no size could be left out, because too few were measured",
      11);
  for (const auto& [collective, errors] : prediction.rank_errors)
    out += paragraph("  numbers", errors_text(collective, errors), 11);
  if (const auto& held = prediction.held_out)
    out += paragraph("  ranks",
                     fmt::format("the step at {} ranks, predicted from {}: {} ms{}; measured {} ms "
                                 "({:+.1f}%)",
                                 held->predicted.ranks, fmt::join(held->from_ranks, ", "),
                                 ms(held->predicted.step_ns), bounds_text(held->predicted),
                                 ms(held->measured_ns), 100 * held->error()),
                     11);
  else
    out += paragraph("  ranks",
                     "no error is known: that needs steps of this kind measured at three or more "
                     "numbers of ranks, two of them above 1",
                     11);
  if (prediction.replayed_ns) {
    const cost_model::StepBase& base = prediction.base;
    out += paragraph(
        "  replay",
        fmt::format("the step {} {} rank{}, by its schedule {} ms; measured {} ms ({:+.1f}%){}",
                    base.ranks > 0 ? "at" : "that the rates are from, at", base.measured_ranks,
                    base.measured_ranks == 1 ? "" : "s", ms(*prediction.replayed_ns),
                    ms(base.measured.step_ns),
                    100 * (*prediction.replayed_ns / base.measured.step_ns - 1),
                    base.ranks > 0 ? "; predictions keep the difference" : ""),
        11);
  }
  return out;
}

std::string render_models(const std::vector<CollectiveModel>& models) {
  TextTable table({{"collective", TextTable::Align::left},
                   {"ranks"},
                   {"from"},
                   {"to"},
                   {"by", TextTable::Align::left},
                   {"alpha us"},
                   {"beta us/MB"},
                   {"resid. %"},
                   {"begins", TextTable::Align::left}});
  static const std::vector<int> k_widths{0, 0, 0, 0, 6, 11, 11, 0, 0};
  for (const CollectiveModel& model : models)
    for (const Piece& piece : model.pieces)
      base::add_wrapped_row(
          table,
          {std::string(model::to_string(model.collective)), std::to_string(model.ranks),
           base::format_bytes(piece.first_bytes), base::format_bytes(piece.last_bytes),
           piece.algorithm.empty() ? "?" : piece.algorithm + " " + piece.protocol,
           factor_text(piece.line, 0, 1e3), factor_text(piece.line, 1, 1e-3),
           fmt::format("{:.1f}", 100 * worst_residual(piece.line)),
           piece.begin == Piece::Begin::observed ? "switch" // in full the table would be too wide
                                                 : std::string(model::to_string(piece.begin))},
          k_widths);
  const bool any_switch = std::any_of(models.begin(), models.end(), [](const auto& model) {
    return std::any_of(model.pieces.begin(), model.pieces.end(),
                       [](const Piece& piece) { return piece.begin == Piece::Begin::observed; });
  });
  return "Collectives: t(m) = alpha + beta m, least squares of relative errors (+-: 95%)\n" +
         table.render(2) +
         (any_switch
              ? "  switch: NCCL was seen to take another algorithm or protocol from there on.\n"
              : "");
}

std::string render_loggp(const std::vector<cost_model::LogGp>& models) {
  if (models.empty())
    return paragraph(
        "",
        "LogGP: no data. It needs the same sizes launched back to back and one at a time "
        "(run --mode latency; --also adds that run).",
        0);
  TextTable table({{"collective", TextTable::Align::left},
                   {"ranks"},
                   {"from"},
                   {"to"},
                   {"by", TextTable::Align::left},
                   {"L us"},
                   {"o us"},
                   {"g us"},
                   {"G us/MB"}});
  static const std::vector<int> k_widths{0, 0, 0, 0, 6, 11, 0, 11, 11};
  bool any_bound = false, all_known = true;
  double worst = 0;
  for (const cost_model::LogGp& one : models) {
    const auto bound = one.is_bound_by_host();
    any_bound = any_bound || bound.value_or(false);
    all_known = all_known && bound.has_value();
    worst = std::max(worst, worst_residual(one.fit));
    base::add_wrapped_row(table,
                          {std::string(model::to_string(one.collective)), std::to_string(one.ranks),
                           base::format_bytes(one.first_bytes), base::format_bytes(one.last_bytes),
                           one.algorithm.empty() ? "?" : one.algorithm + " " + one.protocol,
                           factor_text(one.fit, 0, 1e3),
                           one.overhead_ns ? format_number(*one.overhead_ns / 1e3) : "?",
                           (bound.value_or(false) ? "<= " : "") + factor_text(one.fit, 1, 1e3),
                           factor_text(one.fit, 2, 1e-3)},
                          k_widths);
  }
  std::string notes =
      "o is the host's call for one launch. It is not in L: a single launch is timed "
      "on the device, which is kept busy until the call has returned.";
  notes += fmt::format(" Residuals: at most {:.1f}%.", 100 * worst);
  if (any_bound)
    notes += " <=: the host's calls take as long, so they set the pace and the gap itself may be "
             "shorter.";
  if (!all_known)
    notes += " ?: this run did not time the host's calls, so g is the longer of gap and overhead.";
  return "LogGP: one at a time L + (m-1) G, back to back max(g, o) + (m-1) G (+-: 95%)\n" +
         table.render(2) + paragraph("", notes, 2);
}

std::string render_predicted(const Prediction& prediction) {
  TextTable table({{"ranks"},
                   {"nodes"},
                   {"step ms"},
                   {"95%", TextTable::Align::left},
                   {"uncovered ms"},
                   {"efficiency %"},
                   {"95%", TextTable::Align::left}});
  std::string notes;
  auto add_note = [&, said = std::set<std::string>()](const std::string& note) mutable {
    if (said.insert(note).second)
      notes += paragraph("", note, 2);
  };
  for (const cost_model::Predicted& one : prediction.predicted) {
    const int node = std::max(prediction.ranks_per_node, 1);
    const std::string nodes = std::to_string((one.ranks + node - 1) / node);
    if (!one.why_not.empty()) {
      table.add_row({std::to_string(one.ranks), nodes, "-"});
      add_note(fmt::format("{} ranks: {}.", one.ranks, one.why_not));
      continue;
    }
    table.add_row({std::to_string(one.ranks), nodes, ms(one.step_ns),
                   interval_text(one.step_interval_ns, 1e6, "{:.3f}"), ms(one.exposed_ns),
                   fmt::format("{:.1f}", 100 * one.efficiency),
                   interval_text(one.efficiency_interval, 0.01, "{:.1f}")});
    if (!one.why_no_interval.empty())
      add_note(fmt::format("No interval: {}.", one.why_no_interval));
    for (const std::string& activity : one.unknown)
      add_note(fmt::format("{}: its time is not known and counts as 0.", activity));
  }
  const auto last = std::find_if(prediction.predicted.rbegin(), prediction.predicted.rend(),
                                 [](const auto& one) { return one.step_interval_ns.has_value(); });
  if (last != prediction.predicted.rend())
    add_note(
        fmt::format("Sources of the interval at {} ranks, in percent of the step: transfers "
                    "+-{:.1f}, computing +-{:.1f}, operations of another size +-{:.1f}, the stated "
                    "figures between nodes +-{:.1f}, errors of the replay +-{:.1f}.",
                    last->ranks, 100 * last->from_transfers, 100 * last->from_computing,
                    100 * last->from_sizes, 100 * last->from_inter_node, 100 * last->from_replay));
  const cost_model::StepBase& base = prediction.base;
  if (last != prediction.predicted.rend() && base.measured_ranks == 0 && base.half_width == 0.0)
    add_note("Computing is taken to be exactly as stated: a range (--tflops 350-450) widens the "
             "interval.");
  return table.render(2) + notes;
}

// None of the collectives that the step needs.
base::Error nothing_measured(const workload::StepRequest& request, const std::vector<int>& ranks) {
  std::vector<std::string> names;
  for (model::Collective one : cost_model::collectives_of(request, ranks.front()))
    names.emplace_back(model::to_string(one));
  return {base::Errc::not_found,
          fmt::format("this run has no {} of two sizes or more on two ranks or more",
                      names.empty() ? "collective" : join(names, ", ")),
          fmt::format("measure {} and add that run with --also: ncclprobe run --collectives {} "
                      "--sizes 1M:1G",
                      names.size() > 1 ? "them" : "it",
                      names.empty() ? "all_reduce" : join(names, ","))};
}

} // namespace

base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request,
                                 const std::vector<model::Run>& also) {
  const RunSummary summary(run);
  const std::vector<SettingResult> pooled = setting_results(summary);
  const std::vector<steps::StepResult> results = steps::step_results(summary, pooled);
  std::vector<cost_model::Point> points = cost_model::cost_points(summary, pooled);
  std::vector<cost_model::Point> single = cost_model::latency_points(run, pooled);
  for (const model::Run& one : also) {
    const RunSummary other(one);
    const std::vector<SettingResult> theirs = setting_results(other);
    cost_model::add_points(points, cost_model::cost_points(other, theirs));
    cost_model::add_points(single, cost_model::latency_points(other, theirs));
  }
  Prediction out{.request = request, .synthetic = is_synthetic(run)};
  out.ranks_per_node = request.ranks_per_node > 0 ? request.ranks_per_node : ranks_per_host(run);
  const cost_model::TransferCosts transfers(points, out.ranks_per_node);
  NCCLPROBE_TRY_ASSIGN(out.base, base_of(run, results, request));
  if (transfers.rank_errors().empty())
    return base::fail(nothing_measured(out.base.request, request.ranks));
  out.models = cost_model::collective_models(points);
  out.loggp = cost_model::loggp_models(points, single);
  out.left_out = cost_model::left_out(out.models);
  out.rank_errors = transfers.rank_errors();
  const cost_model::ClusterShape where{out.ranks_per_node, request.inter_node};
  if (out.base.ranks > 0) {
    out.held_out = cost_model::held_out(run, results, points, out.base.request, where);
    if (out.held_out)
      out.base.held_out_error = out.held_out->error();
  }
  if (auto times = cost_model::replayed(out.base, transfers, where))
    out.replayed_ns = times->step_ns;
  for (int ranks : request.ranks)
    out.predicted.push_back(cost_model::predict(out.base, transfers, ranks, where));
  return out;
}

std::string render_prediction(const Prediction& prediction) {
  const cost_model::StepBase& base = prediction.base;
  std::string out =
      paragraph("",
                fmt::format("Predicted steps{}: {}", prediction.synthetic ? " [SYNTHETIC]" : "",
                            describe(base.request)),
                0);
  out += "\n" + render_quality(prediction);
  out += "\n" + render_models(prediction.models);
  out += "\n" + render_loggp(prediction.loggp);
  out += "\n" + paragraph("",
                          fmt::format("Steps: computing {}; a single rank {} ms ({})", base.source,
                                      ms(base.alone_ns), base.alone_source),
                          0);
  out += render_predicted(prediction);
  out +=
      "\n" +
      paragraph(
          "",
          fmt::format("The schedule that would be run is replayed with the times of the "
                      "models: a ring over nodes of {} ranks (a tree where NCCL was seen to use "
                      "one). Uncovered is the time in which a rank does not compute. The intervals "
                      "are for one further process. They include the errors that are named there, "
                      "but not that other machines, networks or neighbours behave differently.",
                      prediction.ranks_per_node),
          0);
  return out;
}

} // namespace ncclprobe::analysis
