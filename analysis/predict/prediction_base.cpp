// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/prediction_base.h"

#include "base/printable.h"
#include "workload/models/model_file.h"
#include "workload/step_cells.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace ncclprobe::analysis {
namespace {

using cost_model::MeasuredRates;
using workload::StepRequest;

bool is_same(StepRequest a, StepRequest b) {
  a.model = b.model = {}; // of one name
  return a == b;
}

// The measured steps of that model that match the user's options.
base::Result<std::vector<StepRequest>> measured_steps(const std::vector<steps::StepResult>& results,
                                                      const PredictionRequest& request,
                                                      const workload::ModelSpec& model) {
  std::vector<StepRequest> found;
  std::optional<base::Error> refused;
  for (const steps::StepResult& result : results) {
    if (!result.is_default || result.step.parts != model::StepParts::all ||
        result.step.model != model.name || result.step.copies_input() ||
        (request.sequence > 0 && result.step.sequence != request.sequence))
      continue;
    workload::ModelSpec spec = model;
    if (result.step.sequence != spec.sequence) {
      NCCLPROBE_TRY_ASSIGN(spec,
                           workload::find_model(request.model, {.sequence = result.step.sequence}));
    }
    auto measured = workload::request_of(result.step, std::move(spec));
    if (!measured) { // from a newer version; others may match
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

// The only model of the run's steps.
base::Result<std::string> only_model(const std::vector<steps::StepResult>& results) {
  std::string name;
  for (const steps::StepResult& result : results) {
    if (!name.empty() && name != result.step.model)
      return base::fail(base::Error{Errc::invalid_argument, "this run has steps of several models",
                                    "select one: --model " + result.step.model});
    name = result.step.model;
  }
  if (name.empty())
    return base::fail(base::Error{Errc::not_found, "this run has no training steps",
                                  "select the model to predict: --model NAME"});
  return name;
}

// The measured rates of any model, applied to this one.
struct Other {
  StepRequest step; // as the user states, otherwise as measured
  MeasuredRates rates;
};
// Of the type that the user names, else of any; those of the requested pattern first.
std::vector<Other> other_steps(const model::Run& run, const std::vector<steps::StepResult>& results,
                               const PredictionRequest& request, const workload::ModelSpec& model) {
  std::vector<Other> others;
  for (MeasuredRates& rates : cost_model::measured_rates(run, results)) {
    auto measured = workload::request_of(rates.result->step, model);
    if (!measured)
      continue; // from a newer version
    StepRequest said = *measured;
    request.say(said);
    if (said.type == measured->type)
      others.push_back({std::move(said), std::move(rates)});
  }
  std::stable_partition(others.begin(), others.end(), [](const Other& one) {
    return one.step.pattern == one.rates.result->step.options.pattern;
  });
  return others;
}

// Rates of one type say nothing about another.
base::Result<void> check_one_type(const std::vector<Other>& others) {
  std::set<std::string_view> types;
  for (const Other& one : others)
    types.insert(model::to_string(one.step.type));
  if (types.size() < 2)
    return {};
  return base::fail(base::Error{
      Errc::invalid_argument,
      fmt::format("this run has steps of several data types: {}", fmt::join(types, ", ")),
      fmt::format("say which is meant: --type {}", *types.begin())});
}

base::Result<cost_model::StepBase> stated_step(const PredictionRequest& request,
                                               const std::vector<StepRequest>& measured,
                                               const std::vector<Other>& others,
                                               const workload::ModelSpec& model) {
  StepRequest step;
  step.model = model;
  if (measured.size() == 1) {
    step = measured.front();
  } else if (!others.empty()) {
    NCCLPROBE_TRY(check_one_type(others));
    step.type = others.front().step.type;
  }
  request.say(step);
  if (measured.size() != 1 && !request.says_batch && step.pattern != model::StepPattern::ddp &&
      step.pattern != model::StepPattern::fsdp)
    return base::fail(base::Error{
        Errc::invalid_argument,
        fmt::format("the communication of {} depends on the samples per step",
                    model::to_string(step.pattern)),
        request.of_nodes_file ? "give batch of the workload" : "give their number: --batch"});
  const cost_model::StatedCompute compute =
      request.compute ? *request.compute : cost_model::stated_at_rate(step, *request.flops_per_s);
  std::vector<MeasuredRates> rates;
  for (const Other& one : others)
    if (one.step.type == step.type)
      rates.push_back(one.rates);
  return cost_model::stated_base(step, compute, rates);
}

} // namespace

std::string describe(const StepRequest& request) {
  std::string text = fmt::format("{} of {}, {}, batch {}", model::to_string(request.pattern),
                                 base::printable(request.model.name),
                                 model::to_string(request.type), request.batch);
  if (request.model.sequence > 0)
    text += fmt::format(", sequence {}", request.model.sequence);
  for (const std::string& word : request.words())
    text += ", " + word;
  return text;
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
  const std::vector<Other> others = other_steps(run, results, request, model);
  if (request.compute || request.flops_per_s)
    return stated_step(request, measured, others, model);
  if (measured.size() > 1) {
    std::string steps;
    for (const StepRequest& one : measured)
      steps += (steps.empty() ? "" : "; ") + describe(one);
    return base::fail(base::Error{
        Errc::invalid_argument,
        fmt::format("{} kinds of steps of this run match: {}", measured.size(), steps),
        request.of_nodes_file ? "select one with batch, sequence and type of the workload"
                              : "select one with --workload, --batch, --type and so on"});
  }
  if (measured.size() == 1)
    if (auto base = cost_model::measured_base(run, results, measured.front(), INT32_MAX))
      return std::move(*base);
  NCCLPROBE_TRY(check_one_type(others));
  std::vector<MeasuredRates> rates;
  const Other* like = nullptr;
  for (const Other& one : others) {
    rates.push_back(one.rates);
    if (!like && one.rates.has_products())
      like = &one;
  }
  if (like)
    return cost_model::rated_base(like->step, rates);
  return base::fail(
      {Errc::not_found,
       fmt::format(
           "this run has no such step of {}, and no step of another model from which to take "
           "the rate of matrix products of this type",
           base::printable(model.name)),
       fmt::format("{}: ncclprobe run --workload ddp --model {}",
                   request.of_nodes_file
                       ? "measure it and add that run to the runs of the node"
                       : "give --forward and --backward, or --tflops and --batch, or measure it",
                   request.model)});
}

} // namespace ncclprobe::analysis
