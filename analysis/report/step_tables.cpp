// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/step_tables.h"

#include "analysis/proof/proof.h"
#include "analysis/report/label_words.h"
#include "analysis/report/step_text.h"
#include "analysis/results/conditions.h"
#include "analysis/verdict/verdict.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace ncclprobe::analysis {

using steps::Overlap;
using steps::Scaling;
using steps::ScalingPoint;
using steps::StepResult;
using steps::StepTimes;

namespace {

std::map<const StepResult*, int> channels_of_steps(const RunFigures& figures) {
  std::map<const StepResult*, int> out;
  for (const SettingProof& proof : setting_proofs(figures.run))
    for (const CellProof& cell : proof.cells) {
      int channels = 0;
      for (const auto& [rank, uses] : cell.by_rank)
        for (const Use& use : uses)
          channels = std::max(channels, use.channels);
      for (const StepResult& step : figures.steps)
        if (channels > 0 && step.label == cell.label && step.setting == proof.setting)
          out[&step] = channels;
    }
  return out;
}

// `times_of(row)` is null if nothing is known.
template <typename Row, typename TimesOf>
void add_times(TableOf<Row>& table, TimesOf times_of) {
  auto add = [&](const char* key, double StepTimes::*member, const char* title,
                 int dispensable = 0) {
    auto added = table.add(key, [=](const Row& row) -> Value {
      const StepTimes* times = times_of(row);
      return times ? Value(six_digits_ms(times->*member)) : Value();
    });
    if (title != nullptr)
      added.titled(title, {Unit::milliseconds}).dispensable(dispensable);
  };
  add("step_ms", &StepTimes::step_ns, "step ms");
  add("forward_ms", &StepTimes::forward_ns, "forward");
  add("backward_ms", &StepTimes::backward_ns, "backward");
  add("optimizer_ms", &StepTimes::optimizer_ns, "optim", 1);
  add("prepare_ms", &StepTimes::prepare_ns, "prep", 2);
  add("compute_ms", &StepTimes::compute_ns, nullptr);
  add("communication_ms", &StepTimes::communication_ns, "comm");
  add("covered_ms", &StepTimes::hidden_ns, "cov.");
  add("uncovered_wait_ms", &StepTimes::exposed_wait_ns, "wait");
  add("uncovered_transfer_ms", &StepTimes::exposed_transfer_ns, "transfer");
  add("uncovered_copy_ms", &StepTimes::exposed_copy_ns, "copy");
  add("copy_ms", &StepTimes::copy_ns, nullptr);
  add("idle_ms", &StepTimes::idle_ns, "idle");
}

Value by_kernels_value(const StepResult& step) {
  const auto& found = step.by_kernels;
  if (!found)
    return nullptr;
  return Object{{"trial", found->trial},
                {"steps", found->steps},
                {"step_ms", six_digits_ms(found->step_ns)},
                {"compute_ms", six_digits_ms(found->compute_ns)},
                {"communication_ms", six_digits_ms(found->communication_ns)},
                {"hidden_ms", six_digits_ms(found->hidden_ns)},
                {"exposed_ms", six_digits_ms(found->exposed_ns)}};
}

TablePtr by_rank_table(const StepResult& step) {
  using Row = std::pair<int, StepTimes>;
  TableOf<Row> table({step.ranks.begin(), step.ranks.end()});
  table.add("rank", &Row::first);
  add_times(table, [](const Row& row) { return &row.second; });
  return table.table();
}

Value step_half_interval(const StepResult& one) {
  if (!one.interval_ns)
    return nullptr;
  return std::max(one.interval_ns->high - one.times.step_ns,
                  one.times.step_ns - one.interval_ns->low) /
         one.times.step_ns;
}

std::string step_verdict(const StepRow& row) {
  if (row.step->data == DataState::wrong)
    return "WRONG DATA";
  if (!row.against)
    return "";
  const Verdict verdict = row.against->verdict;
  return (verdict == Verdict::no_difference ? "same"
          : verdict == Verdict::not_decided ? "open"
                                            : std::string(model::to_string(verdict))) +
         (row.against->throttled ? " *" : "");
}

Value uncovered_ms(const StepResult& step) {
  return step.step.parts == model::StepParts::all && !step.processes.empty()
             ? Value(six_digits_ms(step.times.exposed_ns()))
             : Value();
}

Value estimate_value(const std::optional<Estimate>& estimate) {
  if (!estimate)
    return nullptr;
  return Object{{"value", six_digits(estimate->value)},
                {"interval", interval_value(estimate->interval)},
                {"processes", estimate->processes}};
}

Object account_value(const ScalingPoint& point) {
  Object terms;
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    terms.emplace_back(
        name,
        Object{{"share", point.account.of(loss)},
               {"interval", interval_value(point.intervals[static_cast<std::size_t>(loss)])}});
  return terms;
}

} // namespace

