// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/prediction_report.h"

#include "analysis/report/heading.h"
#include "analysis/report/text_layout.h"
#include "base/text_table.h"
#include "base/units.h"
#include "workload/models/catalogue.h"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace ncclprobe::analysis {
namespace {

using base::Errc;
using base::TextTable;
using cost_model::CollectiveModel;
using cost_model::Fit;
using cost_model::Piece;
using Json = nlohmann::ordered_json;

// The most ranks of any host; 0 for a run without any.
int ranks_per_host(const model::Run& run) {
  std::map<int, int> counts;
  int most = 0;
  for (const model::RankPlace& place : run.header.ranks)
    most = std::max(most, ++counts[place.host]);
  return most;
}

base::Result<cost_model::DdpStep> step_of(const model::Run& run,
                                          const std::vector<steps::StepResult>& results,
                                          const PredictionRequest& request) {
  if (!request.compute && !request.flops_per_s)
    if (auto step = cost_model::measured_step(run, results, request.model, INT32_MAX))
      return std::move(*step);
  NCCLPROBE_TRY_ASSIGN(const workload::ModelSpec spec,
                       workload::make_model(request.model, {.sequence = request.sequence}));
  cost_model::StatedCompute compute;
  if (request.compute) {
    compute = *request.compute;
  } else if (request.flops_per_s && request.batch > 0) {
    const cost_model::Flops flops = cost_model::flops_of(spec);
    const double ns_per_flop = static_cast<double>(request.batch) / *request.flops_per_s * 1e9;
    compute = {.forward_ns = flops.forward * ns_per_flop,
               .backward_ns = flops.backward * ns_per_flop,
               .source = fmt::format("products of {} samples at the stated {:g} Tflop/s",
                                     request.batch, *request.flops_per_s / 1e12)};
  } else {
    return base::fail(
        {Errc::not_found,
         fmt::format(
             "this run has no data parallel step of {} on two ranks or more, so how long it "
             "computes is not known",
             request.model),
         "give --forward and --backward in ms, or --tflops and --batch, or measure it: ncclprobe "
         "run --workload ddp --model " +
             request.model});
  }
  return cost_model::stated_step(spec, request.type, request.bucket_bytes, compute);
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

// "11.2 [10.1, 12.3]"
std::string factor_text(const Fit& line, std::size_t factor, double unit) {
  std::string text = format_number(line.factors[factor] / unit);
  return line.intervals[factor] ? text + " " + interval_text(line.intervals[factor], unit, "{:.3g}")
                                : text;
}

double worst_residual(const Fit& line) {
  double worst = 0;
  for (double residual : line.residuals)
    worst = std::max(worst, std::abs(residual));
  return worst;
}

std::string_view begin_text(Piece::Begin begin) {
  switch (begin) {
  case Piece::Begin::observed:
    return "NCCL switches";
  case Piece::Begin::fitted:
    return "fit";
  case Piece::Begin::first:
    break;
  }
  return "";
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
          : "no error is known: no size could be left out, as too few were measured",
      11);
  if (const auto& held = prediction.held_out)
    out += paragraph("  ranks",
                     fmt::format("the step at {} ranks, predicted from {}: {} ms; measured {} ms "
                                 "({:+.1f}%)",
                                 held->predicted.ranks, fmt::join(held->from_ranks, ", "),
                                 ms(held->predicted.step_ns), ms(held->measured_ns),
                                 100 * held->error()),
                     11);
  else
    out += paragraph("  ranks",
                     "no error is known: that takes steps of this model measured at three numbers "
                     "of ranks or more, of which two train together",
                     11);
  if (prediction.modelled_exposed_ns)
    out += paragraph("  exposed",
                     fmt::format("transfer at {} ranks, measured {} ms; by the buckets alone {} ms",
                                 prediction.step.ranks, ms(prediction.step.measured_exposed_ns),
                                 ms(*prediction.modelled_exposed_ns)),
                     11);
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
                   {"residual %"},
                   {"begins", TextTable::Align::left}});
  for (const CollectiveModel& model : models)
    for (const Piece& piece : model.pieces)
      table.add_row({std::string(model::to_string(model.collective)), std::to_string(model.ranks),
                     base::format_bytes(piece.first_bytes), base::format_bytes(piece.last_bytes),
                     piece.algorithm.empty() ? "?" : piece.algorithm + " " + piece.protocol,
                     factor_text(piece.line, 0, 1e3), factor_text(piece.line, 1, 1e-3),
                     fmt::format("{:.1f}", 100 * worst_residual(piece.line)),
                     std::string(begin_text(piece.begin))});
  return "Collectives: t(m) = alpha + beta m, least squares of relative errors [95%]\n" +
         table.render(2);
}

std::string render_predicted(const Prediction& prediction) {
  TextTable table({{"ranks"},
                   {"nodes"},
                   {"step ms"},
                   {"95%", TextTable::Align::left},
                   {"exposed ms"},
                   {"efficiency %"},
                   {"95%", TextTable::Align::left}});
  std::string notes;
  for (const cost_model::Predicted& one : prediction.predicted) {
    const int node = std::max(prediction.ranks_per_node, 1);
    const std::string nodes = std::to_string((one.ranks + node - 1) / node);
    if (!one.why_not.empty()) {
      table.add_row({std::to_string(one.ranks), nodes, "-"});
      notes += paragraph("", fmt::format("{} ranks: {}.", one.ranks, one.why_not), 2);
      continue;
    }
    table.add_row({std::to_string(one.ranks), nodes, ms(one.step_ns),
                   interval_text(one.step_interval_ns, 1e6, "{:.3f}"), ms(one.exposed_ns),
                   fmt::format("{:.1f}", 100 * one.efficiency),
                   interval_text(one.efficiency_interval, 0.01, "{:.1f}")});
  }
  return table.render(2) + notes;
}

