// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_json.h"

#include "analysis/report/break_even_section.h"
#include "analysis/report/heading.h"
#include "analysis/report/json_values.h"
#include "analysis/report/step_section.h"
#include "analysis/results/conditions.h"
#include "analysis/steps/input_copies.h"
#include "analysis/steps/overlap.h"
#include "analysis/steps/product_alignment.h"
#include "analysis/steps/scaling.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json;
using steps::StepResult;
using steps::StepTimes;

Json estimate_json(const std::optional<Estimate>& estimate) {
  if (!estimate)
    return nullptr;
  return {{"value", rounded(estimate->value)},
          {"interval", rounded_interval(estimate->interval)},
          {"processes", estimate->processes}};
}

Json times_json(const StepTimes& times) {
  return {{"step_ms", rounded_ms(times.step_ns)},
          {"forward_ms", rounded_ms(times.forward_ns)},
          {"backward_ms", rounded_ms(times.backward_ns)},
          {"optimizer_ms", rounded_ms(times.optimizer_ns)},
          {"prepare_ms", rounded_ms(times.prepare_ns)},
          {"compute_ms", rounded_ms(times.compute_ns)},
          {"communication_ms", rounded_ms(times.communication_ns)},
          {"covered_ms", rounded_ms(times.hidden_ns)},
          {"uncovered_wait_ms", rounded_ms(times.exposed_wait_ns)},
          {"uncovered_transfer_ms", rounded_ms(times.exposed_transfer_ns)},
          {"uncovered_copy_ms", rounded_ms(times.exposed_copy_ns)},
          {"copy_ms", rounded_ms(times.copy_ns)},
          {"idle_ms", rounded_ms(times.idle_ns)}};
}

// What it is, without its figures.
Json identity_json(const StepResult& result, bool synthetic) {
  return {{"synthetic", synthetic},
          {"setting", result.setting},
          {"is_default", result.is_default},
          {"workload", result.label.workload},
          {"model", result.step.model},
          {"type", model::to_string(result.label.type)},
          {"batch", result.step.batch},
          {"sequence", result.step.sequence},
          {"options", result.step.options},
          {"ranks", result.step.ranks},
          {"parts", model::to_string(result.step.parts)},
          {"bytes", result.label.bytes}};
}

Json by_kernels_json(const std::optional<steps::ByKernels>& found) {
  if (!found)
    return nullptr;
  return {{"trial", found->trial},
          {"steps", found->steps},
          {"step_ms", rounded_ms(found->step_ns)},
          {"compute_ms", rounded_ms(found->compute_ns)},
          {"communication_ms", rounded_ms(found->communication_ns)},
          {"hidden_ms", rounded_ms(found->hidden_ns)},
          {"exposed_ms", rounded_ms(found->exposed_ns)}};
}

Json step_json(const StepResult& result, bool synthetic) {
  Json out = identity_json(result, synthetic);
  out["data"] = model::to_string(result.data);
  out["processes"] = result.processes.size();
  out["refused"] = result.refusals;
  if (!result.processes.empty()) {
    out.update(times_json(result.times));
    out["step_interval_ms"] = rounded_interval(result.interval_ns, 1e6);
    out["stragglers_ms"] = rounded_ms(result.stragglers_ns);
  }
  out["by_kernels"] = by_kernels_json(result.by_kernels);
  out["most_memory_bytes"] = result.most_memory_bytes ? Json(*result.most_memory_bytes) : nullptr;
  out["sm_clock_mhz"] = result.sm_clock_mhz ? Json(*result.sm_clock_mhz) : nullptr;
  out["throttle_reasons"] = throttle_text(result.throttle_reasons);
  out["by_rank"] = Json::array();
  for (const auto& [rank, times] : result.ranks) {
    Json one{{"rank", rank}};
    one.update(times_json(times));
    out["by_rank"].push_back(std::move(one));
  }
  if (result.unmatched_messages() > 0)
    out["unmatched_messages"] = result.unmatched_messages();
  out["buckets"] = Json::array();
  for (const steps::BucketTimes& bucket : result.buckets)
    out["buckets"].push_back({{"label", bucket.label},
                              {"ranks", bucket.ranks},
                              {"ready_ms", rounded_ms(bucket.ready_ns)},
                              {"begin_ms", rounded_ms(bucket.begin_ns)},
                              {"end_ms", rounded_ms(bucket.end_ns)},
                              {"transfer_ms", rounded_ms(bucket.transfer_ns)},
                              {"wait_known", bucket.wait_known}});
  return out;
}

Json account_json(const steps::LossAccount& account) {
  Json terms = Json::object();
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    terms[std::string(name)] = account.of(loss);
  terms["sum"] = account.sum();
  return terms;
}

