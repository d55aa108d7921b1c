// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/fleet/fleet_data.h"

#include "analysis/fleet/verdict_words.h"

#include <algorithm>

namespace ncclprobe::analysis::fleet {
namespace {

constexpr int k_fleet_check_version = 1;

struct NodeRow {
  std::string name;
  const NodeVerdict* verdict;
  std::string reason;
};

void add_verdict(TableOf<GroupVerdict>& table) {
  table.add("state", &GroupVerdict::standing);
  table.add("rail", &GroupVerdict::rail);
  table.add("ratio", [](const GroupVerdict& row) {
    return row.estimate ? std::optional(six_digits(row.estimate->ratio)) : std::nullopt;
  });
  table.add("reason_id", [](const GroupVerdict& row) { return reason_id_of(row); });
  table.add("reason", [](const GroupVerdict& row) { return reason_of(row); });
}

TablePtr link_table(const Checked& checked) {
  std::vector<GroupVerdict> links;
  std::ranges::copy_if(checked.judgement.groups, std::back_inserter(links), is_link);
  TableOf<GroupVerdict> table(std::move(links));
  auto name = [names = checked.names](std::size_t end) {
    return [names, end](const GroupVerdict& row) {
      return names[static_cast<std::size_t>(row.nodes[end])];
    };
  };
  table.add("first", name(0));
  table.add("second", name(1));
  add_verdict(table);
  return table.table();
}

TablePtr group_table(const Checked& checked) {
  std::vector<GroupVerdict> groups;
  std::ranges::remove_copy_if(checked.judgement.groups, std::back_inserter(groups), is_link);
  TableOf<GroupVerdict> table(std::move(groups));
  table
      .add("nodes",
           [kept = checked.names](const GroupVerdict& row) {
             List names;
             for (const int node : row.nodes)
               names.emplace_back(kept[static_cast<std::size_t>(node)]);
             return Value(std::move(names));
           })
      .nested();
  add_verdict(table);
  return table.table();
}

Value baseline_value(const Checked& checked) {
  if (!checked.baseline)
    return {};
  return Object{{"file", checked.baseline->file},
                {"ratio", six_digits(checked.baseline->ratio)},
                {"ratio_interval", interval_value(checked.baseline->interval)},
                {"slower", checked.baseline->slower},
                {"unknown_nodes", checked.baseline->unknown_nodes},
                {"not_compared_nodes", checked.judgement.not_compared}};
}

std::optional<double> known(double gb_per_s) {
  return gb_per_s > 0 ? std::optional(six_digits(gb_per_s)) : std::nullopt;
}

// The results also have the first groups, if these have more than two nodes.
Value large_groups_value(const Checked& checked) {
  const auto& usual_ns = checked.judgement.large_usual_ns;
  return Object{{"nodes", checked.options.large_group},
                {"usual_us", usual_ns ? std::optional(six_digits(*usual_ns / 1e3)) : std::nullopt},
                {"usual_gb_per_s", known(checked.large_usual_gb_per_s)},
                {"undecided", checked.judgement.large_undecided},
                {"results", group_table(checked)}};
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

TablePtr node_table(const Checked& checked) {
  std::vector<NodeRow> rows;
  for (int node = 0; node < checked.options.nodes; ++node)
    rows.push_back({checked.names[static_cast<std::size_t>(node)], &verdict_of(checked, node),
                    reason_of(checked, node)});
  TableOf<NodeRow> table(std::move(rows));
  auto shown = [](const NodeRow& row) { return shown_estimate(*row.verdict); };
  auto earlier = [](const NodeRow& row) { return baseline_estimate(*row.verdict); };
  auto ratio = [](auto estimate) {
    return [estimate](const NodeRow& row) {
      const SpeedEstimate* one = estimate(row);
      return one != nullptr ? std::optional(six_digits(one->ratio)) : std::nullopt;
    };
  };
  auto interval = [](auto estimate) {
    return [estimate](const NodeRow& row) {
      const SpeedEstimate* one = estimate(row);
      return interval_value(one != nullptr ? std::optional(one->interval) : std::nullopt);
    };
  };
  auto counted = [shown](auto member) {
    return [shown, member](const NodeRow& row) -> Value {
      const SpeedEstimate* one = shown(row);
      return one != nullptr ? Value(one->*member) : Value();
    };
  };
  table.add("node", &NodeRow::name);
  table.add("state", [](const NodeRow& row) { return row.verdict->standing; });
  table.add("ratio", ratio(shown));
  table.add("ratio_interval", interval(shown)).interval();
  table.add("slow", counted(&SpeedEstimate::slow));
  table.add("measurements", counted(&SpeedEstimate::meetings));
  table.add("baseline_ratio", ratio(earlier));
  table.add("baseline_ratio_interval", interval(earlier)).interval();
  table.add("rails", [](const NodeRow& row) { return row.verdict->bad_rails; }).nested();
  table.add("reason_id", [](const NodeRow& row) { return reason_id_of(*row.verdict); });
  table.add("reason", &NodeRow::reason);
  return table.table();
}

Object fleet_data(const Checked& checked, const TablePtr& nodes, const Commands& commands) {
  return {{"schema", "ncclprobe.fleet_check"},
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
          {"usual_gb_per_s", known(checked.usual_gb_per_s)},
          {"noise", six_digits(checked.judgement.noise)},
          {"baseline", baseline_value(checked)},
          {"nodes", nodes},
          {"links", link_table(checked)},
          {"large_groups", large_groups_value(checked)},
          {"rails", rails_of(checked)},
          {"commands", Object{{"slurm", commands.slurm}, {"kubernetes", commands.kubernetes}}},
          {"why_incomplete", checked.why_incomplete}};
}

} // namespace ncclprobe::analysis::fleet
