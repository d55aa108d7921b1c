// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/prediction_report.h"

#include "analysis/report/heading.h"
#include "analysis/report/text_layout.h"
#include "base/text_table.h"
#include "base/units.h"
#include "workload/models/model_file.h"
#include "workload/step_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace ncclprobe::analysis {
namespace {

using base::Errc;
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

using workload::StepRequest;

bool is_same(StepRequest a, StepRequest b) {
  a.model = b.model = {}; // of one name
  return a == b;
}

// The steps that the run measured of that model and that are as the user says.
base::Result<std::vector<StepRequest>> measured_steps(const std::vector<steps::StepResult>& results,
                                                      const PredictionRequest& request,
                                                      const workload::ModelSpec& model) {
  std::vector<StepRequest> found;
  std::optional<base::Error> refused;
  for (const steps::StepResult& result : results) {
    if (!result.is_default || result.step.parts != workload::StepParts::all ||
        result.step.model != model.name || !result.step.input_copy().empty() ||
        (request.sequence > 0 && result.step.sequence != request.sequence))
      continue;
    workload::ModelSpec spec = model;
    if (result.step.sequence != spec.sequence) {
      NCCLPROBE_TRY_ASSIGN(spec,
                           workload::find_model(request.model, {.sequence = result.step.sequence}));
    }
    auto measured = workload::request_of(result.step, result.label.type, std::move(spec));
    if (!measured) { // of a newer version; others may be meant
      refused = measured.error();
      continue;
    }
    StepRequest said = *measured;
    request.say(said);
    if (is_same(said, *measured) && std::none_of(found.begin(), found.end(), [&](const auto& one) {
          return is_same(one, *measured) && one.model.sequence == measured->model.sequence;
        }))
      found.push_back(std::move(*measured));
  }
  if (found.empty() && refused)
    return base::fail(std::move(*refused));
  return found;
}

std::string describe(const StepRequest& request) {
  std::string text =
      fmt::format("{} of {}, {}, batch {}", model::to_string(request.pattern),
                  printable(request.model.name), model::to_string(request.type), request.batch);
  if (request.model.sequence > 0)
    text += fmt::format(", sequence {}", request.model.sequence);
  for (const std::string& word : workload::option_words(request))
    text += ", " + word;
  return text;
}

// The one model of the run's steps.
base::Result<std::string> only_model(const std::vector<steps::StepResult>& results) {
  std::string name;
  for (const steps::StepResult& result : results) {
    if (!name.empty() && name != result.step.model)
      return base::fail(base::Error{Errc::invalid_argument, "this run has steps of several models",
                                    "say which: --model " + result.step.model});
    name = result.step.model;
  }
  if (name.empty())
    return base::fail(base::Error{Errc::not_found, "this run has no steps of training",
                                  "say of which model to predict steps: --model NAME"});
  return name;
}

base::Result<cost_model::StatedCompute> stated_compute(const PredictionRequest& request,
                                                       const StepRequest& step) {
  if (request.compute)
    return *request.compute;
  const cost_model::Flops flops = cost_model::flops_of(step.model);
  const double ns_per_flop = static_cast<double>(step.batch) / *request.flops_per_s * 1e9;
  return cost_model::StatedCompute{
      .forward_ns = flops.forward * ns_per_flop,
      .backward_ns = flops.backward * ns_per_flop,
      .source = fmt::format("products of {} samples at the stated {:g} Tflop/s", step.batch,
                            *request.flops_per_s / 1e12)};
}

base::Result<cost_model::StepBase> base_of(const model::Run& run,
                                           const std::vector<steps::StepResult>& results,
                                           PredictionRequest request) {
  if (request.model.empty()) {
    NCCLPROBE_TRY_ASSIGN(request.model, only_model(results));
  }
  NCCLPROBE_TRY_ASSIGN(const workload::ModelSpec model,
                       workload::find_model(request.model, {.sequence = request.sequence}));
  NCCLPROBE_TRY_ASSIGN(const std::vector<StepRequest> measured,
                       measured_steps(results, request, model));
  const bool stated = request.compute || request.flops_per_s;
  if (!stated && measured.size() > 1) {
    std::string steps;
    for (const StepRequest& one : measured)
      steps += (steps.empty() ? "" : "; ") + describe(one);
    return base::fail(base::Error{
        Errc::invalid_argument,
        fmt::format("this run has {} kinds of steps that are meant: {}", measured.size(), steps),
        "say which, by --workload, --batch, --type and so on"});
  }
  if (!stated && measured.size() == 1)
    if (auto base = cost_model::measured_base(run, results, measured.front(), INT32_MAX))
      return std::move(*base);
  if (!stated)
    return base::fail(
        {Errc::not_found,
         fmt::format("this run has no such step of {}, so how long it computes is not known",
                     printable(model.name)),
         "give --forward and --backward, or --tflops and --batch, or measure it: ncclprobe run "
         "--workload ddp --model " +
             request.model});
  StepRequest step;
  step.model = model;
  if (measured.size() == 1)
    step = measured.front();
  request.say(step);
  if (measured.size() != 1 && !request.says_batch && step.pattern != workload::StepPattern::ddp &&
      step.pattern != workload::StepPattern::fsdp)
    return base::fail(
        base::Error{Errc::invalid_argument,
                    fmt::format("what {} communicates depends on the samples of a step",
                                model::to_string(step.pattern)),
                    "say how many there are: --batch"});
  NCCLPROBE_TRY_ASSIGN(const cost_model::StatedCompute compute, stated_compute(request, step));
  return cost_model::stated_base(step, compute);
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
          : "no error is known: no size could be left out, as too few were measured",
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
                     "no error is known: that takes steps of this kind measured at three numbers "
                     "of ranks or more, of which two train together",
                     11);
  if (prediction.replayed_ns)
    out +=
        paragraph("  replay",
                  fmt::format("the step at {} rank{}, by its schedule {} ms; measured {} ms, and "
                              "the difference is kept",
                              prediction.base.ranks, prediction.base.ranks == 1 ? "" : "s",
                              ms(*prediction.replayed_ns), ms(prediction.base.measured.step_ns)),
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
                     std::string(model::to_string(piece.begin))});
  return "Collectives: t(m) = alpha + beta m, least squares of relative errors [95%]\n" +
         table.render(2);
}