Json input_copies_json(const std::vector<StepResult>& all, bool synthetic) {
  Json out = Json::array();
  const steps::CopyComparisons comparisons = steps::copy_comparisons(all);
  for (const steps::CopyComparison& comparison : comparisons.all) {
    Json one = identity_json(*comparison.after, synthetic);
    one["copy"] = comparison.after->step.input_copy();
    std::string_view before = comparison.before->step.input_copy();
    one["against"] = before.empty() ? "none" : before;
    for (const auto& [name, gb_per_s] :
         {std::pair{"alone_gb_per_s", comparison.alone_gb_per_s},
          std::pair{"in_step_gb_per_s", comparison.in_step_gb_per_s}})
      one[name] = gb_per_s ? rounded(*gb_per_s) : Json(nullptr);
    one["effects"] = Json::array();
    for (const steps::CopyEffect& effect : comparison.effects)
      one["effects"].push_back(
          {{"what", model::to_string(effect.what)},
           {"before_ms", rounded_ms(effect.before_ns)},
           {"after_ms", rounded_ms(effect.after_ns)},
           {"ratio", rounded(effect.ratio)},
           {"interval",
            rounded_interval(effect.test ? std::optional(effect.test->interval) : std::nullopt)},
           {"adjusted_p", effect.adjusted_p ? rounded(*effect.adjusted_p) : Json(nullptr)},
           {"detectable_ratio", effect.detectable ? rounded(*effect.detectable) : Json(nullptr)},
           {"verdict", model::to_string(effect.verdict)},
           {"why_not_decided", effect.why_not_decided}});
    one["noise_ratio"] = comparisons.floor ? rounded(*comparisons.floor) : Json(nullptr);
    one["account"] = comparison.account ? account_json(*comparison.account) : Json(nullptr);
    out.push_back(std::move(one));
  }
  return out;
}

Json point_json(const steps::ScalingPoint& point) {
  const steps::LossAccount& account = point.account;
  Json terms = Json::object();
  std::size_t i = 0;
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    terms[std::string(name)] = {{"share", account.of(loss)},
                                {"interval", rounded_interval(point.intervals[i++])}};
  return {{"ranks", point.result->step.ranks},
          {"step_ms", rounded_ms(point.step_ns)},
          {"efficiency", estimate_json(point.efficiency)},
          {"lost", 1 - point.efficiency.value},
          {"account", std::move(terms)},
          {"account_sum", account.sum()},
          {"slowdown_known", account.slowdown_known},
          {"clocks_known", account.clocks_known},
          {"remarks", point.remarks},
          {"in_words", steps::verdict_sentence(point)}};
}

} // namespace

Json steps_json(const RunSummary& run, const std::vector<SettingResult>& results,
                const steps::TracedCells& traced) {
  const std::vector<StepResult> all = steps::step_results(run, results, traced);
  if (all.empty())
    return nullptr;
  const bool synthetic = is_synthetic(run);
  Json out{{"steps", Json::array()},
           {"overlap", Json::array()},
           {"scaling", Json::array()},
           {"break_even", Json::array()},
           {"input_copies", input_copies_json(all, synthetic)}};
  for (const StepResult& result : all)
    out["steps"].push_back(step_json(result, synthetic));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (auto products = steps::product_alignment(run, all[i])) {
      out["steps"][i]["tensor_core_products"] = products->products;
      out["steps"][i]["unaligned_products"] = products->unaligned;
    }
  for (const ChannelsOfStep& one : channels_of_steps(run, all))
    out["steps"][static_cast<std::size_t>(one.result - all.data())]["channels"] = one.channels;
  for (const steps::Overlap& one : steps::overlaps(all)) {
    Json overlap = identity_json(*one.all, synthetic);
    overlap["step_ms"] = rounded_ms(one.all->times.step_ns);
    overlap["compute_alone_ms"] = rounded_ms(one.compute->times.step_ns);
    overlap["communication_alone_ms"] = rounded_ms(one.communication->times.step_ns);
    overlap["overlap_efficiency"] = estimate_json(one.efficiency);
    overlap["compute_slowdown"] = estimate_json(one.compute_slowdown);
    overlap["communication_slowdown"] = estimate_json(one.communication_slowdown);
    out["overlap"].push_back(std::move(overlap));
  }
  for (const steps::BreakEven& one : steps::break_evens(all)) {
    Json break_even = identity_json(*one.result, synthetic);
    break_even.update(break_even_json(one));
    out["break_even"].push_back(std::move(break_even));
  }
  for (const steps::Scaling& scaling : steps::scalings(all)) {
    Json one = identity_json(*scaling.points.front().result, synthetic);
    one["kind"] = model::to_string(scaling.kind);
    one["points"] = Json::array();
    for (const steps::ScalingPoint& point : scaling.points)
      one["points"].push_back(point_json(point));
    out["scaling"].push_back(std::move(one));
  }
  return out;
}

} // namespace ncclprobe::analysis