StepTableData::StepTableData(const RunFigures& run) : overlaps(steps::overlaps(run.steps)) {
  const auto channels = channels_of_steps(run);
  for (const StepResult& step : run.steps) {
    StepRow row{.step = &step, .against = run.verdicts.of(*step.pooled)};
    for (const Overlap& one : overlaps)
      if (one.all == &step)
        row.overlap = &one;
    row.products = steps::product_alignment(run.run, step);
    if (auto found = channels.find(&step); found != channels.end())
      row.channels = found->second;
    rows.push_back(std::move(row));
  }
}

TablePtr buckets_table(const StepResult& step) {
  using Row = const steps::BucketTimes&;
  TableOf<steps::BucketTimes> table(step.buckets);
  // For stages of a pipeline and groups of tensor parallel ranks.
  table
      .show("on ranks",
            [all = step.step.ranks](Row one) {
              return one.ranks == all ? Value() : Value(model::format_ranks(one.ranks));
            })
      .left(12)
      .if_any();
  table.add("label", &steps::BucketTimes::label).titled("communication").left(52);
  table.add("ranks", &steps::BucketTimes::ranks);
  for (auto [key, title, member] :
       {std::tuple("ready_ms", "ready ms", &steps::BucketTimes::ready_ns),
        std::tuple("begin_ms", "begin ms", &steps::BucketTimes::begin_ns),
        std::tuple("end_ms", "end ms", &steps::BucketTimes::end_ns)})
    table.add(key, [member = member](Row one) { return six_digits_ms(one.*member); })
        .titled(title, {Unit::milliseconds});
  table.add("transfer_ms", [](Row one) { return six_digits_ms(one.transfer_ns); });
  table.show("transfer ms",
             [](Row one) { return ms_text(one.transfer_ns) + (one.wait_known ? "" : " *"); });
  table.add("wait_known", &steps::BucketTimes::wait_known);
  return table.table();
}

TablePtr steps_table(const std::vector<StepRow>& rows, bool synthetic) {
  using Row = const StepRow&;
  TableOf<StepRow> table(rows);
  auto of_step = [&](const char* key, auto get) {
    return table.add(key, [=](Row row) -> Value { return std::invoke(get, *row.step); });
  };
  auto if_measured = [&](const char* key, auto get) {
    return table.add(key, [=](Row row) -> Value {
      return row.step->processes.empty() ? Value() : Value(get(*row.step));
    });
  };
  add_step(
      table, synthetic, [](Row row) -> auto& { return *row.step; });
  of_step("", &StepResult::setting).titled("setting").left(34);
  of_step("", [](const StepResult& one) { return one.step.ranks.size(); }).titled("ranks");
  of_step("", [](const StepResult& one) { return parts_text(one.step.parts); })
      .titled("parts")
      .left();
  of_step("data", &StepResult::data);
  of_step("processes", [](const StepResult& one) { return one.processes.size(); });
  of_step("refused", &StepResult::refusals);
  add_times(table,
            [](Row row) { return row.step->processes.empty() ? nullptr : &row.step->times; });
  of_step("", step_half_interval).titled("+-%", {Unit::share}).dispensable(1);
  if_measured("step_interval_ms",
              [](const StepResult& one) { return interval_value(one.interval_ns, 1e6); });
  if_measured("stragglers_ms",
              [](const StepResult& one) { return six_digits_ms(one.stragglers_ns); });
  of_step("host_step_ms", [](const StepResult& one) {
    return six_digits_ms(one.host_step_ns());
  }).titled("step ms", {Unit::milliseconds});
  of_step("", uncovered_ms).titled("uncovered ms", {Unit::milliseconds});
  table.show("speed",
             [](Row row) { return row.against ? Value(row.against->speed_ratio) : Value(); },
             {Unit::ratio, 3});
  table.show(fmt::format("{:.0f}% interval", 100 * k_confidence),
             [](Row row) {
               return row.against && row.against->interval
                          ? Value(List{row.against->interval->low, row.against->interval->high})
                          : Value();
             },
             {Unit::fixed, 3});
  table.show("verdict", step_verdict).left();
  of_step("by_kernels", by_kernels_value);
  of_step("most_memory_bytes", &StepResult::most_memory_bytes);
  of_step("sm_clock_mhz", &StepResult::sm_clock_mhz);
  of_step("throttle_reasons",
          [](const StepResult& one) { return throttle_text(one.throttle_reasons); });
  of_step("by_rank", by_rank_table);
  of_step("unmatched_messages", &StepResult::unmatched_messages);
  of_step("buckets", buckets_table);
  table.add("tensor_core_products",
            [](Row row) { return row.products ? Value(row.products->products) : Value(); });
  table.add("unaligned_products",
            [](Row row) { return row.products ? Value(row.products->unaligned) : Value(); });
  table.add("channels", &StepRow::channels).titled("channels");
  table.show("compute slower x", [](Row row) {
    return row.overlap ? estimate_text(row.overlap->compute_slowdown, 1, 3) : Value();
  });
  return table.table();
}

