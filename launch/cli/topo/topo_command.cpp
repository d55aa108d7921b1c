// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_command.h"

#include "machine/machine_json.h"

#include "analysis/report_value/report_writers.h"
#include "analysis/topology_chart/topology_chart.h"
#include "base/console.h"
#include "base/exit_code.h"
#include "base/split.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/help.h"
#include "launch/cli/topo/topo_files.h"
#include "launch/cli/topo/topo_live.h"
#include "launch/cli/topo/topo_record.h"
#include "topology/derive.h"
#include "topology/render/dot.h"
#include "topology/render/facts.h"
#include "topology/render/graphs.h"
#include "topology/render/matrix.h"
#include "topology/render/nccl_xml.h"
#include "topology/render/predictions.h"
#include "topology/render/summary.h"
#include "topology/render/svg.h"
#include "topology/render/tree.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::cli {
namespace {

Result<void> choose_host(const TopoOptions& options, Sight& sight) {
  if (!options.host)
    return {};
  auto number = static_cast<std::size_t>(*options.host);
  auto& hosts = sight.machine.hosts;
  if (number >= hosts.size())
    return fail(Errc::invalid_argument, "--host {}: there {} {} host{}, from 0", number,
                hosts.size() == 1 ? "is" : "are", hosts.size(), hosts.size() == 1 ? "" : "s");
  hosts = {hosts[number]};
  std::vector<topology::RankLocation> ranks;
  for (topology::RankLocation rank : sight.ranks)
    if (rank.host == *options.host) {
      rank.host = 0;
      ranks.push_back(std::move(rank));
    }
  sight.ranks = std::move(ranks);
  if (!sight.contradictions.empty())
    sight.contradictions = {sight.contradictions[number]};
  return {};
}

// NCCL's graphs have rings and trees but no machine.
Result<void> check_that_it_can_be_shown(const Sight& sight, const TopoOptions& options) {
  if (sight.graphs.empty())
    return {};
  const bool shows_graphs = options.format == "summary" || options.format == "json" ||
                            (options.format == "html" && !sight.machine.hosts.empty());
  if (!shows_graphs)
    return fail(Errc::invalid_argument,
                "--format {} does not show NCCL's graphs; leave their file out, or use "
                "summary or json",
                options.format);
  if (sight.machine.hosts.empty() && (options.placement || options.ceilings || options.host))
    return fail(Error{Errc::invalid_argument,
                      options.from.front() + " holds NCCL's graphs and no machine",
                      "give a file of the machine too: NCCL_TOPO_DUMP_FILE writes one, "
                      "NCCL_GRAPH_DUMP_FILE does not"});
  return {};
}

std::string json(const Sight& sight) {
  if (sight.graphs.empty())
    return topology::write_machine_json(sight.machine);
  std::string graphs = topology::write_graphs_json(sight.graphs);
  if (sight.machine.hosts.empty())
    return graphs;
  auto document = nlohmann::ordered_json::parse(topology::write_machine_json(sight.machine));
  document["nccl_graphs"] = nlohmann::ordered_json::parse(graphs).at("graphs");
  return document.dump(1) + "\n";
}

std::string summary(const Sight& sight, const TopoOptions& options, int columns) {
  if (sight.machine.hosts.empty())
    return topology::render_graphs(sight.graphs);
  std::string text = topology::render_summary(sight.machine, sight.contradictions, columns);
  for (const std::string& warning : topology::misplaced(sight.machine, sight.ranks))
    text += "warning: " + warning + "\n";
  for (const std::string& remark : sight.remarks)
    text += "note: " + remark + "\n";
  if (options.ceilings)
    text += "\n" + topology::render_ceilings(sight.machine);
  if (options.placement)
    text += "\n" + topology::render_placement(sight.machine);
  if (!sight.graphs.empty())
    text += "\n" + topology::render_graphs(sight.graphs);
  return text;
}

// The pictures, then what the summary says.
std::string page(const Sight& sight, const TopoOptions& options) {
  std::vector<analysis::PicturedHost> hosts;
  for (const topology::Host& host : sight.machine.hosts)
    hosts.push_back({host, {}});
  for (const topology::RankLocation& rank : sight.ranks)
    hosts.at(static_cast<std::size_t>(rank.host)).ranks[rank.gpu].push_back(rank.rank);
  analysis::Report report;
  report.title =
      "Topology of " + (hosts.size() == 1 ? "host " + topology::host_label(hosts.front().host, 0)
                                          : base::count_of(hosts.size(), "host", "hosts"));
  const std::string words = summary(sight, options, 0);
  const std::vector<std::string_view> text = base::split(words, '\n');
  report.sections = {
      {.key = "topology", .title = "Topology", .charts = analysis::topology_charts(hosts)},
      {.key = "summary",
       .title = "Summary",
       .blocks = {analysis::Code{{text.begin(), text.end()}}}}};
  return analysis::written(report, analysis::Format::html);
}

// `columns` of the window; 0: any.
Result<std::string> render(const Sight& sight, const TopoOptions& options, int columns) {
  const topology::Machine& machine = sight.machine;
  if (options.format == "matrix")
    return topology::render_matrix(machine, topology::Legend::yes, columns);
  if (options.format == "tree")
    return topology::render_tree(machine, topology::Lines::utf8);
  if (options.format == "json")
    return json(sight);
  if (options.format == "dot")
    return topology::render_dot(machine);
  if (options.format == "svg")
    return topology::render_svg(machine);
  if (options.format == "facts")
    return topology::render_facts(machine);
  if (options.format == "nccl-xml")
    return topology::write_nccl_xml(machine);
  if (options.format == "html")
    return page(sight, options);
  return summary(sight, options, columns);
}

int present(Sight& sight, const TopoOptions& options) {
  if (auto possible = check_that_it_can_be_shown(sight, options); !possible)
    return give_up(possible.error());
  if (auto chosen = choose_host(options, sight); !chosen)
    return give_up(chosen.error());
  // Files keep their lines, and a tree its shape.
  const bool wraps = (options.format == "summary" || options.format == "matrix") &&
                     options.output.file.empty() && base::is_terminal(base::StandardStream::out);
  Result<std::string> text = render(sight, options, wraps ? base::text_columns() : 0);
  if (!text)
    return give_up(text.error());
  return deliver(wraps ? within_width(*text) : *text, options.output, base::k_exit_ok);
}

} // namespace

int topo_command(const World& world, const TopoOptions& options) {
  if ((options.placement || options.ceilings) && options.format != "summary" &&
      options.format != "html") {
    Error error{Errc::invalid_argument,
                fmt::format("--{} is shown by --format summary and html only, not by {}",
                            options.placement ? "placement" : "ceilings", options.format),
                "leave --format out"};
    return world.speaks ? give_up(error) : exit_code_of(error);
  }
  if (auto possible = world.speaks ? check_destination(options.output) : Result<void>(); !possible)
    return give_up(possible.error());
  if (!options.from.empty()) {
    if (!world.speaks)
      return base::k_exit_ok;
    Result<Sight> sight = read_sight(options.from);
    return sight ? present(*sight, options) : give_up(sight.error());
  }
  LiveSight live;
  Result<Sight> sight = look_around(world, options, live);
  bool leader = live.fleet ? live.fleet->rank() == 0 : world.speaks;
  if (!sight)
    return leader ? give_up(sight.error()) : exit_code_of(sight.error());
  if (!options.record.empty())
    return record(world, options, *sight, live);
  return leader ? present(*sight, options) : base::k_exit_ok;
}

} // namespace ncclprobe::cli
