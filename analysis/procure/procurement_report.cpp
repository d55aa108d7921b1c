// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/procurement_report.h"

#include "analysis/procure/procurement_tables.h"
#include "analysis/report/heading.h"
#include "base/printable.h"
#include "base/text_layout.h"

#include <algorithm>
#include <set>

namespace ncclprobe::analysis::procure {
namespace {

constexpr int k_procurement_version = 1;
constexpr int k_dimension_hang = 18;

constexpr FindingKind k_costs_less{"costs_less", Severity::note,
                                   "{first} costs less than {second}: {ratio} of its cost{basis}."},
    k_costs_the_same{"costs_the_same", Severity::note,
                     "{first} and {second} cost the same within the noise: {ratio}{basis}."},
    k_cost_not_decided{"cost_not_decided", Severity::warning,
                       "Whether {first} or {second} costs less is not decided: {why}."},
    k_unlike_costs{"unlike_costs", Severity::warning,
                   "The costs of {first} and {second} are not compared: only the cost of {paying} "
                   "includes power. Give power_price_per_kwh of {other}."},
    k_cost_unknown{"cost_unknown", Severity::warning, "{node}: its cost is unknown: {why}."},
    k_step_unknown{"step_unknown", Severity::warning, "{node}, {workload}: unknown: {why}."},
    k_note_on_step{"note_on_step", Severity::note, "{node}, {workload}: {what}."},
    k_does_not_fit{"does_not_fit", Severity::error,
                   "{node}, {workload}: does not fit into memory. Weights, gradients and optimizer "
                   "state take {need:.1f} GiB of a GPU, which has {has:.1f}. Its time and cost are "
                   "those of a step that cannot run."},
    k_needs_recompute{
        "needs_recompute", Severity::warning,
        "{node}, {workload}: does not fit into memory unless activations are recomputed in the "
        "backward pass: a GPU needs {need:.1f} GiB and has {has:.1f}. The figures do not include "
        "the time for that."},
    k_not_measured{
        "not_measured", Severity::warning,
        "{nodes}: not measured. Figures are limits, from published or stated rates and the "
        "model of predictions. Real steps also take time for work without matrix "
        "products, so they are slower."},
    k_synthetic_nodes{"synthetic_nodes", Severity::warning,
                      "SYNTHETIC NUMBERS of {nodes}: they come from a model."},
    k_few_runs{"few_runs", Severity::warning,
               "{node}: its intervals do not include the scatter between boots and machines. That "
               "takes three runs of a step; measured: {runs}."},
    k_no_power_price{"no_power_price", Severity::note,
                     "{nodes}: power has no price of its own (power_price_per_kwh), so costs are "
                     "those of the node alone."},
    k_other_power_unknown{"other_power_unknown", Severity::warning,
                          "{nodes}: the power of a node without its GPUs is unknown (other_w), so "
                          "only the GPUs' power is in the cost."},
    k_part_of_node{"part_of_node", Severity::note,
                   "{node}, {workload}: measured on {ranks} of {gpus} GPUs. Its cost is that "
                   "share of the node's: the other GPUs are assumed to do the same."};

std::string node_name(const Procurement& all, std::size_t node) {
  return base::printable(all.nodes[node].name);
}

std::string workload_name(const Procurement& all, std::size_t workload) {
  return base::printable(all.workloads[workload].name());
}

std::string synthetic_mark(const Procurement& all, std::size_t node) {
  return all.is_synthetic(node) ? " [SYNTHETIC]" : "";
}

// None, some or all of the nodes are of the synthetic backend.
std::optional<Finding> synthetic_finding(const Procurement& all) {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    if (all.is_synthetic(node))
      names.push_back(node_name(all, node));
  if (names.empty())
    return std::nullopt;
  if (names.size() == all.nodes.size())
    return Finding{&k_synthetic_numbers};
  return Finding{&k_synthetic_nodes, {{"nodes", base::join(names, ", ")}}};
}

// Of the mix of all workloads, or of the only one.
bool is_of_all(const Procurement& all, const Difference& one) {
  return !one.workload || all.workloads.size() == 1;
}

Finding order_finding(const Procurement& all, const Difference& one) {
  std::string first = node_name(all, one.first), second = node_name(all, one.second);
  if (one.verdict == Verdict::not_decided)
    return {&k_cost_not_decided,
            {{"first", first}, {"second", second}, {"why", in_words(one.why_not_decided)}}};
  const std::string basis = one.p ? "" : " (by limits, not by a test)";
  Difference told = one;
  if (one.verdict == Verdict::worse) {
    std::swap(first, second);
    told.ratio = one.ratio ? std::optional(1 / *one.ratio) : std::nullopt;
    told.range = {one.range.high ? 1 / *one.range.high : 0,
                  one.range.low > 0 ? std::optional(1 / one.range.low) : std::nullopt};
  }
  return {one.verdict == Verdict::no_difference ? &k_costs_the_same : &k_costs_less,
          {{"first", first},
           {"second", second},
           {"ratio", ratio_in_words(told.ratio, told.range)},
           {"basis", basis}}};
}

std::string why_no_cost(const Procurement& all, std::size_t node) {
  if (!all.nodes[node].price.amount())
    return "it has no price (price_per_hour or purchase)";
  for (std::size_t i = 0; i < all.workloads.size(); ++i)
    if (const StepFigure& step = all.entry(node, i).step; step.origin == Origin::unknown)
      return fmt::format("the time of {} is unknown: {}", workload_name(all, i), step.why_unknown);
  return "power has a price, and its power is unknown";
}

Section answer_section(const Procurement& all) {
  std::vector<Finding> found;
  for (const Entry& entry : all.entries)
    if (entry.fits == Fits::no || entry.fits == Fits::with_recompute) {
      const MemoryNeed& need = *entry.memory_need;
      const bool never = entry.fits == Fits::no;
      found.push_back({never ? &k_does_not_fit : &k_needs_recompute,
                       {{"node", node_name(all, entry.node)},
                        {"workload", workload_name(all, entry.workload)},
                        {"need", (never ? need.states() : need.total()) / k_gib},
                        {"has", *gpu_memory_bytes(all.nodes[entry.node].gpu) / k_gib}}});
    }
  for (const Difference& one : all.differences)
    if (one.quantity == Quantity::cost && is_of_all(all, one))
      found.push_back(order_finding(all, one));
  for (const auto& [first, second] : all.unlike_costs) {
    const bool first_pays = all.nodes[first].price.includes_power();
    found.push_back({&k_unlike_costs,
                     {{"first", node_name(all, first)},
                      {"second", node_name(all, second)},
                      {"paying", node_name(all, first_pays ? first : second)},
                      {"other", node_name(all, first_pays ? second : first)}}});
  }
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    if (!all.mix_cost[node])
      found.push_back(
          {&k_cost_unknown, {{"node", node_name(all, node)}, {"why", why_no_cost(all, node)}}});
  Section section{.key = "order", .part = Section::Part::answer};
  for (Finding& one : found)
    section.blocks.push_back(Findings{"", {std::move(one)}});
  return section;
}

// Each sentence once.
class UnknownSection {
public:
  void add(Finding finding) {
    if (said_.insert(in_words(finding)).second)
      section_.blocks.push_back(Findings{"", {std::move(finding)}, 2});
  }
  Section take() { return std::move(section_); }

private:
  Section section_{
      .key = "unknowns", .title = "What is not known, or assumed", .part = Section::Part::method};
  std::set<std::string> said_;
};

// One sentence for all nodes of which this holds.
template <typename Holds>
void add_for_nodes(UnknownSection& section, const Procurement& all, const FindingKind& kind,
                   Holds holds) {
  std::vector<std::string> names;
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    if (holds(all.nodes[node]))
      names.push_back(node_name(all, node));
  if (!names.empty())
    section.add({&kind, {{"nodes", base::join(names, ", ")}}});
}

void add_step_unknowns(UnknownSection& section, const Procurement& all, const Entry& entry) {
  const Value name = node_name(all, entry.node), workload = workload_name(all, entry.workload);
  const StepFigure& step = entry.step;
  if (step.origin == Origin::unknown)
    section.add(
        {&k_step_unknown, {{"node", name}, {"workload", workload}, {"why", step.why_unknown}}});
  if (step.origin == Origin::measured && !step.between_runs)
    section.add({&k_few_runs, {{"node", name}, {"runs", step.source}}});
  if (const int gpus = all.nodes[entry.node].gpu.count;
      step.origin != Origin::unknown && step.ranks < gpus)
    section.add({&k_part_of_node,
                 {{"node", name}, {"workload", workload}, {"ranks", step.ranks}, {"gpus", gpus}}});
  for (const std::string& note : step.notes)
    section.add({&k_note_on_step, {{"node", name}, {"workload", workload}, {"what", note}}});
}

Section unknown_section(const Procurement& all) {
  UnknownSection section;
  add_for_nodes(section, all, k_not_measured, [](const NodeType& node) { return node.published; });
  add_for_nodes(section, all, k_no_power_price,
                [](const NodeType& node) { return node.price.amount() && !node.price.per_kwh; });
  add_for_nodes(section, all, k_other_power_unknown,
                [](const NodeType& node) { return node.price.per_kwh && !node.price.other_w; });
  for (const Entry& entry : all.entries)
    add_step_unknowns(section, all, entry);
  return section.take();
}

Section loss_section(const Procurement& all) {
  Section section{"losses", "Why it does not scale further"};
  for (const Entry& entry : all.entries)
    if (!entry.step.loss.empty())
      section.add("",
                  fmt::format("{}, {}: {}", node_name(all, entry.node),
                              workload_name(all, entry.workload), entry.step.loss),
                  2);
  return section.blocks.empty() ? Section{"losses"} : section;
}

std::optional<double> purchase_of_gpu(const NodeType& node) {
  return node.price.purchase ? std::optional(*node.price.purchase / node.gpu.count) : std::nullopt;
}

Section dimension_section(const Procurement& all, std::size_t number) {
  const NodeType& node = all.nodes[number];
  Section section{"dimensions",
                  fmt::format("{}: {} x {}{}", base::printable(node.name), node.gpu.count,
                              base::printable(node.gpu.name), synthetic_mark(all, number))};
  const GpuDimensions dimensions = dimensions_of(node.gpu, purchase_of_gpu(node));
  auto say = [&](const char* label, std::string text) {
    section.add(label, std::move(text), k_dimension_hang);
  };
  say("  Capability", dimensions.capability);
  say("  Memory", dimensions.memory);
  say("  Interconnect", dimensions.interconnect);
  say("  Power and form", dimensions.power_and_form);
  say("  Price",
      price_in_words(node.price) + (dimensions.price.empty() ? "" : "; " + dimensions.price));
  section.add_each("  Sources", dimensions.sources, k_dimension_hang, true);
  return section;
}

Section source_section(const Procurement& all) {
  Section section{
      .key = "sources", .title = "Where the figures come from", .part = Section::Part::provenance};
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    const NodeType& node = all.nodes[i];
    section.add("  " + base::printable(node.name) + ": ",
                node.published
                    ? "published and stated rates, and the model of predictions"
                    : base::printable(base::join(node.files, ", ")) +
                          (node.setting.empty() ? "" : ", " + base::printable(node.setting)) +
                          synthetic_mark(all, i),
                4);
  }
  return section;
}

Value nodes_value(const Procurement& all) {
  List nodes;
  for (std::size_t i = 0; i < all.nodes.size(); ++i) {
    const NodeType& node = all.nodes[i];
    const GpuDimensions dimensions = dimensions_of(node.gpu, purchase_of_gpu(node));
    nodes.emplace_back(Object{{"name", node.name},
                              {"gpu", node.gpu.name},
                              {"gpus", node.gpu.count},
                              {"files", node.files},
                              {"setting", node.setting},
                              {"published", node.published},
                              {"synthetic", all.is_synthetic(i)},
                              {"price_per_hour", node.price.per_hour},
                              {"purchase", node.price.purchase},
                              {"power_price_per_kwh", node.price.per_kwh},
                              {"capability", dimensions.capability},
                              {"memory", dimensions.memory},
                              {"interconnect", dimensions.interconnect},
                              {"power_and_form", dimensions.power_and_form},
                              {"sources", dimensions.sources}});
  }
  return nodes;
}

} // namespace

