// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/topo_command.h"

#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "cli/command_end.h"
#include "cli/topo_files.h"
#include "cli/topo_live.h"
#include "cli/topo_record.h"
#include "topology/machine_json.h"
#include "topology/render/dot.h"
#include "topology/render/facts.h"
#include "topology/render/matrix.h"
#include "topology/render/nccl_xml.h"
#include "topology/render/predictions.h"
#include "topology/render/summary.h"
#include "topology/render/svg.h"
#include "topology/render/tree.h"

namespace ncclprobe::cli {
namespace {

using base::Result;

Result<void> choose_host(const TopoOptions& options, Sight& sight) {
  if (!options.host)
    return {};
  auto number = static_cast<std::size_t>(*options.host);
  auto& hosts = sight.machine.hosts;
  if (number >= hosts.size())
    return base::fail(base::Errc::invalid_argument, "--host {}: there {} {} host{}, from 0", number,
                      hosts.size() == 1 ? "is" : "are", hosts.size(), hosts.size() == 1 ? "" : "s");
  hosts = {hosts[number]};
  std::vector<topology::RankSeat> seats;
  for (topology::RankSeat seat : sight.seats)
    if (seat.host == *options.host) {
      seat.host = 0;
      seats.push_back(std::move(seat));
    }
  sight.seats = std::move(seats);
  if (!sight.contradictions.empty())
    sight.contradictions = {sight.contradictions[number]};
  return {};
}

std::string summary(const Sight& sight, const TopoOptions& options) {
  std::string text = topology::render_summary(sight.machine, sight.contradictions);
  for (const std::string& warning : topology::misplaced(sight.machine, sight.seats))
    text += "warning: " + warning + "\n";
  for (const std::string& remark : sight.remarks)
    text += "note: " + remark + "\n";
  if (options.ceilings)
    text += "\n" + topology::render_ceilings(sight.machine);
  if (options.placement)
    text += "\n" + topology::render_placement(sight.machine);
  return text;
}

Result<std::string> render(const Sight& sight, const TopoOptions& options) {
  const topology::Machine& machine = sight.machine;
  if (options.format == "matrix")
    return topology::render_matrix(machine, topology::Legend::yes);
  if (options.format == "tree")
    return topology::render_tree(machine, topology::Lines::utf8);
  if (options.format == "json")
    return topology::write_machine_json(machine);
  if (options.format == "dot")
    return topology::render_dot(machine);
  if (options.format == "svg")
    return topology::render_svg(machine);
  if (options.format == "facts")
    return topology::render_facts(machine);
  if (options.format == "nccl-xml")
    return topology::write_nccl_xml(machine);
  return summary(sight, options);
}

int present(Sight& sight, const TopoOptions& options) {
  if (auto chosen = choose_host(options, sight); !chosen)
    return give_up(chosen.error());
  Result<std::string> text = render(sight, options);
  if (!text)
    return give_up(text.error());
  if (options.output.empty())
    return show(*text, base::k_exit_ok);
  if (auto written = base::write_file_atomically(options.output, *text); !written) {
    give_up(written.error());
    return base::k_exit_output;
  }
  return base::k_exit_ok;
}

} // namespace

int topo_command(const World& world, const TopoOptions& options) {
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
