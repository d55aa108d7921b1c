// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/agreement.h"

#include "analysis/statistics/inference.h"

#include <fmt/ranges.h>

#include <cmath>

namespace ncclprobe::analysis::steps {
namespace {

struct Quantity {
  const char* name;
  double (*of_marks)(const StepTimes&);
  std::int64_t (*of_trace)(const timeline::TimeParts&);
  bool (*is_counted)(model::Activity);
  bool is_optional = false; // omitted if nothing counts
};

constexpr Quantity k_quantities[]{
    {"step", [](const StepTimes& t) { return t.step_ns; },
     [](const timeline::TimeParts& p) { return p.length_ns; },
     [](model::Activity) { return false; }},
    {"computation", [](const StepTimes& t) { return t.compute_ns; },
     [](const timeline::TimeParts& p) { return p.compute_ns; },
     [](model::Activity a) {
       return a != model::Activity::communication && a != model::Activity::note &&
              a != model::Activity::host_copy;
     }},
    {"communication", [](const StepTimes& t) { return t.communication_ns; },
     [](const timeline::TimeParts& p) { return p.communication_ns; },
     [](model::Activity a) { return a == model::Activity::communication; }},
    {"communication (uncovered, exposed)", [](const StepTimes& t) { return t.exposed_ns(); },
     [](const timeline::TimeParts& p) { return p.exposed_ns(); },
     [](model::Activity a) { return a == model::Activity::communication; }},
    {"input copy (uncovered, exposed)", [](const StepTimes& t) { return t.exposed_copy_ns; },
     [](const timeline::TimeParts& p) { return p.memory_ns; },
     [](model::Activity a) { return a == model::Activity::host_copy; }, true}};

} // namespace

bool Agreement::agrees() const {
  return std::abs(by_marks_ns - by_trace_ns) <= noise_ns;
}

std::vector<Agreement> agreement(const model::Schedule& schedule, int world_size,
                                 const std::vector<model::Mark>& marks,
                                 const timeline::Timeline& trace, int cell) {
  timeline::PartsSum traced;
  for (const timeline::RankTimeline& rank : trace.ranks)
    if (auto found = rank.cells.find(cell); found != rank.cells.end())
      traced.add(found->second);
  auto marked = read_steps(schedule, world_size, marks);
  if (!marked || marked->steps.empty() || traced.steps == 0)
    return {};
  const std::vector<RankStepTimes> steps = step_times(*marked);
  std::vector<Agreement> out;
  for (const Quantity& quantity : k_quantities) {
    Agreement one{.quantity = quantity.name};
    std::vector<double> values_ns;
    for (const RankStepTimes& step : steps)
      values_ns.push_back(quantity.of_marks(step.times));
    double marks_around = 2; // of the step
    for (const StretchDecl& stretch : marked->plan.stretches)
      marks_around += quantity.is_counted(stretch.activity) ? 2 : 0;
    if (marks_around == 2 && quantity.is_optional)
      continue;
    const Estimate mean = mean_estimate(values_ns, 0.95);
    one.by_marks_ns = mean.value;
    one.by_trace_ns = static_cast<double>(quantity.of_trace(traced.parts)) /
                      static_cast<double>(traced.steps * marked->plan.steps.size());
    one.noise_ns =
        k_mark_ns * marks_around + (mean.interval ? mean.interval->high - mean.interval->low : 0);
    out.push_back(std::move(one));
  }
  return out;
}

std::string in_words(const Agreement& one) {
  return fmt::format("{} {:.3f} and {:.3f} ms", one.quantity, one.by_marks_ns / 1e6,
                     one.by_trace_ns / 1e6);
}

} // namespace ncclprobe::analysis::steps
