// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/measured_rates.h"

#include "analysis/steps/measured_cell.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace ncclprobe::analysis::cost_model {

using steps::StepResult;

std::optional<double> half_width_of(const std::vector<double>& times) {
  if (times.size() < 2)
    return std::nullopt;
  const auto n = static_cast<double>(times.size());
  double mean = 0, squares = 0;
  for (double time : times)
    mean += std::log(time) / n;
  for (double time : times)
    squares += std::pow(std::log(time) - mean, 2);
  return student_quantile(n - 1, k_confidence) * std::sqrt(squares / (n - 1) * (1 + 1 / n));
}

std::vector<double> rests_of(const StepResult& result) {
  std::vector<double> rests_ns;
  for (const steps::StepProcess& process : result.processes)
    if (const steps::StepTimes& times = process.figures.times; times.step_ns > times.exposed_ns())
      rests_ns.push_back(times.step_ns - times.exposed_ns());
  return rests_ns;
}

bool MeasuredRates::has_products() const {
  using enum model::Activity;
  return works.rate(forward, Work::Kind::product) && works.rate(backward, Work::Kind::product);
}

std::vector<MeasuredRates> measured_rates(const model::Run& run,
                                          const std::vector<StepResult>& results) {
  std::vector<MeasuredRates> out;
  for (const StepResult& result : results) {
    if (!result.is_default || result.data == DataState::wrong || result.processes.empty() ||
        result.step.parts != model::StepParts::all || result.step.copies_input())
      continue;
    const model::Cell* cell = steps::cell_of(run, result);
    if (!cell)
      continue;
    auto program = StepProgram::of(cell->schedule, steps::hosts_of(run));
    if (!program)
      continue;
    WorkCosts works = WorkCosts::measured(run, result, *program);
    double flops = 0;
    for (const Work& work : program->works())
      flops += work.kind == Work::Kind::product ? work.amount : 0;
    out.push_back({&result, std::move(*program), std::move(works), flops});
  }
  std::stable_sort(out.begin(), out.end(), [](const MeasuredRates& a, const MeasuredRates& b) {
    return std::tuple(-a.product_flops, -static_cast<int>(a.result->step.ranks.size())) <
           std::tuple(-b.product_flops, -static_cast<int>(b.result->step.ranks.size()));
  });
  return out;
}

std::optional<double> spread_of_rates(const std::vector<MeasuredRates>& rates) {
  double weights = 0, squares = 0;
  std::size_t sizes = 0, means = 0;
  for (auto activity : {model::Activity::forward, model::Activity::backward}) {
    // A size that occurs in several steps counts once, from the first of them.
    std::map<double, WorkCosts::Deviation> by_amount;
    for (const MeasuredRates& one : rates) {
      const auto mean = rates.front().works.rate(activity, Work::Kind::product);
      const auto own = one.works.rate(activity, Work::Kind::product);
      if (!mean || !own)
        continue;
      for (WorkCosts::Deviation deviation : one.works.product_deviations(activity)) {
        deviation.log_ratio += std::log(*own / *mean); // relative to the used rate
        by_amount.try_emplace(deviation.amount, deviation);
      }
    }
    for (const auto& [amount, one] : by_amount) {
      weights += one.time_ns;
      squares += one.time_ns * one.log_ratio * one.log_ratio;
    }
    sizes += by_amount.size();
    means += by_amount.empty() ? 0 : 1;
  }
  if (sizes <= means || !(weights > 0))
    return std::nullopt;
  const auto freedom = static_cast<double>(sizes - means);
  return student_quantile(freedom, k_confidence) *
         std::sqrt(squares / weights * static_cast<double>(sizes) / freedom);
}

std::string rates_in_words(const WorkCosts& works) {
  auto tflops = [&](model::Activity activity) {
    return 1e-3 / works.rate(activity, Work::Kind::product).value_or(1); // flop/ns to Tflop/s
  };
  return fmt::format("{:.3g} Tflop/s forward and {:.3g} backward", tflops(model::Activity::forward),
                     tflops(model::Activity::backward));
}

} // namespace ncclprobe::analysis::cost_model