Report procurement_report(const Procurement& all) {
  const std::optional<Finding> synthetic = synthetic_finding(all);
  const TablePtr entries = entry_table(all), differences = difference_table(all),
                 prices = turning_table(all);
  Report report;
  report.title = fmt::format("Procurement{}: {}, {}", synthetic ? " [SYNTHETIC]" : "",
                             base::count_of(all.nodes.size(), "type of node", "types of nodes"),
                             base::count_of(all.workloads.size(), "workload", "workloads"));
  report.sections.push_back(
      {.key = "heading", .title = report.title, .part = Section::Part::provenance});
  if (synthetic)
    report.sections.back().blocks.push_back(Findings{"", {*synthetic}});
  report.sections.push_back(answer_section(all));
  report.sections.push_back({"costs", "Cost at your prices", {View{cost_view(all)}}});
  report.sections.back().charts = {cost_chart(all)};
  report.sections.push_back({"steps",
                             "Steps (range: 95% of measured ones, limits of published ones)",
                             {View{step_view(all)}}});
  report.sections.push_back({"scaling",
                             "Scaling, and communication that no computing covers",
                             {View{scaling_view(all)}}});
  report.sections.push_back(loss_section(all));
  report.sections.push_back({"use", "What a million samples use", {View{use_view(all)}}});
  report.sections.push_back(
      {"memory",
       "Minimum memory per GPU, GiB, which data sheets call GB (without libraries, and without "
       "what layers keep internally)",
       {View{memory_view(all)}}});
  if (differences->rows > 0)
    report.sections.push_back({"differences",
                               "Which differences are beyond the noise (first / second)",
                               {View{differences}}});
  if (prices->rows > 0)
    report.sections.push_back(
        {"turning_prices",
         "Price of a node at which it costs as much as the other (95% interval)",
         {View{prices}}});
  for (std::size_t node = 0; node < all.nodes.size(); ++node)
    report.sections.push_back(dimension_section(all, node));
  report.sections.push_back(unknown_section(all));
  report.sections.push_back(
      {.key = "method",
       .title = "How the differences were found",
       .blocks = {Text{
           "", "The sample unit is a process, or a run if a node has three runs of a step. "
               "Costs are geometric means. Differences are tested by Welch's t-test on their "
               "logarithms, with Holm's correction over all of them. A verdict must also exceed "
               "the difference between two halves of equal processes. Limits are compared end to "
               "end. Between the two prices of an interval, the 95% interval of the ratio of "
               "costs contains 1."}},
       .part = Section::Part::method});
  report.sections.push_back(source_section(all));
  report.data = {{"schema", "ncclprobe.procurement"},
                 {"schema_version", k_procurement_version},
                 {"synthetic", synthetic.has_value()},
                 {"nodes", nodes_value(all)},
                 {"steps", entries},
                 {"mix", mix_table(all)},
                 {"differences", differences},
                 {"turning_prices", prices}};
  report.rows = entries;
  return report;
}

} // namespace ncclprobe::analysis::procure
