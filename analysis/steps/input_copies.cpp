// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/steps/input_copies.h"

#include <algorithm>

namespace ncclprobe::analysis::steps {
namespace {

using model::InputCopy;
using model::StepParts;

const InputCopy& copy_of(const StepResult& result) {
  return result.step.options.input_copy;
}

// The same step with these parts and that copy; null if there is no valid measurement.
const StepResult* find(const std::vector<StepResult>& results, const StepResult& like,
                       const InputCopy& copy, StepParts parts) {
  model::StepLabel wanted = like.step;
  wanted.parts = parts;
  wanted.options.input_copy = copy;
  for (const StepResult& one : results)
    if (one.step == wanted && one.data != DataState::wrong && !one.processes.empty() &&
        one.setting == like.setting)
      return &one;
  return nullptr;
}

// The two sides of an effect; null: not measured.
struct Sides {
  Slowed what;
  const StepResult* before;
  const StepResult* after;
  double (*of)(const StepTimes&);
};

struct Ratios {
  std::vector<double> before_ns, after_ns, all, even, odd; // even and odd replicates
};

int replicate_of(const StepResult& result, int trial) {
  for (const ProcessTime& process : result.pooled->processes)
    if (process.trial == trial)
      return process.replicate;
  return 0;
}

Ratios ratios_of(const Sides& sides) {
  Ratios out;
  for (const StepProcess& process : sides.after->processes) {
    const StepProcess* there = sides.before->process_of(process.trial);
    if (!there)
      continue;
    const double before_ns = sides.of(there->figures.times);
    const double after_ns = sides.of(process.figures.times);
    if (!(before_ns > 0 && after_ns > 0))
      continue;
    out.before_ns.push_back(before_ns);
    out.after_ns.push_back(after_ns);
    out.all.push_back(after_ns / before_ns);
    (replicate_of(*sides.after, process.trial) % 2 == 0 ? out.even : out.odd)
        .push_back(out.all.back());
  }
  return out;
}

double distance(double ratio) {
  return std::max(ratio, 1 / ratio);
}

class Comparer {
public:
  explicit Comparer(const std::vector<StepResult>& results) : results_(results) {}

  CopyComparisons compare() {
    std::vector<const StepResult*> steps;
    for (const StepResult& one : results_)
      if (one.step.parts == StepParts::all && !one.processes.empty() &&
          one.data != DataState::wrong && one.step.copies_input())
        steps.push_back(&one);
    std::ranges::stable_sort(steps, [](const StepResult* a, const StepResult* b) {
      return copy_of(*a).from < copy_of(*b).from; // pinned first
    });
    for (const StepResult* one : steps)
      against_none(*one);
    for (const StepResult* one : steps)
      against_pinned(*one);
    std::ranges::stable_sort(out_.all, [](const CopyComparison& a, const CopyComparison& b) {
      return a.after->step.ranks.size() < b.after->step.ranks.size();
    });
    judge();
    return std::move(out_);
  }

private:
  void against_none(const StepResult& after) {
    const InputCopy copy = copy_of(after);
    auto with = [&](StepParts parts) { return find(results_, after, copy, parts); };
    auto without = [&](StepParts parts) { return find(results_, after, {}, parts); };
    const StepResult* before = without(StepParts::all);
    if (!before)
      return;
    // A single rank only computes: its whole step is the relevant one.
    const StepParts computes = after.step.ranks.size() == 1 ? StepParts::all : StepParts::compute;
    const StepResult* alone = with(StepParts::copy);
    auto copying = [](const StepTimes& times) { return times.copy_ns; };
    add(after, *before, alone,
        {{Slowed::step, before, &after, [](const StepTimes& times) { return times.step_ns; }},
         {Slowed::communication, without(StepParts::communication), with(StepParts::communication),
          [](const StepTimes& times) { return times.transfer_ns; }},
         {Slowed::computing, without(computes), with(computes), computing_ns},
         {Slowed::copy, alone, with(StepParts::communication), copying},
         {Slowed::copy_in_step, alone, &after, copying}});
  }

