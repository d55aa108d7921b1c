// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/smi_xml.h"

#include "machine/validate.h"

#include "topology/derive.h"
#include "topology/read/smi_facts.h"
#include "topology/read/xml.h"

namespace ncclprobe::topology {

using pugi::xml_node;

namespace {

// Every value below `node`, whose own path ends in '/'.
void take_values(Gpu& gpu, const xml_node& node, const std::string& path) {
  for (xml_node child : node.children()) {
    if (child.type() != pugi::node_element)
      continue;
    std::string name = path + child.name();
    take_smi_value(gpu, SmiForm::xml, name, trimmed(child.child_value()));
    take_values(gpu, child, name + "/");
  }
}

Result<Gpu> read_gpu(const XmlFile& file, const xml_node& node, std::size_t index) {
  auto written = XmlFile::text(node, "id");
  auto bus_id = normal_bus_id(written.value_or(""));
  if (!bus_id)
    return file.fail_at(node, "<gpu id=\"{}\"> does not name a GPU by its bus id",
                        written.value_or(""));
  Gpu gpu;
  gpu.index = static_cast<int>(index);
  gpu.bus_id = Fact<std::string>(*bus_id, Source::nvidia_smi);
  take_values(gpu, node, "");
  return gpu;
}

} // namespace

Result<Machine> read_smi_xml(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY_ASSIGN(XmlFile file, XmlFile::parse(text, name));
  xml_node root = file.root();
  if (std::string_view(root.name()) != "nvidia_smi_log")
    return file.fail_at(root, "nvidia-smi -q -x begins with <nvidia_smi_log>, not <{}>",
                        root.name());
  Host host;
  set_smi_text(host.driver_version, trimmed(root.child_value("driver_version")));
  set_smi_text(host.cuda_driver_version, trimmed(root.child_value("cuda_version")));
  for (xml_node node : root.children("gpu")) {
    NCCLPROBE_TRY_ASSIGN(Gpu gpu, read_gpu(file, node, host.gpus.size()));
    host.gpus.push_back(std::move(gpu));
    set_smi_virtualization(
        host, trimmed(node.child("gpu_virtualization_mode").child_value("virtualization_mode")));
  }
  add_absent_nvlinks(host);
  return machine_of(std::move(host), name);
}

} // namespace ncclprobe::topology
