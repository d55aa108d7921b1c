// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/procurement_tables.h"

#include "analysis/suitability/prices.h"
#include "base/printable.h"
#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::procure {
namespace {

constexpr double k_kwh_per_j = 1 / 3.6e6;

struct EntryRow : Entry {
  std::string node_name, workload_name;
  std::optional<double> gpu_memory; // bytes
};

// Of limits: "12.3-14.0", "at least 12.3", "at most 14.0".
template <typename Say>
std::string range_text(const std::optional<Bounds>& range, Say say) {
  if (!range)
    return "-";
  if (!range->high)
    return range->low > 0 ? "at least " + say(range->low) : "unknown";
  if (range->low <= 0)
    return "at most " + say(*range->high);
  const std::string low = say(range->low), high = say(*range->high);
  return low == high ? low : low + "-" + high;
}

template <typename Say>
std::string value_text(const std::optional<double>& value, Say say) {
  return value ? say(*value) : "-";
}

// "12.3 [11.9, 12.7]"; "12.3 [?]" without an interval; of limits as range_text().
template <typename Say>
std::string figure_text(const std::optional<double>& value, const std::optional<Bounds>& range,
                        Say say) {
  if (!range || !value)
    return range_text(range, say);
  return range->high ? fmt::format("{} [{}, {}]", say(*value), say(range->low), say(*range->high))
                     : say(*value) + " [?]";
}

// A name of an enumeration, as people write it.
template <typename Named>
std::string in_words(Named one) {
  std::string text(base::to_string(one));
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string in_ms(double ns) {
  return base::ms_text(ns);
}

std::string in_percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string in_watts(double watts) {
  return fmt::format("{:.0f}", watts);
}

Value figure_value(const std::optional<Figure>& figure) {
  return figure && figure->value ? Value(six_digits(*figure->value)) : Value();
}

Value figure_range(const std::optional<Figure>& figure) {
  return figure ? range_value(figure->range) : Value();
}

Value losses_of(const Entry& entry) {
  if (!entry.step.account)
    return nullptr;
  Object losses;
  for (const auto& [loss, name] : enum_names(steps::Loss{}))
    losses.emplace_back(name, six_digits(entry.step.account->of(loss)));
  return losses;
}

void add_step_columns(TableOf<EntryRow>& table) {
  using Row = const EntryRow&;
  table.add("node", &EntryRow::node_name);
  table.add("workload", &EntryRow::workload_name);
  table.add("from", [](Row one) { return one.step.origin; });
  table.add("source", [](Row one) { return one.step.source; });
  table.add("step", [](Row one) { return one.step.step; });
  table.add("why_unknown", [](Row one) { return one.step.why_unknown; });
  table.add("synthetic", [](Row one) { return one.step.synthetic; });
  table.add("ranks", [](Row one) { return one.step.ranks; });
  table.add("samples_per_step", [](Row one) { return one.step.samples; });
  table.add("observations", [](Row one) { return one.step.observations.size(); });
  table.add("observations_are_runs", [](Row one) { return one.step.between_runs; });
  table.add("step_ms", [](Row one) {
    return one.step.step_ns ? Value(six_digits(*one.step.step_ns / 1e6)) : Value();
  });
  table.add("step_range_ms", [](Row one) { return range_value(one.step.range_ns, 1e6); })
      .interval();
  table.add("uncovered_share", [](Row one) { return six_digits(one.step.exposed); });
  table.add("uncovered_share_range", [](Row one) { return range_value(one.step.exposed_range); })
      .interval();
  table.add("efficiency", [](Row one) { return six_digits(one.step.efficiency); });
  table.add("efficiency_range", [](Row one) { return range_value(one.step.efficiency_range); })
      .interval();
  table.add("losses", losses_of).nested();
  table.add("bound_by", [](Row one) { return one.step.bound_by; });
}

void add_cost_columns(TableOf<EntryRow>& table) {
  using Row = const EntryRow&;
  table.add("gpus_w", [](Row one) { return range_value(one.step.gpus_w); }).interval();
  table.add("power_from", [](Row one) { return one.step.power_source; });
  table.add("energy_per_step_j", [](Row one) { return range_value(one.step_kwh, k_kwh_per_j); })
      .interval();
  table.add("kwh_per_million_samples", [](Row one) { return range_value(one.kwh); }).interval();
  auto add = [&](const char* key, const char* range_key, std::optional<Figure> Entry::*figure) {
    table.add(key, [=](Row one) { return figure_value(one.*figure); });
    table.add(range_key, [=](Row one) { return figure_range(one.*figure); }).interval();
  };
  add("cost_per_step", "cost_per_step_range", &Entry::step_cost);
  add("cost_per_million_samples", "cost_per_million_samples_range", &Entry::cost);
  add("node_hours_per_million_samples", "node_hours_per_million_samples_range", &Entry::node_hours);
}

std::optional<double> per(double unit, const std::optional<double>& bytes) {
  return bytes ? std::optional(*bytes / unit) : std::nullopt;
}

// A part of the memory of a GPU.
template <typename Get>
std::optional<double> memory_part(const EntryRow& one, Get get) {
  return one.memory_need ? std::optional<double>(std::invoke(get, *one.memory_need)) : std::nullopt;
}

// For machines in GB of 10^9 bytes, for people in GiB.
void add_memory_columns(TableOf<EntryRow>& table) {
  auto add = [&](const std::string& name, auto part) {
    table.add(name + "_gb", [=](const EntryRow& one) { return per(1e9, memory_part(one, part)); });
    table.show(name, [=](const EntryRow& one) { return per(k_gib, memory_part(one, part)); },
               {Unit::number});
  };
  add("weights", &MemoryNeed::weights);
  add("gradients", &MemoryNeed::gradients);
  add("optimizer", &MemoryNeed::optimizer);
  add("activations", &MemoryNeed::activations);
  table.add("gpu_memory_gb", [](const EntryRow& one) { return per(1e9, one.gpu_memory); });
  table.show("GPU has", [](const EntryRow& one) { return per(k_gib, one.gpu_memory); },
             {Unit::number});
  table.add("fits", &EntryRow::fits);
  table.show_left("fits", [](const EntryRow& one) { return in_words(one.fits); });
}

std::vector<EntryRow> entry_rows(const Procurement& all) {
  std::vector<EntryRow> rows;
  for (const Entry& entry : all.entries)
    rows.push_back({entry, base::printable(all.nodes[entry.node].name),
                    base::printable(all.workloads[entry.workload].name()),
                    gpu_memory_bytes(all.nodes[entry.node].gpu)});
  return rows;
}

// For people: begins each table.
TableOf<EntryRow> named_rows(const Procurement& all) {
  TableOf<EntryRow> table(entry_rows(all));
  table.show_left("node", &EntryRow::node_name, 20).once();
  table.show_left("workload", &EntryRow::workload_name, 24);
  return table;
}

// A figure and what is known around it.
template <typename Get, typename Around>
void show_figure(TableOf<EntryRow>& table, const char* title, Get get, Around around) {
  table.show(title, get);
  table.show("range", around);
}

struct MixRow {
  std::string node;
  std::optional<Figure> cost, hours;
};

struct DifferenceRow : Difference {
  std::string workload_name, first_name, second_name;
};

struct TurningRow : TurningPrice {
  std::string node_name, against_name;
  std::string unit;
};

} // namespace

TablePtr entry_table(const Procurement& all) {
  TableOf<EntryRow> table(entry_rows(all));
  add_step_columns(table);
  add_cost_columns(table);
  add_memory_columns(table);
  return table.table();
}

TablePtr memory_view(const Procurement& all) {
  TableOf<EntryRow> table = named_rows(all);
  add_memory_columns(table);
  return table.table();
}

TablePtr step_view(const Procurement& all) {
  using Row = const EntryRow&;
  TableOf<EntryRow> table = named_rows(all);
  table.show_left("from", [](Row one) { return one.step.origin; });
  table.show("ranks", [](Row one) { return one.step.ranks; });
  show_figure(
      table, "step ms", [](Row one) { return value_text(one.step.step_ns, in_ms); },
      [](Row one) { return range_text(one.step.range_ns, in_ms); });
  table.show_left(
      "basis", [](Row one) { return one.step.source; }, 40);
  return table.table();
}

TablePtr scaling_view(const Procurement& all) {
  using Row = const EntryRow&;
  TableOf<EntryRow> table = named_rows(all);
  show_figure(
      table, "efficiency %", [](Row one) { return value_text(one.step.efficiency, in_percent); },
      [](Row one) { return range_text(one.step.efficiency_range, in_percent); });
  show_figure(
      table, "uncovered %", [](Row one) { return value_text(one.step.exposed, in_percent); },
      [](Row one) { return range_text(one.step.exposed_range, in_percent); });
  table.show_left("bound by", [](Row one) { return one.step.bound_by; });
  return table.table();
}

TablePtr cost_view(const Procurement& all) {
  TableOf<EntryRow> table = named_rows(all);
  auto show = [&](const char* title, std::optional<Figure> Entry::*figure, double factor) {
    auto in_money = [=](double value) { return money_text(value * factor); };
    show_figure(
        table, title,
        [=](const EntryRow& one) {
          const auto& cost = one.*figure;
          return cost ? value_text(cost->value, in_money) : std::string("-");
        },
        [=](const EntryRow& one) {
          const auto& cost = one.*figure;
          return range_text(cost ? std::optional(cost->range) : std::nullopt, in_money);
        });
  };
  show("1000 steps", &Entry::step_cost, 1000);
  show("10^6 samples", &Entry::cost, 1);
  return table.table();
}

Chart cost_chart(const Procurement& all) {
  struct Bar {
    std::string name, what;
    double cost;
  };
  std::vector<Bar> bars;
  for (const EntryRow& row : entry_rows(all)) {
    if (!row.cost)
      continue;
    const std::string name = all.workloads.size() > 1
                                 ? fmt::format("{}, {}", row.node_name, row.workload_name)
                                 : row.node_name;
    const auto& [value, range, scatter] = *row.cost;
    if (value) {
      bars.push_back({name, "cost", *value});
      continue;
    }
    bars.push_back({name, "at least", range.low});
    if (range.high)
      bars.push_back({name, "uncertain part", *range.high - range.low});
  }
  TableOf<Bar> table(std::move(bars));
  table.add("name", &Bar::name).titled("node");
  table.add("what", &Bar::what).titled("what");
  table.add("cost", [](const Bar& one) { return six_digits(one.cost); })
      .titled("cost of 10^6 samples, in your money", {Unit::number});
  return {.kind = ChartKind::bars,
          .title = "What a million samples cost",
          .table = table.table(),
          .x = "cost",
          .y = "name",
          .series = "what"};
}

TablePtr use_view(const Procurement& all) {
  using Row = const EntryRow&;
  TableOf<EntryRow> table = named_rows(all);
  show_figure(
      table, "node-hours",
      [](Row one) {
        return one.node_hours ? value_text(one.node_hours->value, money_text) : std::string("-");
      },
      [](Row one) {
        return range_text(one.node_hours ? std::optional(one.node_hours->range) : std::nullopt,
                          money_text);
      });
  table.show("GPUs' W", [](Row one) { return range_text(one.step.gpus_w, in_watts); });
  table.show_left("W from", [](Row one) { return in_words(one.step.power_source); }).dispensable(1);
  table.show("J a step", [](Row one) {
    return range_text(one.step_kwh, [](double kwh) { return money_text(kwh / k_kwh_per_j); });
  });
  table.show("kWh", [](Row one) { return range_text(one.kwh, money_text); });
  return table.table();
}

TablePtr mix_table(const Procurement& all) {
  std::vector<MixRow> rows;
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    rows.push_back(
        {base::printable(all.nodes[node].name), all.mix_cost[node], all.mix_hours[node]});
  TableOf<MixRow> table(std::move(rows));
  using Row = const MixRow&;
  table.add("node", &MixRow::node);
  table.add("cost_per_million_samples", [](Row one) { return figure_value(one.cost); });
  table.add("cost_per_million_samples_range", [](Row one) { return figure_range(one.cost); })
      .interval();
  table.add("node_hours_per_million_samples", [](Row one) { return figure_value(one.hours); });
  table.add("node_hours_per_million_samples_range", [](Row one) { return figure_range(one.hours); })
      .interval();
  return table.table();
}

TablePtr difference_table(const Procurement& all) {
  std::vector<DifferenceRow> rows;
  for (const Difference& one : all.differences)
    rows.push_back({one,
                    one.workload ? base::printable(all.workloads[*one.workload].name())
                                 : std::string("all, weighted"),
                    base::printable(all.nodes[one.first].name),
                    base::printable(all.nodes[one.second].name)});
  TableOf<DifferenceRow> table(std::move(rows));
  using Row = const DifferenceRow&;
  table.add("first", &DifferenceRow::first_name).titled("first").left(16).once();
  table.add("second", &DifferenceRow::second_name).titled("second").left(16).once();
  table.add("workload", &DifferenceRow::workload_name).titled("workload").left(20);
  table.add("quantity", &DifferenceRow::quantity).titled("of").left();
  table.add("ratio", [](Row one) { return six_digits(one.ratio); });
  table.add("ratio_range", [](Row one) { return range_value(one.range); }).interval();
  table.show("ratio", [](Row one) { return ratio_in_words(one.ratio, one.range); });
  table.add("p", [](Row one) { return six_digits(one.p); });
  table.add("adjusted_p", [](Row one) { return six_digits(one.adjusted_p); })
      .titled("p", {Unit::chance});
  table.add("detectable", [](Row one) { return six_digits(one.detectable); });
  table.add("floor", [](Row one) { return six_digits(one.floor); })
      .titled("A/A", {Unit::ratio})
      .dispensable(1);
  table.add("verdict", &DifferenceRow::verdict);
  table.show_left("first is", [](Row one) { return in_words(one.verdict); });
  add_why(table, "why_not_decided", &DifferenceRow::why_not_decided);
  return table.table();
}

TablePtr turning_table(const Procurement& all) {
  std::vector<TurningRow> rows;
  for (const TurningPrice& one : all.turning_prices)
    rows.push_back({one, base::printable(all.nodes[one.node].name),
                    base::printable(all.nodes[one.against].name),
                    all.nodes[one.node].price.per_hour ? "an hour" : "purchase"});
  TableOf<TurningRow> table(std::move(rows));
  using Row = const TurningRow&;
  table.add("node", &TurningRow::node_name).titled("node").left(20).once();
  table.add("against", &TurningRow::against_name).titled("against").left(20);
  table.add("price", &TurningRow::price);
  table.show("price now", [](Row one) { return money_text(one.price); });
  table.add("unit", &TurningRow::unit).titled("for").left();
  table.add("turning_price", [](Row one) { return six_digits(one.break_even.value); });
  table.add("turning_price_range", [](Row one) { return range_value(one.break_even.range); })
      .interval();
  table.add("never", [](Row one) { return one.break_even.never; });
  table.show("order turns at", [](Row one) -> std::string {
    if (one.break_even.never)
      return "no price: power alone costs more";
    return figure_text(one.break_even.value, one.break_even.range, money_text);
  });
  return table.table();
}

std::string ratio_in_words(const std::optional<double>& ratio, const Bounds& range) {
  return figure_text(ratio, range, [](double value) { return fmt::format("{:.4g}", value); });
}

std::string price_in_words(const Price& price) {
  std::string text = "not given";
  if (price.per_hour)
    text = fmt::format("{} per node and hour", money_text(*price.per_hour));
  else if (price.purchase)
    text = fmt::format("{} per node, written off over {:g} years at {:.0f}% utilisation",
                       money_text(*price.purchase), price.years, 100 * price.utilisation);
  if (price.per_kwh)
    text += fmt::format("; {:g} per kWh, PUE {:g}", *price.per_kwh, price.pue);
  if (price.other_w)
    text += fmt::format(", {:g} W besides the GPUs", *price.other_w);
  return text;
}

} // namespace ncclprobe::analysis::procure
