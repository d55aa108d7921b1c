// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/topo_files.h"

#include "base/atomic_file.h"
#include "topology/read/read_any.h"

#include <filesystem>

namespace ncclprobe::cli {
namespace {

// Far beyond any topology; a log given by mistake must not fill the memory.
constexpr std::uintmax_t k_most_bytes = 64U << 20;

base::Result<std::string> content_of(const std::string& file) {
  if (file == "-")
    return base::read_file("/dev/stdin");
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    return base::fail(base::Errc::invalid_argument,
                      "{} is a folder; give files of it, such as {}/topology.json", file, file);
  if (auto bytes = std::filesystem::file_size(file, error); !error && bytes > k_most_bytes)
    return base::fail(base::Errc::invalid_argument, "{} has {} MiB, which no topology has", file,
                      bytes >> 20U);
  return base::read_file(file);
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
