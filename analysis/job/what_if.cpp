// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/what_if.h"

#include "analysis/job/delay_origins.h"
#include "analysis/job/rebucketed.h"
#include "analysis/job/step_blocks.h"
#include "analysis/job/step_path.h"
#include "analysis/job/step_replay.h"
#include "base/enum_names.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ncclprobe::analysis::job {
namespace {

constexpr std::size_t k_most_variants = 4;
constexpr std::uint64_t k_enough_disturbances = 3;

std::string small_letters(const std::string& text) {
  std::string out;
  for (char letter : text)
    out += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  return out;
}

// A choice of what the capture leaves open.
struct ModelVariant {
  std::vector<WaitedFor> waited;
  WhenReady ready = WhenReady::as_usual;
};

std::vector<ModelVariant> variants_of(const StepModel& model) {
  std::vector<ModelVariant> all{{model.waited, WhenReady::as_usual},
                                {model.waited, WhenReady::latest}};
  for (const StepModel::Alternative& other : model.alternatives) {
    if (all.size() == k_most_variants)
      break;
    all.push_back(all.front());
    all.back().waited[other.group] = other.waited;
  }
  return all;
}

// Gaps of some ranks and of those that do the same, by slot, ascending: without what waiting
// operations made them longer by.
struct GapSamples {
  std::vector<std::vector<double>> own, others;

  // A gap as long among the others' as `gap` is among its own.
  std::optional<double> like_others(std::uint32_t slot, double gap) const {
    const std::vector<double>& from = own[slot];
    const std::vector<double>& to = others[slot];
    if (from.empty() || to.empty())
      return std::nullopt;
    const auto below = std::ranges::lower_bound(from, gap) - from.begin();
    const auto above = std::ranges::upper_bound(from, gap) - from.begin();
    const double place = static_cast<double>(below + above) / 2 / static_cast<double>(from.size());
    const auto at = static_cast<std::size_t>(place * static_cast<double>(to.size()));
    return to[std::min(at, to.size() - 1)];
  }
};

class Prediction {
public:
  Prediction(const StepGraph& graph, const StepModel& model, const ModelVariant& variant,
             const WhatIf& what, const DelayOrigins* origins, const std::vector<std::string>& texts)
      : graph_(graph), model_(model), variant_(variant), what_(what), origins_(origins),
        texts_(texts), cost_(gradient_cost(graph, model)) {
    for (const Change& change : what.changes)
      samples_.push_back(change.kind == ChangeKind::rank ? samples_of(change) : GapSamples{});
  }

  struct OfKind {
    std::vector<double> seen, predicted; // lengths, by index of the step
    std::uint64_t operations = 0;        // that changed
  };
  std::vector<OfKind> all() {
    std::vector<OfKind> out;
    for (std::uint32_t number = 0; number < graph_.runs.size(); ++number) {
      const StepRun& run = graph_.runs[number];
      if (run.steps < 2)
        continue;
      out.resize(std::max<std::size_t>(out.size(), run.kind + 1));
      OfKind& to = out[run.kind];
      const MeasuredRun measured =
          measure(graph_, run, variant_.waited, &model_.typical, variant_.ready);
      StepRun changed_run = run;
      MeasuredRun changed = measured;
      for (const bool of_buckets : {false, true}) // these last: then operations are others
        for (std::size_t i = 0; i < what_.changes.size(); ++i)
          if ((what_.changes[i].kind == ChangeKind::bucket) == of_buckets)
            to.operations += apply(what_.changes[i], samples_[i], number, changed_run, changed);
      std::ranges::copy(step_lengths_ns(run, replay(graph_, run, measured, variant_.waited)),
                        std::back_inserter(to.seen));
      std::ranges::copy(
          step_lengths_ns(changed_run, replay(graph_, changed_run, changed, variant_.waited)),
          std::back_inserter(to.predicted));
    }
    return out;
  }

private:
  bool is_of(const Change& change, std::size_t rank) const {
    return std::ranges::find(change.ranks, graph_.ranks[rank]) != change.ranks.end();
  }

