// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_record.h"

#include "machine/machine_json.h"

#include "base/exit_code.h"
#include "base/output_file.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "launch/supervisor/tool.h"
#include "topology/render/facts.h"
#include "topology/render/nccl_xml.h"
#include "topology/render/summary.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <regex>

namespace ncclprobe::cli {
namespace {

constexpr std::chrono::seconds k_tool_patience{30};
constexpr const char* k_list_name = "README.txt";

struct File {
  std::string name;
  Result<std::string> content;
  std::string about;
};

topology::Host without_names(topology::Host host) {
  host.name = {};
  host.id = {};
  for (topology::Gpu& gpu : host.gpus) {
    gpu.uuid = {};
    gpu.fabric.cluster_uuid = {};
  }
  for (topology::Nic& nic : host.nics)
    nic.guid = {};
  return host;
}

File tool(const World& world, const std::string& name, const std::vector<std::string>& words) {
  return {name, launch::output_of_tool(words, world.environment, k_tool_patience),
          fmt::format("{}", fmt::join(words, " "))};
}

Result<std::string> text_or(const std::string& text, const char* why) {
  if (text.empty())
    return fail(Errc::unavailable, "{}", why);
  return text;
}

std::vector<File> gather(const World& world, const LiveSight& live, const topology::Host& host,
                         const std::vector<std::string>& contradictions) {
  topology::Machine machine{{host}};
  const char* no_nccl = "NCCL was not asked or did not answer";
  return {
      {"topology.json", topology::write_machine_json(machine), "all facts and their sources"},
      {"facts.txt", topology::render_facts(machine), "the same as a list"},
      {"summary.txt", topology::render_summary(machine, {contradictions}), "what topo shows"},
      {"topology-for-nccl.xml", topology::write_nccl_xml(machine), "our facts as NCCL_TOPO_FILE"},
      {"nccl-topology.xml", text_or(live.nccl_topology, no_nccl), "NCCL_TOPO_DUMP_FILE"},
      {"nccl-graphs.xml", text_or(live.nccl_graphs, no_nccl), "NCCL_GRAPH_DUMP_FILE"},
      // By the worker: looking loads libraries, and sets variables for them.
      {"hwloc.xml",
       launch::output_of_tool({live.worker.path.string(), "--hwloc-xml"}, live.worker.environment,
                              k_tool_patience),
       "hwloc's view of the host"},
      tool(world, "nvidia-smi-topo-m.txt", {"nvidia-smi", "topo", "-m"}),
      tool(world, "nvidia-smi-q.txt", {"nvidia-smi", "-q"}),
      tool(world, "nvidia-smi-nvlink-s.txt", {"nvidia-smi", "nvlink", "-s"}),
  };
}

std::string contents(const std::vector<File>& files, const TopoOptions& options) {
  std::string text = fmt::format("A machine recorded by ncclprobe {}.\n\n", base::version());
  for (const File& file : files)
    text += file.content ? fmt::format("{:24} {}\n", file.name, file.about)
                         : fmt::format("{:24} missing: {} ({})\n", file.name,
                                       file.content.error().message, file.about);
  text += options.names
              ? "\nHost names, hardware addresses, UUIDs and serial numbers are included.\n"
              : "\nLeft out: host names and their hashes, hardware addresses, UUIDs, serial "
                "numbers (--names keeps them).\nBus ids and the names of network "
                "interfaces are included.\n";
  return text;
}

Result<std::string> record_host(const World& world, const TopoOptions& options, const Sight& sight,
                                const LiveSight& live, std::size_t number) {
  std::filesystem::path folder = options.record;
  if (sight.machine.hosts.size() > 1)
    folder /= fmt::format("host-{}", number);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::io, "cannot make the folder {}: {}", folder.string(), error.message());
  const auto to = [&](const std::string& name) {
    return base::Destination{folder / name, options.output.overwrite};
  };
  NCCLPROBE_TRY(base::check_output_file(to(k_list_name)));
  topology::Host host = live.own.topology;
  std::vector<File> files = gather(
      world, live, options.names ? host : without_names(std::move(host)), live.own.contradictions);
  for (const File& file : files)
    if (file.content)
      NCCLPROBE_TRY(base::write_output_file(
          to(file.name), options.names ? *file.content : cli::without_names(*file.content)));
  std::string list = contents(files, options);
  NCCLPROBE_TRY(base::write_output_file(to(k_list_name), list));
  return folder.string() + ":\n" + list;
}

} // namespace

std::string without_names(const std::string& text) {
  // In nvidia-smi's, NCCL's and hwloc's ways of writing them.
  static const std::regex k_uuid(
      "(GPU-|MIG-)?[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");
  static const std::regex k_nccl("(host_hash|guid)=\"[^\"]*\"");
  static const std::regex k_hwloc("(name=\"(HostName|LinuxCgroup|[^\"]*Serial[^\"]*|[^\"]*UUID|"
                                  "Address|[^\"]*GUID[^\"]*|[^\"]*GID[^\"]*|"
                                  "[^\"]*AssetTag)\" value=)\"[^\"]*\"");
  static const std::regex k_smi(
      "([^\n]*(Serial Number|Serial|GPU PDI|GUID|Asset Tag|Chassis|Host ID)"
      "[^\n:]*: )[^\n]*");
  std::string out; // line by line: std::regex recurses for each character it passes
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    std::string line = text.substr(at, end + 1 - at);
    line = std::regex_replace(line, k_uuid, "left-out");
    line = std::regex_replace(line, k_nccl, "$1=\"0x0\"");
    line = std::regex_replace(line, k_hwloc, "$1\"left-out\"");
    out += std::regex_replace(line, k_smi, "$1left-out");
    at = end + 1;
  }
  return out;
}

int record(const World& world, const TopoOptions& options, const Sight& sight, LiveSight& live) {
  auto told = live.fleet->all_gather(live.first_here ? "1" : "", k_look_patience);
  if (!told)
    return live.fleet->rank() == 0 ? give_up(told.error()) : exit_code_of(told.error());
  const std::vector<std::string>& first = *told;
  auto own = first.begin() + live.fleet->rank();
  auto number = static_cast<std::size_t>(std::count(first.begin(), own, "1"));
  std::string said;
  if (live.first_here) {
    auto recorded = record_host(world, options, sight, live, number);
    said = recorded ? "+" + *recorded
                    : (recorded.error().code == Errc::io ? "-" : "!") + recorded.error().text();
  }
  int exit_code = base::k_exit_ok;
  std::string text;
  auto all = live.fleet->all_gather(said, k_look_patience);
  if (!all)
    return live.fleet->rank() == 0 ? give_up(all.error()) : exit_code_of(all.error());
  for (const std::string& one : *all) {
    if (one.empty())
      continue;
    if (one.front() != '+')
      exit_code = one.front() == '-' ? base::k_exit_output : base::k_exit_usage;
    text += one.substr(1) + "\n";
  }
  if (live.fleet->rank() != 0)
    return base::k_exit_ok;
  if (exit_code == base::k_exit_ok)
    return show(text, exit_code);
  give_up({Errc::io, text, ""});
  return exit_code;
}

} // namespace ncclprobe::cli