std::string render_loggp(const std::vector<cost_model::LogGp>& models) {
  if (models.empty())
    return paragraph(
        "",
        "LogGP: not in this data, which takes the same sizes launched back to back and "
        "one at a time (run --mode latency; --also adds that run).",
        0);
  TextTable table({{"collective", TextTable::Align::left},
                   {"ranks"},
                   {"from"},
                   {"to"},
                   {"by", TextTable::Align::left},
                   {"L + 2o us"},
                   {"g us"},
                   {"G us/MB"},
                   {"residual %"}});
  for (const cost_model::LogGp& one : models)
    table.add_row({std::string(model::to_string(one.collective)), std::to_string(one.ranks),
                   base::format_bytes(one.first_bytes), base::format_bytes(one.last_bytes),
                   one.algorithm.empty() ? "?" : one.algorithm + " " + one.protocol,
                   factor_text(one.fit, 0, 1e3), factor_text(one.fit, 1, 1e3),
                   factor_text(one.fit, 2, 1e-3),
                   fmt::format("{:.1f}", 100 * worst_residual(one.fit))});
  return "LogGP: one at a time L + 2o + (m-1) G, back to back g + (m-1) G [95%]\n" +
         table.render(2) +
         paragraph("",
                   "L and o are known together only: no run has the time of the host's calls. For "
                   "the same reason g is the larger of gap and overhead.",
                   2);
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
      add_note(
          fmt::format("{}: nothing is known of its time, so it is taken to need none.", activity));
  }
  const auto last = std::find_if(prediction.predicted.rbegin(), prediction.predicted.rend(),
                                 [](const auto& one) { return one.step_interval_ns.has_value(); });
  if (last != prediction.predicted.rend())
    add_note(fmt::format("Of the interval at {} ranks: transfers +-{:.1f}%, computing +-{:.1f}%, "
                         "between nodes as stated +-{:.1f}% of the step.",
                         last->ranks, 100 * last->from_transfers, 100 * last->from_computing,
                         100 * last->from_inter_node));
  return table.render(2) + notes;
}

} // namespace

base::Result<Prediction> predict(const model::Run& run, const PredictionRequest& request,
                                 const std::vector<model::Run>& also) {
  const std::vector<SettingResult> pooled = setting_results(run);
  const std::vector<steps::StepResult> results = steps::step_results(run, pooled);
  std::vector<cost_model::Point> points = cost_model::cost_points(run, pooled);
  std::vector<cost_model::Point> single = cost_model::latency_points(run, pooled);
  for (const model::Run& other : also) {
    const std::vector<SettingResult> theirs = setting_results(other);
    cost_model::add_points(points, cost_model::cost_points(other, theirs));
    cost_model::add_points(single, cost_model::latency_points(other, theirs));
  }
  Prediction out{.request = request, .synthetic = is_synthetic(run)};
  out.ranks_per_node = request.ranks_per_node > 0 ? request.ranks_per_node : ranks_per_host(run);
  const cost_model::TransferCosts transfers(points, out.ranks_per_node);
  if (transfers.rank_errors().empty())
    return base::fail({Errc::not_found,
                       "this run has no collective of two sizes or more on two ranks or more",
                       "measure some: ncclprobe run --collectives all_reduce --sizes 1M:1G"});
  NCCLPROBE_TRY_ASSIGN(out.base, base_of(run, results, request));
  out.models = cost_model::collective_models(points);
  out.loggp = cost_model::loggp_models(points, single);
  out.left_out = cost_model::left_out(out.models);
  out.rank_errors = transfers.rank_errors();
  const cost_model::Surroundings where{out.ranks_per_node, request.inter_node};
  if (out.base.ranks > 0) {
    out.held_out = cost_model::held_out(run, results, points, out.base.request, where);
    if (auto times = cost_model::replayed(out.base, transfers, where))
      out.replayed_ns = times->step_ns;
  }
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
                          fmt::format("Steps: computing {}; a rank by itself {} ms ({})",
                                      base.source, ms(base.alone_ns), base.alone_source),
                          0);
  out += render_predicted(prediction);
  out += "\n" +
         paragraph("",
                   fmt::format(
                       "The schedule that would be run is replayed with the times of the "
                       "models: a ring over nodes of {} ranks (a tree where NCCL was seen to use "
                       "one). Exposed is what is not computed in. The intervals are of one further "
                       "process; they hold what is named there, not that other machines, "
                       "networks or neighbours behave otherwise.",
                       prediction.ranks_per_node),
                   0);
  return out;
}

} // namespace ncclprobe::analysis
