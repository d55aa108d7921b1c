// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/machine_files.h"

#include "support/catch.h"
#include "support/paths.h"
#include "topology/paths.h"
#include "topology/read/read_any.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace ncclprobe::topology_test {

using namespace topology;

namespace {

std::optional<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

} // namespace

std::string machine_text(const std::string& name) {
  auto text = text_of(support::source_dir() + "/tests/machines/" + name);
  INFO(name);
  REQUIRE(text);
  return *text;
}

Machine read_machine(const std::string& name) {
  auto read = read_any(machine_text(name), name);
  INFO(name << ": " << (read ? "" : read.error().text()));
  REQUIRE(read);
  REQUIRE(std::holds_alternative<Machine>(read->content));
  return std::get<Machine>(read->content);
}

std::optional<std::string> cloud_text(const std::string& name) {
  return text_of(support::source_dir() + "/../shared/topologies/" + name);
}

const std::vector<std::string>& machine_names() {
  static const std::vector<std::string> names{
      "bridged-pair.xml", "dgx-a100.xml",     "dgx1-v100.xml",        "eight-h200-vm.topo-m.txt",
      "four-t4.xml",      "h200-vm.q.txt",    "h200-vm.nvlink-s.txt", "no-gpu.xml",
      "one-gpu.xml",      "p5-by-hand.xml",   "smt-nvlink-hwloc.xml", "switches-hwloc.xml",
      "two-h100.q.xml",   "two-h200-vm.json", "two-h200-vm.xml"};
  return names;
}

std::string labels(const Machine& machine) {
  std::string text;
  for (const Host& host : machine.hosts) {
    std::vector<DeviceRef> devices;
    for (const Gpu& gpu : host.gpus)
      devices.push_back({DeviceKind::gpu, gpu.index});
    for (const Nic& nic : host.nics)
      devices.push_back({DeviceKind::nic, nic.index});
    for (const DeviceRef& row : devices) {
      text += text.empty() ? "" : " / ";
      for (const DeviceRef& column : devices)
        text +=
            (column == devices.front() ? "" : " ") + path_between(host, row, column).path.label();
    }
  }
  return text;
}

} // namespace ncclprobe::topology_test
