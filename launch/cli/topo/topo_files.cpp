// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_files.h"

#include "machine/source_text.h"

#include "base/atomic_file.h"
#include "launch/cli/common/file_kind.h"
#include "launch/cli/job/session.h"
#include "store/run_file.h"
#include "topology/read/read_any.h"

#include <filesystem>

namespace ncclprobe::cli {
namespace {

Result<std::string> content_of(const std::string& file) {
  if (file == "-")
    return base::read_file("/dev/stdin");
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return fail(Errc::invalid_argument,
                "{} is a folder; give files of it, such as {}/topology.json", file, file);
  return base::read_text(file, topology::k_most_file_bytes);
}

// The hosts of a run, as its workers saw them, and where its ranks were.
Result<void> add_run(const std::string& file, Sight& sight) {
  auto run = store::read_run(file, store::Rows::drop);
  if (!run) {
    Error error = std::move(run.error());
    if (error.code == Errc::protocol)
      error.code = Errc::invalid_argument;
    return fail(std::move(error));
  }
  const auto first = static_cast<int>(sight.machine.hosts.size());
  for (const model::RankPlace& place : run->header.ranks) {
    const model::HostInventory& host = run->header.hosts.at(place.host);
    if (static_cast<std::size_t>(place.device) >= host.gpus.size())
      continue; // a rank on the CPU
    if (auto gpu = topology_gpu(host, place.device))
      sight.ranks.push_back({place.rank, first + place.host, *gpu, {}});
  }
  for (model::HostInventory& host : run->header.hosts) {
    if (host.topology == topology::Host{})
      return fail(Errc::invalid_argument, "{}: the machine was not recorded when this was measured",
                  file);
    sight.machine.hosts.push_back(std::move(host.topology));
  }
  return {};
}

} // namespace

Result<Sight> read_sight(const std::vector<std::string>& files) {
  Sight sight;
  for (const std::string& file : files) {
    if (kind_of_file(file) == InputKind::run) {
      NCCLPROBE_TRY(add_run(file, sight));
      continue;
    }
    NCCLPROBE_TRY_ASSIGN(std::string text, content_of(file));
    auto read = topology::read_any(text, file == "-" ? "standard input" : file);
    if (!read)
      return fail(with_right_command(std::move(read.error()), file));
    if (auto* machine = std::get_if<topology::Machine>(&read->content)) {
      for (topology::Host& host : machine->hosts)
        sight.machine.hosts.push_back(std::move(host));
    } else if (sight.graphs.empty()) {
      sight.graphs = std::move(std::get<std::vector<topology::NcclGraph>>(read->content));
    } else {
      return fail(Errc::invalid_argument, "{}: a second file of NCCL's graphs; give one at a time",
                  file);
    }
  }
  if (sight.machine.hosts.empty() && sight.graphs.empty())
    return fail(Errc::invalid_argument, "{}: no machine in it", files.front());
  return sight;
}

} // namespace ncclprobe::cli
