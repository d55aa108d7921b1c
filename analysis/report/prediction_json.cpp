// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/json_values.h"
#include "analysis/report/prediction_report.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using cost_model::CollectiveModel;
using cost_model::Piece;
using Json = nlohmann::ordered_json;

Json model_json(const CollectiveModel& model) {
  Json pieces = Json::array();
  for (const Piece& piece : model.pieces)
    pieces.push_back({{"first_bytes", piece.first_bytes},
                      {"last_bytes", piece.last_bytes},
                      {"algorithm", piece.algorithm},
                      {"protocol", piece.protocol},
                      {"begins", model::to_string(piece.begin)},
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

// o: null where the host's calls were not timed.
Json loggp_json(const cost_model::LogGp& one) {
  return {{"collective", model::to_string(one.collective)},
          {"ranks", one.ranks},
          {"first_bytes", one.first_bytes},
          {"last_bytes", one.last_bytes},
          {"algorithm", one.algorithm},
          {"protocol", one.protocol},
          {"L_us", one.latency_ns() / 1e3},
          {"L_interval_us", interval_json(one.fit.intervals[0], 1e3)},
          {"o_us", one.overhead_ns ? Json(*one.overhead_ns / 1e3) : Json(nullptr)},
          {"bound_by_host", one.is_bound_by_host() ? Json(*one.is_bound_by_host()) : Json(nullptr)},
          {"g_us", one.gap_ns() / 1e3},
          {"g_interval_us", interval_json(one.fit.intervals[1], 1e3)},
          {"G_us_per_mb", one.gap_per_byte_ns() * 1e3},
          {"G_interval_us_per_mb", interval_json(one.fit.intervals[2], 1e-3)},
          {"residuals", one.fit.residuals}};
}

Json predicted_json(const cost_model::Predicted& one) {
  if (!one.why_not.empty())
    return {{"ranks", one.ranks}, {"why_not", one.why_not}};
  return {{"ranks", one.ranks},
          {"step_ms", one.step_ns / 1e6},
          {"step_interval_ms", interval_json(one.step_interval_ns, 1e6)},
          {"uncovered_ms", one.exposed_ns / 1e6},
          {"efficiency", one.efficiency},
          {"efficiency_interval", interval_json(one.efficiency_interval, 1)},
          {"why_no_interval", one.why_no_interval},
          {"half_width",
           {{"transfers", one.from_transfers},
            {"computing", one.from_computing},
            {"sizes", one.from_sizes},
            {"inter_node", one.from_inter_node},
            {"replay", one.from_replay}}},
          {"taken_to_need_no_time", one.unknown}};
}

} // namespace

std::string render_prediction_json(const Prediction& prediction) {
  Json out{{"schema", "ncclprobe.prediction"},
           {"version", 3},
           {"synthetic", prediction.synthetic},
           {"workload", model::to_string(prediction.base.request.pattern)},
           {"model", prediction.base.request.model.name},
           {"ranks_per_node", prediction.ranks_per_node}};
  const auto& left = prediction.left_out;
  out["left_out_sizes"] = left ? Json{{"median_error", left->median},
                                      {"largest_error", left->largest},
                                      {"sizes", left->sizes}}
                               : Json(nullptr);
  out["left_out_ranks"] = Json::array();
  for (const auto& [collective, errors] : prediction.rank_errors) {
    Json relative = Json::array();
    for (const auto& one : errors.errors)
      relative.push_back(one.relative);
    out["left_out_ranks"].push_back({{"collective", model::to_string(collective)},
                                     {"measured", errors.measured},
                                     {"left_out", errors.left_out},
                                     {"errors", std::move(relative)}});
  }
  const auto& held = prediction.held_out;
  out["held_out_step"] =
      held ? Json{{"ranks", held->predicted.ranks},
                  {"from_ranks", held->from_ranks},
                  {"predicted_ms", held->predicted.step_ns / 1e6},
                  {"predicted_interval_ms", interval_json(held->predicted.step_interval_ns, 1e6)},
                  {"measured_ms", held->measured_ns / 1e6},
                  {"error", held->error()}}
           : Json(nullptr);
  out["computing"] = prediction.base.source;
  out["alone_ms"] = prediction.base.alone_ns / 1e6;
  out["alone"] = prediction.base.alone_source;
  out["replayed_ms"] = prediction.replayed_ns ? Json(*prediction.replayed_ns / 1e6) : Json(nullptr);
  out["collectives"] = Json::array();
  for (const CollectiveModel& model : prediction.models)
    out["collectives"].push_back(model_json(model));
  out["loggp"] = Json::array();
  for (const cost_model::LogGp& one : prediction.loggp)
    out["loggp"].push_back(loggp_json(one));
  out["predicted"] = Json::array();
  for (const cost_model::Predicted& one : prediction.predicted)
    out["predicted"].push_back(predicted_json(one));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace ncclprobe::analysis
