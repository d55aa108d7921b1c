// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"
#include "topology/read/nccl_graph.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ncclprobe::topology {

enum class FileFormat {
  nccl_xml,
  nccl_graph,
  hwloc_xml,
  json, // what write_machine_json() wrote
  smi_matrix,
  smi_query,
  smi_xml,
  smi_nvlink,
};

constexpr auto enum_names(FileFormat) {
  using E = std::pair<FileFormat, std::string_view>;
  return std::array{E{FileFormat::nccl_xml, "NCCL topology"},
                    E{FileFormat::nccl_graph, "NCCL graphs"},
                    E{FileFormat::hwloc_xml, "hwloc topology"},
                    E{FileFormat::json, "ncclprobe topology"},
                    E{FileFormat::smi_matrix, "nvidia-smi topo -m"},
                    E{FileFormat::smi_query, "nvidia-smi -q"},
                    E{FileFormat::smi_xml, "nvidia-smi -q -x"},
                    E{FileFormat::smi_nvlink, "nvidia-smi nvlink -s"}};
}

// Detects the format from the content. Errors: invalid_argument, naming the supported formats.
Result<FileFormat> detect_format(std::string_view text, const std::string& name);

struct ReadFile {
  FileFormat format = FileFormat::json;
  std::variant<Machine, std::vector<NcclGraph>> content; // graphs for FileFormat::nccl_graph
};

// Any file that describes a machine, in a supported format. Errors: invalid_argument with file and
// line.
Result<ReadFile> read_any(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