Json interval_json(const std::optional<Interval>& interval, double unit) {
  return interval ? Json{interval->low / unit, interval->high / unit} : Json(nullptr);
}

Json model_json(const CollectiveModel& model) {
  Json pieces = Json::array();
  for (const Piece& piece : model.pieces)
    pieces.push_back({{"first_bytes", piece.first_bytes},
                      {"last_bytes", piece.last_bytes},
                      {"algorithm", piece.algorithm},
                      {"protocol", piece.protocol},
                      {"begins", begin_text(piece.begin)},
                      {"alpha_us", piece.alpha_ns() / 1e3},
                      {"alpha_interval_us", interval_json(piece.line.intervals[0], 1e3)},
                      {"beta_us_per_mb", piece.beta_ns_per_byte() * 1e3},
                      {"beta_interval_us_per_mb", interval_json(piece.line.intervals[1], 1e-3)},
                      {"residuals", piece.line.residuals}});
  return {{"collective", model::to_string(model.collective)},
          {"ranks", model.ranks},
          {"points", model.points},
          {"left_out_errors", model.left_out_errors},
          {"pieces", std::move(pieces)}};
}

Json predicted_json(const cost_model::Predicted& one) {
  if (!one.why_not.empty())
    return {{"ranks", one.ranks}, {"why_not", one.why_not}};
  return {{"ranks", one.ranks},
          {"step_ms", one.step_ns / 1e6},
          {"step_interval_ms", interval_json(one.step_interval_ns, 1e6)},
          {"exposed_ms", one.exposed_ns / 1e6},
          {"efficiency", one.efficiency},
          {"efficiency_interval", interval_json(one.efficiency_interval, 1)}};
}

} // namespace

base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request) {
  const std::vector<SettingResult> pooled = setting_results(run);
  const std::vector<steps::StepResult> results = steps::step_results(run, pooled);
  const std::vector<cost_model::Point> points = cost_model::cost_points(run, pooled);
  Prediction out{.request = request, .synthetic = is_synthetic(run)};
  out.ranks_per_node = request.ranks_per_node > 0 ? request.ranks_per_node : ranks_per_host(run);
  auto collectives =
      cost_model::RankModel::fit(points, model::Collective::all_reduce, out.ranks_per_node);
  if (!collectives)
    return base::fail({Errc::not_found,
                       "this run has no all-reduce of two sizes or more on two ranks or more",
                       "measure some: ncclprobe run --collectives all_reduce --sizes 1M:1G"});
  NCCLPROBE_TRY_ASSIGN(out.step, step_of(run, results, request));
  out.models = cost_model::collective_models(points);
  out.left_out = cost_model::left_out(out.models);
  if (out.step.ranks > 0) {
    out.held_out = cost_model::held_out(run, results, points, request.model, out.ranks_per_node,
                                        request.inter_node);
    out.modelled_exposed_ns =
        cost_model::modelled_exposed_ns(out.step, *collectives, out.step.ranks, request.inter_node);
  }
  const std::optional<double> error =
      out.left_out ? std::optional(out.left_out->largest) : std::nullopt;
  for (int ranks : request.ranks)
    out.predicted.push_back(
        cost_model::predict(out.step, *collectives, ranks, request.inter_node, error));
  return out;
}

std::string render_prediction(const Prediction& prediction) {
  std::string out = paragraph("",
                              fmt::format("Predicted data parallel steps of {}{}",
                                          printable(prediction.request.model),
                                          prediction.synthetic ? " [SYNTHETIC]" : ""),
                              0);
  out += "\n" + render_quality(prediction);
  out += "\n" + render_models(prediction.models);
  out += "\n" + paragraph("",
                          fmt::format("Steps: computing {}; {} buckets; a rank by itself {} ms",
                                      prediction.step.source, prediction.step.buckets.size(),
                                      ms(prediction.step.alone_ns)),
                          0);
  out += render_predicted(prediction);
  out += "\n" +
         paragraph("",
                   fmt::format(
                       "A ring over nodes of {} ranks (a tree where NCCL was seen to use one). The "
                       "intervals hold the scatter of what was measured, not that other machines, "
                       "networks or neighbours behave otherwise. LogGP is not fitted: the run "
                       "has no times of the host's calls and no gaps between messages.",
                       prediction.ranks_per_node),
                   0);
  return out;
}

std::string render_prediction_json(const Prediction& prediction) {
  Json out{{"schema", "ncclprobe.prediction"},
           {"version", 1},
           {"synthetic", prediction.synthetic},
           {"model", prediction.request.model},
           {"ranks_per_node", prediction.ranks_per_node}};
  const auto& left = prediction.left_out;
  out["left_out_sizes"] = left ? Json{{"median_error", left->median},
                                      {"largest_error", left->largest},
                                      {"sizes", left->sizes}}
                               : Json(nullptr);
  const auto& held = prediction.held_out;
  out["held_out_step"] = held ? Json{{"ranks", held->predicted.ranks},
                                     {"from_ranks", held->from_ranks},
                                     {"predicted_ms", held->predicted.step_ns / 1e6},
                                     {"measured_ms", held->measured_ns / 1e6},
                                     {"error", held->error()}}
                              : Json(nullptr);
  out["computing"] = prediction.step.source;
  out["alone_ms"] = prediction.step.alone_ns / 1e6;
  out["collectives"] = Json::array();
  for (const CollectiveModel& model : prediction.models)
    out["collectives"].push_back(model_json(model));
  out["predicted"] = Json::array();
  for (const cost_model::Predicted& one : prediction.predicted)
    out["predicted"].push_back(predicted_json(one));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
