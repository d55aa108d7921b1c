// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/fleet_report.h"

#include "base/number_list.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text_layout.h"
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis::fleet {
namespace {

constexpr int k_fleet_check_version = 1;
constexpr int k_hang = 10;
// Of each kind in the text; JSON and CSV have all. So a check of 1,000 nodes fits a screen.
constexpr std::size_t k_most_shown = 8;

constexpr FindingKind k_bad_node{"bad_node", Severity::error, "{node}: {reason}"},
    k_failed_node{"failed_node", Severity::error, "{node}: failed, {reason}"},
    k_bad_link{"bad_link", Severity::error,
               "link {first} - {second}: {reason}; both nodes are good with others"},
    k_bad_rail{"bad_rail", Severity::error, "rail {rail} of all nodes: {ratio:.2f}x of the others"},
    k_fleet_slower{"fleet_slower", Severity::error,
                   "the whole fleet: {ratio:.2f}x [{low:.2f}, {high:.2f}] of {file}"},
    k_undecided_node{"undecided_node", Severity::warning, "{node}: not decided, {reason}"},
    k_undecided_link{"undecided_link", Severity::warning,
                     "link {first} - {second}: not decided, {reason}"},
    k_more{"more", Severity::warning, "and {count} more: --format json has all"},
    k_incomplete{"incomplete", Severity::warning, "The check is incomplete: {why}"},
    k_synthetic{"synthetic", Severity::warning,
                "[SYNTHETIC] These times come from a model, not from a machine."};

std::string in_words(const SpeedEstimate& estimate) {
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}], slow in {} of {}", estimate.ratio,
                     estimate.interval.low, estimate.interval.high, estimate.slow,
                     estimate.meetings);
}

std::string name_of(const Checked& checked, int node) {
  return base::printable(checked.names[static_cast<std::size_t>(node)]);
}

const NodeVerdict& verdict_of(const Checked& checked, int node) {
  return checked.judgement.nodes[static_cast<std::size_t>(node)];
}

// The slowest of its bad rails, or the whole node.
const std::optional<SpeedEstimate>& shown_estimate(const NodeVerdict& node) {
  const PathVerdict* shown = &node.paths.front();
  for (const int rail : node.bad_rails) {
    const PathVerdict& one = node.paths[static_cast<std::size_t>(rail) + 1];
    if (one.estimate &&
        (shown == &node.paths.front() || one.estimate->ratio < shown->estimate->ratio))
      shown = &one;
  }
  return shown->estimate;
}

std::string reason_of(const LinkVerdict& link) {
  return (link.estimate ? in_words(*link.estimate) : std::string("did not finish")) +
         (link.rail ? fmt::format(", rail {}", *link.rail) : "");
}

Reason reason_id_of(const LinkVerdict& link) {
  if (!link.estimate)
    return Reason::not_finished;
  return link.standing == Standing::undecided ? Reason::not_decided
         : link.rail                          ? Reason::slow_rails
                                              : Reason::slow;
}

Reason reason_id_of(const NodeVerdict& node) {
  switch (node.standing) {
  case Standing::good:
    return Reason::none;
  case Standing::failed:
    return node.fault_reason;
  case Standing::bad:
    return node.bad_rails.empty() ? Reason::slow : Reason::slow_rails;
  case Standing::undecided:
    break;
  }
  return node.broken > 0         ? Reason::not_finished
         : !shown_estimate(node) ? Reason::not_measured
                                 : Reason::not_decided;
}

std::vector<int> nodes_with(const Checked& checked, Standing standing) {
  std::vector<int> nodes;
  for (int node = 0; node < checked.options.nodes; ++node)
    if (verdict_of(checked, node).standing == standing)
      nodes.push_back(node);
  std::ranges::stable_sort(nodes, {}, [&](int node) { // the slowest first
    const auto& estimate = shown_estimate(verdict_of(checked, node));
    return estimate ? estimate->ratio : 0;
  });
  return nodes;
}

// At most k_most_shown, each on a line.
void add_shown(Section& section, std::vector<Finding> all) {
  const std::size_t more = all.size() > k_most_shown ? all.size() - k_most_shown : 0;
  all.resize(all.size() - more);
  if (more > 0)
    all.push_back({&k_more, {{"count", more}}});
  for (Finding& one : all)
    section.blocks.push_back(Findings{"", {std::move(one)}, 2});
}

