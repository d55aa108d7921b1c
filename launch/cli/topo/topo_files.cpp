// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/topo/topo_files.h"

#include "machine/source_text.h"

#include "base/atomic_file.h"
#include "topology/read/read_any.h"

#include <filesystem>

namespace ncclprobe::cli {
namespace {

base::Result<std::string> content_of(const std::string& file) {
  if (file == "-")
    return base::read_file("/dev/stdin");
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return base::fail(base::Errc::invalid_argument,
                      "{} is a folder; give files of it, such as {}/topology.json", file, file);
  return base::read_text(file, topology::k_most_file_bytes);
}

} // namespace

base::Result<Sight> read_sight(const std::vector<std::string>& files) {
  Sight sight;
  for (const std::string& file : files) {
    NCCLPROBE_TRY_ASSIGN(std::string text, content_of(file));
    NCCLPROBE_TRY_ASSIGN(topology::ReadFile read,
                         topology::read_any(text, file == "-" ? "standard input" : file));
    if (auto* machine = std::get_if<topology::Machine>(&read.content)) {
      for (topology::Host& host : machine->hosts)
        sight.machine.hosts.push_back(std::move(host));
    } else if (sight.graphs.empty()) {
      sight.graphs = std::move(std::get<std::vector<topology::NcclGraph>>(read.content));
    } else {
      return base::fail(base::Errc::invalid_argument,
                        "{}: a second file of NCCL's graphs; give one at a time", file);
    }
  }
  if (sight.machine.hosts.empty() && sight.graphs.empty())
    return base::fail(base::Errc::invalid_argument, "{}: no machine in it", files.front());
  return sight;
}

} // namespace ncclprobe::cli