  GapSamples samples_of(const Change& change) const {
    GapSamples out{std::vector<std::vector<double>>(graph_.slots.size()),
                   std::vector<std::vector<double>>(graph_.slots.size())};
    for (const StepRun& run : graph_.runs) {
      const MeasuredRun measured =
          measure(graph_, run, variant_.waited, &model_.typical, variant_.ready);
      for (std::size_t r = 0; r < measured.size(); ++r)
        for (std::size_t i = 0; i < measured[r].size(); ++i)
          if (measured[r][i].is_clean)
            (is_of(change, r) ? out.own : out.others)[run.ranks[r][i].slot].push_back(
                static_cast<double>(measured[r][i].undisturbed_gap_ns()));
    }
    for (auto* side : {&out.own, &out.others})
      for (std::vector<double>& values : *side)
        std::ranges::sort(values);
    return out;
  }

  // Returns how many operations it changed.
  std::uint64_t apply(const Change& change, const GapSamples& samples, std::uint32_t number,
                      StepRun& run, MeasuredRun& measured) const {
    if (change.kind == ChangeKind::bucket)
      return rebucket(graph_, run, measured, cost_, change.bytes, texts_);
    std::uint64_t changed = 0;
    for (std::uint32_t r = 0; r < measured.size(); ++r)
      for (std::uint32_t i = 0; i < measured[r].size(); ++i)
        changed += change.kind == ChangeKind::input
                       ? without_input(number, r, i, measured[r][i])
                       : apply(change, samples, r, run.ranks[r][i], measured[r][i]);
    return changed;
  }

  bool without_input(std::uint32_t run, std::uint32_t rank, std::uint32_t operation,
                     MeasuredOperation& one) const {
    if (!one.is_clean)
      return false;
    const bool is_late =
        host_late_ns(model_.typical, graph_.runs[run].ranks[rank][operation], one) > 0;
    const double waited_ns = origins_
                                 ->divided(run, one,
                                           {is_late ? PathCause::host : PathCause::computing, rank,
                                            operation, one.gap_ns, 0})
                                 .parts[static_cast<std::size_t>(GapCause::input)];
    if (waited_ns <= 0)
      return false;
    one.set_gap(one.gap_ns - std::llround(waited_ns));
    return true;
  }

  bool apply(const Change& change, const GapSamples& samples, std::size_t rank,
             const GraphOperation& own, MeasuredOperation& one) const {
    const Typical& typical = model_.typical;
    auto set_gap = [&](double gap_ns) {
      one.set_gap(std::llround(gap_ns));
      return true;
    };
    switch (change.kind) {
    case ChangeKind::rank:
      if (is_of(change, rank) && one.is_clean)
        if (const auto gap =
                samples.like_others(own.slot, static_cast<double>(one.undisturbed_gap_ns())))
          return set_gap(*gap);
      return false;
    case ChangeKind::host: {
      const double late_ns = host_late_ns(typical, own, one);
      // Without a gap that was not the host's, nobody knows how long computing takes.
      if (late_ns <= 0 || (one.host_bound && !typical.usual_of_gpu[own.slot]))
        return false;
      return set_gap(static_cast<double>(one.gap_ns) - late_ns);
    }
    case ChangeKind::transfers: {
      const auto usual = typical.usual_duration[own.slot];
      if (!usual ||
          static_cast<double>(one.duration_ns) <=
              *usual + k_notable_scatters * typical.duration_scatter[own.slot].value_or(0))
        return false;
      one.duration_ns = std::llround(*usual);
      return true;
    }
    case ChangeKind::computing:
      return !one.host_bound && !one.is_first && !own.with_previous &&
             set_gap(static_cast<double>(one.gap_ns) * change.factor);
    case ChangeKind::function: {
      const OperationClass& of = graph_.classes[graph_.slots[own.slot].group];
      if (of.function >= texts_.size() || small_letters(texts_[of.function]) != change.function ||
          (change.role && *change.role != of.role))
        return false;
      one.duration_ns = std::llround(static_cast<double>(one.duration_ns) * change.factor);
      return true;
    }
    case ChangeKind::input:
    case ChangeKind::bucket:
      break;
    }
    return false;
  }

