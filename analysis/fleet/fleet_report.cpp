// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/fleet_report.h"

#include "analysis/fleet/fleet_data.h"
#include "analysis/fleet/verdict_words.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text_layout.h"
#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncclprobe::analysis::fleet {
namespace {

constexpr int k_hang = 10;
// Of each kind in the text; JSON and CSV have all. So a check of 1,000 nodes fits a screen.
constexpr std::size_t k_most_shown = 8;

constexpr FindingKind k_bad_node{"bad_node", Severity::error, "{node}: {reason}"},
    k_failed_node{"failed_node", Severity::error, "{node}: failed, {reason}"},
    k_bad_link{"bad_link", Severity::error,
               "link {first} - {second}: {reason}; both nodes are good with others"},
    k_bad_group{"bad_group", Severity::error,
                "group {nodes}: {reason}; each of them is good in other groups"},
    k_bad_rail{"bad_rail", Severity::error, "rail {rail} of all nodes: {ratio:.2f}x of the others"},
    k_fleet_slower{"fleet_slower", Severity::error,
                   "the whole fleet: {ratio:.2f}x [{low:.2f}, {high:.2f}] of {file}"},
    k_undecided_node{"undecided_node", Severity::warning, "{node}: not decided, {reason}"},
    k_undecided_link{"undecided_link", Severity::warning,
                     "link {first} - {second}: not decided, {reason}"},
    k_undecided_group{"undecided_group", Severity::warning, "group {nodes}: not decided, {reason}"},
    k_more{"more", Severity::warning, "and {count} more: --format json has all"},
    k_incomplete{"incomplete", Severity::warning, "The check is incomplete: {why}"},
    k_synthetic{"synthetic", Severity::warning,
                "[SYNTHETIC] These times come from a model, not from a machine."};

std::string name_of(const Checked& checked, int node) {
  return base::printable(checked.names[static_cast<std::size_t>(node)]);
}

std::vector<int> nodes_with(const Checked& checked, Standing standing) {
  std::vector<int> nodes;
  for (int node = 0; node < checked.options.nodes; ++node)
    if (verdict_of(checked, node).standing == standing)
      nodes.push_back(node);
  std::ranges::stable_sort(nodes, {}, [&](int node) { // the slowest first
    const SpeedEstimate* estimate = shown_estimate(verdict_of(checked, node));
    return estimate != nullptr ? estimate->ratio : 0;
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

void add_groups(Section& section, const Checked& checked, Standing standing,
                const FindingKind& of_link, const FindingKind& of_group) {
  std::vector<Finding> all;
  for (const GroupVerdict& one : checked.judgement.groups) {
    if (one.standing != standing)
      continue;
    if (is_link(one))
      all.push_back({&of_link,
                     {{"first", name_of(checked, one.nodes.front())},
                      {"second", name_of(checked, one.nodes.back())},
                      {"reason", reason_of(one)}}});
    else
      all.push_back(
          {&of_group,
           {{"nodes", base::printable(fmt::format("{}", fmt::join(names_of(checked, one), ", ")))},
            {"reason", reason_of(one)}}});
  }
  add_shown(section, std::move(all));
}

Section answer_section(const Checked& checked) {
  Section section{"named"};
  section.part = Section::Part::answer;
  add_nodes(section, checked, Standing::failed, k_failed_node);
  add_nodes(section, checked, Standing::bad, k_bad_node);
  add_groups(section, checked, Standing::bad, k_bad_link, k_bad_group);
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
  add_groups(section, checked, Standing::undecided, k_undecided_link, k_undecided_group);
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

std::string usual_words(double usual_ns, double gb_per_s) {
  return base::format_duration(usual_ns) +
         (gb_per_s > 0 ? fmt::format(", {} GB/s busbw", base::format_number(gb_per_s)) : "");
}

std::string large_group_words(const Checked& checked) {
  const Judgement& judgement = checked.judgement;
  const std::string size = fmt::format("of {} nodes", checked.options.large_group);
  if (!judgement.large_usual_ns && judgement.large_measured > 0)
    return fmt::format(
        "{}: none of {} finished", size,
        base::count_of(static_cast<std::size_t>(judgement.large_measured), "group", "groups"));
  if (!judgement.large_usual_ns)
    return fmt::format("{} were not measured: {}", size,
                       judgement.first_decided ? "too few nodes or rounds are left"
                                               : "not all nodes are decided");
  std::string words = fmt::format(
      "{}: {}", size, usual_words(*judgement.large_usual_ns, checked.large_usual_gb_per_s));
  if (judgement.large_undecided > 0)
    words += fmt::format(
        "; {} not decided when the rounds ended",
        base::count_of(static_cast<std::size_t>(judgement.large_undecided), "node", "nodes"));
  return words;
}

std::string baseline_words(const Checked& checked) {
  const BaselineComparison& baseline = *checked.baseline;
  std::string words =
      fmt::format("the fleet reaches {:.2f}x [{:.2f}, {:.2f}] of {}", baseline.ratio,
                  baseline.interval.low, baseline.interval.high, baseline.file);
  if (baseline.unknown_nodes > 0)
    words += fmt::format(
        ", which does not know {}",
        base::count_of(static_cast<std::size_t>(baseline.unknown_nodes), "node", "nodes"));
  if (const int count = checked.judgement.not_compared; count > 0)
    words += fmt::format("; {} had too few partners that were as slow then",
                         base::count_of(static_cast<std::size_t>(count), "node", "nodes"));
  return words;
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
                fmt::format("{}; noise {:.1f}%",
                            usual_words(checked.judgement.usual_ns.front(), checked.usual_gb_per_s),
                            100 * checked.judgement.noise),
                k_hang);
  if (checked.options.large_group > 0)
    section.add("Groups", large_group_words(checked), k_hang);
  if (checked.baseline)
    section.add("Baseline", baseline_words(checked), k_hang);
  if (!checked.run_file.empty())
    section.blocks.push_back(Text{"Run file", checked.run_file, k_hang, true});
  return section;
}

// Slurm reads these as a list of names: one host's name could drain others.
bool names_one_host(std::string_view name) {
  return name.find_first_of("[],") == std::string_view::npos;
}

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

} // namespace

bool names_any(const Checked& checked) {
  return checked.judgement.count(Standing::bad) + checked.judgement.count(Standing::failed) > 0 ||
         std::ranges::any_of(
             checked.judgement.groups,
             [](const GroupVerdict& one) { return one.standing == Standing::bad; }) ||
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
  report.data = fleet_data(checked, nodes, commands);
  report.rows = nodes;
  return report;
}

} // namespace ncclprobe::analysis::fleet