void add_nodes(Section& section, const Checked& checked, Standing standing,
               const FindingKind& kind) {
  std::vector<Finding> all;
  for (const int node : nodes_with(checked, standing))
    all.push_back(
        {&kind, {{"node", name_of(checked, node)}, {"reason", reason_of(checked, node)}}});
  add_shown(section, std::move(all));
}

void add_links(Section& section, const Checked& checked, Standing standing,
               const FindingKind& kind) {
  std::vector<Finding> all;
  for (const LinkVerdict& one : checked.judgement.links)
    if (one.standing == standing)
      all.push_back({&kind,
                     {{"first", name_of(checked, one.first)},
                      {"second", name_of(checked, one.second)},
                      {"reason", reason_of(one)}}});
  add_shown(section, std::move(all));
}

Section answer_section(const Checked& checked) {
  Section section{"named"};
  section.part = Section::Part::answer;
  add_nodes(section, checked, Standing::failed, k_failed_node);
  add_nodes(section, checked, Standing::bad, k_bad_node);
  add_links(section, checked, Standing::bad, k_bad_link);
  std::vector<Finding> rails;
  for (const RailVerdict& one : checked.judgement.rails)
    if (one.bad)
      rails.push_back({&k_bad_rail, {{"rail", one.rail}, {"ratio", one.ratio}}});
  if (checked.baseline && checked.baseline->slower)
    rails.push_back({&k_fleet_slower,
                     {{"ratio", checked.baseline->ratio},
                      {"low", checked.baseline->interval.low},
                      {"high", checked.baseline->interval.high},
                      {"file", checked.baseline->file}}});
  add_shown(section, std::move(rails));
  add_nodes(section, checked, Standing::undecided, k_undecided_node);
  add_links(section, checked, Standing::undecided, k_undecided_link);
  if (!checked.why_incomplete.empty())
    section.blocks.push_back(Findings{"", {{&k_incomplete, {{"why", checked.why_incomplete}}}}, 2});
  return section;
}

std::string heading(const Checked& checked) {
  std::string text =
      fmt::format("Fleet check{}: {}", checked.backend == "synthetic" ? " [SYNTHETIC]" : "",
                  base::count_of(checked.names.size(), "node", "nodes"));
  auto add = [&](Standing standing, const char* word) {
    if (const int count = checked.judgement.count(standing); count > 0)
      text += fmt::format(", {} {}", count, word);
  };
  add(Standing::bad, "bad");
  add(Standing::failed, "failed");
  add(Standing::undecided, "not decided");
  add(Standing::good, "good");
  return text;
}

Section figures_section(const Checked& checked) {
  Section section{"figures"};
  section.add(
      "Measured",
      fmt::format(
          "{} {} between {} nodes, {}, {}; alpha {}, power {}, slower than {:.0f}%",
          checked.collective, base::format_bytes(checked.bytes), checked.options.group,
          base::count_of(static_cast<std::size_t>(checked.rounds), "round", "rounds"),
          base::count_of(static_cast<std::size_t>(checked.meetings), "measurement", "measurements"),
          checked.options.alpha, checked.options.power, 100 * checked.options.slower),
      k_hang);
  if (!checked.judgement.usual_ns.empty())
    section.add("Usual",
                fmt::format("{}{}; noise {:.1f}%",
                            base::format_duration(checked.judgement.usual_ns.front()),
                            checked.usual_gb_per_s > 0
                                ? fmt::format(", {} GB/s busbw",
                                              base::format_number(checked.usual_gb_per_s))
                                : "",
                            100 * checked.judgement.noise),
                k_hang);
  if (checked.baseline && !checked.baseline->slower)
    section.add("Baseline",
                fmt::format("the fleet reaches {:.2f}x [{:.2f}, {:.2f}] of {}",
                            checked.baseline->ratio, checked.baseline->interval.low,
                            checked.baseline->interval.high, checked.baseline->file),
                k_hang);
  if (!checked.run_file.empty())
    section.blocks.push_back(Text{"Run file", checked.run_file, k_hang, true});
  return section;
}