  const StepGraph& graph_;
  const StepModel& model_;
  const ModelVariant& variant_;
  const WhatIf& what_;
  const DelayOrigins* origins_; // for ChangeKind::input
  const std::vector<std::string>& texts_;
  GradientCost cost_;
  std::vector<GapSamples> samples_; // by change
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<Interval> gain_interval(const StepGraph& graph, std::uint32_t kind,
                                      const Prediction::OfKind& of) {
  const StepBlocks blocks(graph, kind);
  std::vector<std::vector<double>> sums(1, std::vector<double>(blocks.blocks()));
  for (std::size_t i = 0; i < of.seen.size(); ++i)
    sums[0][timeline::block_of_step(i, blocks.steps(), blocks.blocks())] +=
        of.seen[i] - of.predicted[i];
  return blocks.intervals(sums)[0];
}

bool has_input(const WhatIf& what) {
  return std::ranges::find(what.changes, ChangeKind::input, &Change::kind) != what.changes.end();
}

base::Error nothing_meant(const StepGraph& graph, const WhatIf& what,
                          const std::vector<std::string>& texts) {
  if (has_input(what))
    return {base::Errc::not_found,
            fmt::format("'{}' changes nothing in the steps of this capture", what.text),
            "a wait for input is known from copies ('record --cuda') or from NVTX ranges around "
            "the loading, such as 'load'; otherwise host=none includes it"};
  std::set<std::string> known;
  for (const OperationClass& one : graph.classes)
    if (one.function < texts.size())
      known.insert(
          fmt::format("{}:{}", small_letters(texts[one.function]), base::to_string(one.role)));
  std::string all;
  for (const std::string& one : known)
    all += (all.empty() ? "" : ", ") + one;
  return {
      base::Errc::not_found,
      fmt::format("'{}' changes nothing in the steps of this capture", what.text),
      fmt::format("ranks are compared with others that do the same; its operations are {}", all)};
}

} // namespace

base::Result<std::vector<Predicted>> predict(const StepGraph& graph, const StepModel& model,
                                             const std::vector<ModelCheck>& checks,
                                             const WhatIf& what,
                                             const std::vector<std::string>& texts) {
  std::vector<Predicted> out;
  std::optional<DelayOrigins> origins;
  if (has_input(what))
    origins.emplace(graph, model);
  bool is_first = true;
  for (const ModelVariant& variant : variants_of(model)) {
    const std::vector<Prediction::OfKind> all =
        Prediction(graph, model, variant, what, origins ? &*origins : nullptr, texts).all();
    if (is_first)
      for (std::uint32_t kind = 0; kind < all.size(); ++kind) {
        const Prediction::OfKind& of = all[kind];
        if (of.seen.empty() || of.operations == 0)
          continue;
        Predicted one{
            .kind = kind, .seen_ns = mean_of(of.seen), .predicted_ns = mean_of(of.predicted)};
        one.gain = {one.seen_ns - one.predicted_ns, gain_interval(graph, kind, of)};
        one.share = one.seen_ns > 0 ? one.gain.mean_ns / one.seen_ns : 0;
        one.operations = of.operations;
        one.check = checks[kind];
        out.push_back(one);
      }
    // The interval covers what the others say, too.
    for (Predicted& one : out)
      if (!is_first && one.gain.interval && one.kind < all.size())
        if (const auto other = gain_interval(graph, one.kind, all[one.kind]))
          one.gain.interval = Interval{std::min(one.gain.interval->low, other->low),
                                       std::max(one.gain.interval->high, other->high)};
    is_first = false;
  }
  if (out.empty())
    return base::fail(nothing_meant(graph, what, texts));
  for (Predicted& one : out)
    if (one.gain.interval && one.check.disturbances >= k_enough_disturbances) {
      const double error_ns = one.check.median_error * std::abs(one.gain.mean_ns);
      one.gain.interval->low -= error_ns;
      one.gain.interval->high += error_ns;
    }
  return out;
}

} // namespace ncclprobe::analysis::job