TablePtr overlap_table(const std::vector<Overlap>& overlaps, bool synthetic) {
  using Row = const Overlap&;
  TableOf<Overlap> table(overlaps);
  add_step(
      table, synthetic, [](Row one) -> auto& { return *one.all; });
  table.show("ranks", [](Row one) { return rank_count(*one.all); });
  table.add("step_ms", [](Row one) { return six_digits_ms(one.all->times.step_ns); });
  table.add("compute_alone_ms", [](Row one) { return six_digits_ms(one.compute->times.step_ns); })
      .titled("compute ms", {Unit::milliseconds});
  table
      .add("communication_alone_ms",
           [](Row one) { return six_digits_ms(one.communication->times.step_ns); })
      .titled("comm ms", {Unit::milliseconds});
  for (auto [key, title, member, unit, digits] :
       {std::tuple("overlap_efficiency", "gain %", &Overlap::efficiency, 100.0, 1),
        std::tuple("compute_slowdown", "compute slower x", &Overlap::compute_slowdown, 1.0, 3),
        std::tuple("communication_slowdown", "comm slower x", &Overlap::communication_slowdown, 1.0,
                   3)}) {
    table.add(key, [member = member](Row one) { return estimate_value(one.*member); });
    table.show(title, [member = member, unit = unit, digits = digits](Row one) {
      return estimate_text(one.*member, unit, digits);
    });
  }
  return table.table();
}

TablePtr points_table(const Scaling& scaling) {
  using Row = const ScalingPoint&;
  LossColumns more{.copy = scaling.points.front().result->step.copies_input()};
  for (Row point : scaling.points)
    more.clocks =
        more.clocks || shown(point.account.of(steps::Loss::clocks), {Unit::share}) != "0.0";
  TableOf<ScalingPoint> table(scaling.points);
  table.show("ranks", [](Row point) { return point.ranks; });
  table.add("ranks", [](Row point) { return point.result->step.ranks; });
  table.add("step_ms", [](Row point) { return six_digits_ms(point.step_ns); })
      .titled("step ms", {Unit::milliseconds})
      .dispensable(2);
  table.add("efficiency", [](Row point) { return estimate_value(point.efficiency); });
  table.show("efficiency %", [base = scaling.points.front().ranks](Row point) {
    return point.ranks == base ? Value("base") : estimate_text(point.efficiency, 100, 1);
  });
  table.add("lost", [](Row point) { return 1 - point.efficiency.value; })
      .titled("lost", {Unit::share})
      .dispensable(1);
  show_losses(table, more, [](Row point) { return &point.account; });
  table.add("account", account_value);
  table.add("account_sum", [](Row point) { return point.account.sum(); });
  table.add("slowdown_known", [](Row point) { return point.account.slowdown_known; });
  table.add("clocks_known", [](Row point) { return point.account.clocks_known; });
  table.add("remarks", &ScalingPoint::remarks);
  table.add("in_words", steps::verdict_sentence);
  return table.table();
}

TablePtr scaling_table(std::vector<Scaling> scalings, bool synthetic) {
  TableOf<Scaling> table(std::move(scalings));
  add_step(
      table, synthetic, [](const Scaling& one) -> auto& { return *one.points.front().result; });
  table.add("kind", &Scaling::kind);
  table.add("points", points_table);
  return table.table();
}

} // namespace ncclprobe::analysis