  void against_pinned(const StepResult& after) {
    InputCopy copy = copy_of(after);
    if (copy.from != model::Memory::pageable_host)
      return;
    auto with = [&](StepParts parts) { return find(results_, after, copy, parts); };
    InputCopy pinned = copy;
    pinned.from = model::Memory::pinned_host;
    auto from_pinned = [&](StepParts parts) { return find(results_, after, pinned, parts); };
    const StepResult* before = from_pinned(StepParts::all);
    if (!before)
      return;
    add(after, *before, with(StepParts::copy),
        {{Slowed::step, before, &after, [](const StepTimes& times) { return times.step_ns; }},
         {Slowed::communication, from_pinned(StepParts::communication),
          with(StepParts::communication), [](const StepTimes& times) { return times.transfer_ns; }},
         {Slowed::copy_in_step, before, &after,
          [](const StepTimes& times) { return times.copy_ns; }}});
  }

  void add(const StepResult& after, const StepResult& before, const StepResult* alone,
           const std::vector<Sides>& all) {
    CopyComparison comparison{.after = &after, .before = &before};
    std::vector<std::vector<double>> halves;
    for (const Sides& sides : all) {
      if (!sides.before || !sides.after)
        continue;
      const Ratios ratios = ratios_of(sides);
      if (ratios.all.empty())
        continue;
      CopyEffect effect{.what = sides.what,
                        .before_ns = median(ratios.before_ns),
                        .after_ns = median(ratios.after_ns),
                        .ratio = geometric_mean(ratios.all)};
      effect.test = paired_ratio(ratios.all, k_confidence);
      if (ratios.all.size() < k_least_processes)
        effect.why_not_decided = undecided::too_few_pairs(ratios.all.size());
      else if (auto arms = welch_ratio(ratios.even, ratios.odd, k_confidence))
        arms_.push_back(distance(arms->ratio));
      comparison.effects.push_back(std::move(effect));
    }
    comparison.account = account_of(after, before);
    comparison.in_step_gb_per_s = rate(&after);
    comparison.alone_gb_per_s = rate(alone);
    out_.all.push_back(std::move(comparison));
  }

  // For processes that measured both.
  static std::optional<LossAccount> account_of(const StepResult& after, const StepResult& before) {
    std::vector<const StepProcess*> of_after, of_before;
    for (const StepProcess& process : after.processes)
      if (const StepProcess* there = before.process_of(process.trial)) {
        of_after.push_back(&process);
        of_before.push_back(there);
      }
    if (of_after.empty())
      return std::nullopt;
    const AccountSide base = mean_side(of_before);
    return loss_account(base, mean_side(of_after), 1, base);
  }

  static std::optional<double> rate(const StepResult* result) {
    if (!result)
      return std::nullopt;
    std::vector<double> gb_per_s;
    for (const StepProcess& process : result->processes)
      if (double ns = process.figures.times.copy_ns; ns > 0)
        gb_per_s.push_back(static_cast<double>(copy_of(*result).bytes) / ns);
    return gb_per_s.empty() ? std::nullopt : std::optional(median(std::move(gb_per_s)));
  }

  void judge() {
    if (!arms_.empty())
      out_.floor = quantile(arms_, arms_.size() < k_percentile_cells ? 1.0 : 0.95);
    std::vector<CopyEffect*> tested;
    std::vector<double> p_values;
    for (CopyComparison& comparison : out_.all)
      for (CopyEffect& effect : comparison.effects)
        if (!effect.why_not_decided && effect.test && out_.floor) {
          tested.push_back(&effect);
          p_values.push_back(effect.test->p);
        }
    out_.tested = static_cast<int>(tested.size());
    const auto adjusted = holm_adjusted(p_values);
    for (std::size_t i = 0; i < tested.size(); ++i) {
      CopyEffect& effect = *tested[i];
      effect.adjusted_p = adjusted[i];
      effect.detectable =
          std::max(*out_.floor,
                   detectable_ratio(*effect.test, k_alpha / static_cast<double>(tested.size())));
      const bool differs = adjusted[i] < k_alpha && distance(effect.ratio) > *out_.floor;
      if (differs)
        effect.verdict = effect.ratio > 1 ? Verdict::worse : Verdict::better;
      else if (*effect.detectable > k_largest_missed_ratio)
        effect.why_not_decided = undecided::too_noisy(*effect.detectable);
      else
        effect.verdict = Verdict::no_difference;
    }
  }

  const std::vector<StepResult>& results_;
  CopyComparisons out_;
  std::vector<double> arms_;
};

} // namespace

CopyComparisons copy_comparisons(const std::vector<StepResult>& results) {
  return Comparer(results).compare();
}

} // namespace ncclprobe::analysis::steps