// Slurm reads these as a list of names: one host's name could drain others.
bool names_one_host(std::string_view name) {
  return name.find_first_of("[],") == std::string_view::npos;
}

struct Commands {
  std::vector<std::string> slurm;
  std::vector<std::string> kubernetes;
};

// Of nodes to take out: bad and failed ones.
Commands commands_for(const Checked& checked) {
  Commands commands;
  if (!checked.whole_hosts)
    return commands;
  for (const Standing standing : {Standing::failed, Standing::bad})
    for (const int node : nodes_with(checked, standing)) {
      const std::string& name = name_of(checked, node);
      const std::string word = base::shell_word(name);
      if (names_one_host(name))
        commands.slurm.push_back(
            fmt::format("scontrol update NodeName={} State=DRAIN Reason={}", word,
                        base::shell_word("ncclprobe: " + reason_of(checked, node))));
      commands.kubernetes.push_back(
          fmt::format("kubectl cordon {}{}", name.starts_with('-') ? "-- " : "", word));
    }
  return commands;
}

std::vector<std::string> first_of(std::vector<std::string> lines) {
  if (lines.size() > k_most_shown)
    lines.resize(k_most_shown);
  return lines;
}

Section command_section(const Commands& commands) {
  Section section{"commands"};
  if (commands.kubernetes.empty())
    return section;
  section.title = "To take them out of service (nothing was executed)";
  if (!commands.slurm.empty())
    section.blocks.push_back(Code{first_of(commands.slurm)});
  section.blocks.push_back(Code{first_of(commands.kubernetes)});
  return section;
}

struct NodeRow {
  std::string name;
  const NodeVerdict* verdict;
  std::string reason;
};

TablePtr node_table(const Checked& checked) {
  std::vector<NodeRow> rows;
  for (int node = 0; node < checked.options.nodes; ++node)
    rows.push_back({checked.names[static_cast<std::size_t>(node)], &verdict_of(checked, node),
                    reason_of(checked, node)});
  TableOf<NodeRow> table(std::move(rows));
  auto estimated = [](auto member) {
    return [member](const NodeRow& row) -> Value {
      const auto& estimate = shown_estimate(*row.verdict);
      return estimate ? Value((*estimate).*member) : Value();
    };
  };
  table.add("node", &NodeRow::name);
  table.add("state", [](const NodeRow& row) { return row.verdict->standing; });
  table.add("ratio", [](const NodeRow& row) {
    const auto& estimate = shown_estimate(*row.verdict);
    return estimate ? std::optional(six_digits(estimate->ratio)) : std::nullopt;
  });
  table
      .add("ratio_interval",
           [](const NodeRow& row) {
             const auto& estimate = shown_estimate(*row.verdict);
             return interval_value(estimate ? std::optional(estimate->interval) : std::nullopt);
           })
      .interval();
  table.add("slow", estimated(&SpeedEstimate::slow));
  table.add("measurements", estimated(&SpeedEstimate::meetings));
  table.add("rails", [](const NodeRow& row) { return row.verdict->bad_rails; }).nested();
  table.add("reason_id", [](const NodeRow& row) { return reason_id_of(*row.verdict); });
  table.add("reason", &NodeRow::reason);
  return table.table();
}

TablePtr link_table(const Checked& checked) {
  TableOf<LinkVerdict> table(checked.judgement.links);
  auto name = [names = checked.names](int LinkVerdict::*end) {
    return
        [names, end](const LinkVerdict& row) { return names[static_cast<std::size_t>(row.*end)]; };
  };
  table.add("first", name(&LinkVerdict::first));
  table.add("second", name(&LinkVerdict::second));
  table.add("state", &LinkVerdict::standing);
  table.add("rail", &LinkVerdict::rail);
  table.add("ratio", [](const LinkVerdict& row) {
    return row.estimate ? std::optional(six_digits(row.estimate->ratio)) : std::nullopt;
  });
  table.add("reason_id", [](const LinkVerdict& row) { return reason_id_of(row); });
  table.add("reason", [](const LinkVerdict& row) { return reason_of(row); });
  return table.table();
}

