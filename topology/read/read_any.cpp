// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/read_any.h"

#include "machine/machine_json.h"
#include "machine/source_text.h"

#include "topology/read/clean_names.h"
#include "topology/read/hwloc_source.h"
#include "topology/read/nccl_xml.h"
#include "topology/read/smi_matrix.h"
#include "topology/read/smi_query.h"
#include "topology/read/smi_xml.h"

#include <algorithm>

namespace ncclprobe::topology {

namespace {

// The name of the first element, past declarations and comments.
std::string_view first_element(std::string_view text) {
  while (true) {
    std::size_t open = text.find('<');
    if (open == std::string_view::npos)
      return {};
    text.remove_prefix(open + 1);
    if (text.starts_with("!--")) {
      std::size_t end = text.find("-->");
      text.remove_prefix(std::min(end, text.size()));
    } else if (!text.starts_with('?') && !text.starts_with('!')) {
      return text.substr(0, text.find_first_of(" \t\r\n/>"));
    }
  }
}

} // namespace

Result<FileFormat> detect_format(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  std::string_view begin = trimmed(text);
  if (begin.starts_with('<')) {
    std::string_view element = first_element(begin);
    if (element == "system")
      return FileFormat::nccl_xml;
    if (element == "graphs")
      return FileFormat::nccl_graph;
    if (element == "topology")
      return FileFormat::hwloc_xml;
    if (element == "nvidia_smi_log")
      return FileFormat::smi_xml;
    return fail_at(name, 1,
                   "XML of an unknown kind, <{}>; known are <system> and <graphs> of NCCL, "
                   "<topology> of hwloc and <nvidia_smi_log> of nvidia-smi",
                   element);
  }
  if (begin.starts_with('{'))
    return FileFormat::json;
  std::vector<std::string> lines = plain_lines(text);
  if (has_smi_query(lines))
    return FileFormat::smi_query;
  if (has_smi_matrix(lines))
    return FileFormat::smi_matrix;
  if (is_smi_link_list(lines))
    return FileFormat::smi_nvlink;
  return fail(Error{Errc::invalid_argument, name + ":1: not a description of a machine",
                    "supported are NCCL's topology and graph dumps, hwloc XML, the output of "
                    "nvidia-smi topo -m, nvidia-smi -q (with or without -x) and nvidia-smi nvlink "
                    "-s, and the output of ncclprobe topo --format json"});
}

Result<ReadFile> read_any(std::string_view text, const std::string& name) {
  text = without_byte_order_mark(text);
  NCCLPROBE_TRY_ASSIGN(FileFormat format, detect_format(text, name));
  if (format == FileFormat::nccl_graph) {
    NCCLPROBE_TRY_ASSIGN(auto graphs, read_nccl_graphs(text, name));
    clean_names(graphs);
    return ReadFile{format, std::move(graphs)};
  }
  auto read = [&] {
    switch (format) {
    case FileFormat::nccl_xml:
      return read_nccl_xml(text, name);
    case FileFormat::hwloc_xml:
      return read_hwloc_xml(text, name);
    case FileFormat::smi_matrix:
      return read_smi_matrix(text, name);
    case FileFormat::smi_query:
      return read_smi_query(text, name);
    case FileFormat::smi_xml:
      return read_smi_xml(text, name);
    case FileFormat::smi_nvlink:
      return read_smi_nvlink(text, name);
    default:
      return read_machine_json(text, name);
    }
  };
  NCCLPROBE_TRY_ASSIGN(Machine machine, read());
  clean_names(machine);
  return ReadFile{format, std::move(machine)};
}

} // namespace ncclprobe::topology