Value baseline_value(const Checked& checked) {
  if (!checked.baseline)
    return {};
  return Object{{"file", checked.baseline->file},
                {"ratio", six_digits(checked.baseline->ratio)},
                {"ratio_interval", interval_value(checked.baseline->interval)},
                {"slower", checked.baseline->slower}};
}

List times_of(const Checked& checked) {
  List times;
  for (const double ns : checked.judgement.usual_ns)
    times.emplace_back(six_digits(ns / 1e3));
  return times;
}

List rails_of(const Checked& checked) {
  List rails;
  for (const RailVerdict& one : checked.judgement.rails)
    rails.emplace_back(
        Object{{"rail", one.rail}, {"ratio", six_digits(one.ratio)}, {"bad", one.bad}});
  return rails;
}

} // namespace

std::string reason_of(const Checked& checked, int node) {
  const NodeVerdict& one = verdict_of(checked, node);
  if (one.standing == Standing::good)
    return "";
  if (one.standing == Standing::failed)
    return one.fault;
  const auto& estimate = shown_estimate(one);
  std::string reason = estimate ? in_words(*estimate) : "never measured";
  if (!one.bad_rails.empty())
    reason += fmt::format(", rail {}", base::format_number_list(one.bad_rails));
  if (one.broken > 0)
    reason +=
        fmt::format(", {} did not finish", base::count_of(static_cast<std::size_t>(one.broken),
                                                          "measurement", "measurements"));
  return reason;
}

bool names_any(const Checked& checked) {
  return checked.judgement.count(Standing::bad) + checked.judgement.count(Standing::failed) > 0 ||
         std::ranges::any_of(
             checked.judgement.links,
             [](const LinkVerdict& one) { return one.standing == Standing::bad; }) ||
         std::ranges::any_of(checked.judgement.rails, &RailVerdict::bad) ||
         (checked.baseline && checked.baseline->slower);
}

Report fleet_report(const Checked& given) {
  const auto kept = std::make_shared<const Checked>(given); // the tables' rows point into it
  const Checked& checked = *kept;
  const Commands commands = commands_for(checked);
  const TablePtr nodes = node_table(checked);
  Report report;
  report.figures.push_back(kept);
  report.sections.push_back({"heading", heading(checked)});
  if (checked.backend == "synthetic")
    report.sections.back().blocks.push_back(Findings{"", {{&k_synthetic}}});
  report.sections.push_back(answer_section(checked));
  report.sections.push_back(figures_section(checked));
  report.sections.push_back(command_section(commands));
  report.data = {
      {"schema", "ncclprobe.fleet_check"},
      {"schema_version", k_fleet_check_version},
      {"synthetic", checked.backend == "synthetic"},
      {"backend", checked.backend},
      {"counts", Object{{"nodes", checked.options.nodes},
                        {"good", checked.judgement.count(Standing::good)},
                        {"bad", checked.judgement.count(Standing::bad)},
                        {"failed", checked.judgement.count(Standing::failed)},
                        {"undecided", checked.judgement.count(Standing::undecided)}}},
      {"measured", Object{{"collective", checked.collective},
                          {"bytes", checked.bytes},
                          {"nodes_per_group", checked.options.group},
                          {"ranks_per_node", checked.ranks_per_node},
                          {"rounds", checked.rounds},
                          {"measurements", checked.meetings}}},
      {"limits", Object{{"alpha", checked.options.alpha},
                        {"power", checked.options.power},
                        {"slower", checked.options.slower},
                        {"rounds", checked.options.most_rounds}}},
      {"usual_us", times_of(checked)},
      {"usual_gb_per_s", checked.usual_gb_per_s > 0
                             ? std::optional(six_digits(checked.usual_gb_per_s))
                             : std::nullopt},
      {"noise", six_digits(checked.judgement.noise)},
      {"baseline", baseline_value(checked)},
      {"nodes", nodes},
      {"links", link_table(checked)},
      {"rails", rails_of(checked)},
      {"commands", Object{{"slurm", commands.slurm}, {"kubernetes", commands.kubernetes}}},
      {"why_incomplete", checked.why_incomplete}};
  report.rows = nodes;
  return report;
}

} // namespace ncclprobe::analysis::fleet
