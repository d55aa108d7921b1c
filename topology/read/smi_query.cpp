// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/smi_query.h"

#include "base/text_files.h"
#include "topology/read/source_text.h"
#include "topology/validate.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ncclprobe::topology {

using base::Result;

namespace {

constexpr std::size_t k_most_gpus = 1024;
constexpr std::size_t k_most_links = 256;

// The number in front: "700.00 W", "16x", "3201 MHz", "143771 MiB".
std::optional<double> leading_number(std::string_view value) {
  double number = 0;
  auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || !(number >= 0 && number < 1e12))
    return std::nullopt;
  return number;
}

std::optional<int> leading_int(std::string_view value) {
  auto number = leading_number(value);
  if (!number || *number > 1e9)
    return std::nullopt;
  return static_cast<int>(*number);
}

bool is_known(std::string_view value) {
  return !value.empty() && value != "N/A" && value != "[N/A]" && !value.starts_with("Unknown") &&
         !value.starts_with("[");
}

template <typename T>
void set(Fact<T>& fact, std::optional<T> value) {
  fact.fill_from(Fact<T>(std::move(value), Source::nvidia_smi));
}

void set_text(Fact<std::string>& fact, std::string_view value) {
  if (is_known(value))
    set(fact, std::optional<std::string>(value));
}

void set_switch(Fact<bool>& fact, std::string_view value) {
  if (value == "Enabled" || value == "Disabled")
    set(fact, std::optional<bool>(value == "Enabled"));
}

std::string lower_with_underscores(std::string_view text) {
  std::string result;
  for (char c : text)
    result += c == ' ' ? '_' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return result;
}

// One "key : value" of a GPU; `path` is the keys above it, joined by '/', and its own.
void take(Gpu& gpu, std::string_view path, std::string_view value) {
  if (path == "Product Name")
    set_text(gpu.name, value);
  else if (path == "GPU UUID")
    set_text(gpu.uuid, value);
  else if (path == "Persistence Mode")
    set_switch(gpu.persistence, value);
  else if (path == "MIG Mode/Current")
    set_switch(gpu.mig_now, value);
  else if (path == "MIG Mode/Pending")
    set_switch(gpu.mig_pending, value);
  else if (path == "ECC Mode/Current" || path == "Ecc Mode/Current")
    set_switch(gpu.ecc_now, value);
  else if (path == "ECC Mode/Pending" || path == "Ecc Mode/Pending")
    set_switch(gpu.ecc_pending, value);
  else if (path == "PCI/GPU Link Info/PCIe Generation/Current")
    set(gpu.pcie.generation_now, leading_int(value));
  else if (path == "PCI/GPU Link Info/PCIe Generation/Device Max")
    set(gpu.pcie.generation_gpu_max, leading_int(value));
  else if (path == "PCI/GPU Link Info/PCIe Generation/Max")
    set(gpu.pcie.generation_slot_max, leading_int(value));
  else if (path == "PCI/GPU Link Info/Link Width/Current")
    set(gpu.pcie.width_now, leading_int(value));
  else if (path == "PCI/GPU Link Info/Link Width/Max")
    set(gpu.pcie.width_slot_max, leading_int(value));
  else if (path == "Clocks/SM")
    set(gpu.sm_clock_mhz, leading_int(value));
  else if (path == "Clocks/Memory")
    set(gpu.memory_clock_mhz, leading_int(value));
  else if (path == "Max Clocks/SM")
    set(gpu.sm_clock_max_mhz, leading_int(value));
  else if (path == "Max Clocks/Memory")
    set(gpu.memory_clock_max_mhz, leading_int(value));
  else if (path == "GPU Power Readings/Current Power Limit" || path == "Power Readings/Power Limit")
    set(gpu.power_limit_w, leading_number(value));
  else if (path == "GPU Power Readings/Max Power Limit" || path == "Power Readings/Max Power Limit")
    set(gpu.power_limit_max_w, leading_number(value));
  else if (path == "Fabric/State")
    set_text(gpu.fabric.state, is_known(value) ? lower_with_underscores(value) : "");
  else if (path == "Fabric/Status")
    set_text(gpu.fabric.status, is_known(value) ? lower_with_underscores(value) : "");
  else if (path == "Fabric/CliqueId")
    set(gpu.fabric.clique, leading_int(value));
  else if (path == "Fabric/ClusterUUID")
    set_text(gpu.fabric.cluster_uuid, value);
  else if (path == "Fabric/Health/Summary")
    set_text(gpu.fabric.health, value);
  else if (path == "FB Memory Usage/Total")
    if (auto mib = leading_number(value); mib && *mib < 1e9)
      set(gpu.memory_bytes,
          std::optional(static_cast<std::uint64_t>(std::llround(*mib * 1048576.0))));
}

void take_from_heading(Host& host, std::string_view key, std::string_view value) {
  if (key == "Driver Version")
    set_text(host.driver_version, value);
  else if (key == "CUDA Version")
    set_text(host.cuda_driver_version, value);
}

} // namespace

Result<Machine> read_smi_query(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  constexpr std::size_t k_indent = 4;
  std::vector<std::string> lines = plain_lines(text);
  Host host;
  std::vector<std::string> path; // the keys that the line stands below
  bool begun = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (trimmed(line).empty())
      continue;
    begun = begun || line.find("NVSMI LOG") != std::string_view::npos;
    if (line.starts_with("GPU ")) {
      auto bus_id = normal_bus_id(trimmed(line.substr(4)));
      if (!bus_id)
        return fail_at(name, i + 1, "'{}' does not name a GPU by its bus id", trimmed(line));
      if (host.gpus.size() == k_most_gpus)
        return fail_at(name, i + 1, "more than {} GPUs", k_most_gpus);
      Gpu gpu;
      gpu.index = static_cast<int>(host.gpus.size());
      gpu.bus_id = Fact<std::string>(*bus_id, Source::nvidia_smi);
      host.gpus.push_back(std::move(gpu));
      path.clear();
      continue;
    }
    std::size_t colon = line.find(" : ");
    std::string_view key = trimmed(line.substr(0, colon));
    std::string_view value =
        colon == std::string_view::npos ? std::string_view() : trimmed(line.substr(colon + 3));
    if (host.gpus.empty()) {
      take_from_heading(host, key, value);
      continue;
    }
    std::size_t level = line.find_first_not_of(' ') / k_indent;
    path.resize(std::min(path.size(), level < 1 ? 0 : level - 1));
    path.emplace_back(key);
    if (colon == std::string_view::npos)
      continue;
    std::string joined;
    for (const std::string& part : path)
      joined += (joined.empty() ? "" : "/") + part;
    take(host.gpus.back(), joined, value);
    if (joined == "GPU Virtualization Mode/Virtualization Mode" && is_known(value))
      set(host.virtual_machine, std::optional<bool>(value == "Pass-Through" || value == "VGPU"));
  }
  if (!begun && host.gpus.empty())
    return fail_at(name, 1, "no 'NVSMI LOG' and no 'GPU <bus id>': not the text of nvidia-smi -q");
  Machine machine;
  machine.hosts.push_back(std::move(host));
  NCCLPROBE_TRY(validate(machine, name));
  return machine;
}

Result<Machine> read_smi_nvlink(std::string_view text, const std::string& name) {
  NCCLPROBE_TRY(check_text(text, name));
  std::vector<std::string> lines = plain_lines(text);
  Host host;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = trimmed(lines[i]);
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      continue;
    std::string_view value = trimmed(line.substr(colon + 1));
    auto words = base::words_of(line.substr(0, colon));
    auto number = words.size() == 2 ? leading_int(words[1]) : std::nullopt;
    if (number && words[0] == "GPU") {
      if (host.gpus.size() == k_most_gpus)
        return fail_at(name, i + 1, "more than {} GPUs", k_most_gpus);
      if (host.gpu(*number))
        return fail_at(name, i + 1, "GPU {} a second time", *number);
      Gpu gpu;
      gpu.index = *number;
      std::size_t uuid = value.find(" (UUID: ");
      set_text(gpu.name, trimmed(value.substr(0, uuid)));
      if (uuid != std::string_view::npos && value.ends_with(')'))
        set_text(gpu.uuid, value.substr(uuid + 8, value.size() - uuid - 9));
      gpu.nvlinks = Fact<std::vector<NvLink>>(std::vector<NvLink>{}, Source::nvidia_smi);
      host.gpus.push_back(std::move(gpu));
    } else if (number && words[0] == "Link") {
      if (host.gpus.empty())
        return fail_at(name, i + 1, "a link before the first GPU");
      auto& links = *host.gpus.back().nvlinks;
      if (links.size() == k_most_links)
        return fail_at(name, i + 1, "a GPU with more than {} NVLinks", k_most_links);
      if (std::ranges::any_of(links,
                              [&](const NvLink& link) { return link.number.value == *number; }))
        return fail_at(name, i + 1, "link {} a second time", *number);
      auto rate = leading_number(value);
      if (!rate && value != "<inactive>" && value != "inactive")
        return fail_at(name, i + 1, "'{}' is neither a rate nor <inactive>", value);
      NvLink link;
      link.number = Fact<int>(*number, Source::nvidia_smi);
      link.active = Fact<bool>(rate.value_or(0) > 0, Source::nvidia_smi);
      link.gb_per_s = Fact<double>(rate, Source::nvidia_smi);
      links.push_back(std::move(link));
    }
  }
  if (host.gpus.empty())
    return fail_at(name, 1,
                   "no line like 'GPU 0: NVIDIA H200': not the text of nvidia-smi nvlink -s");
  std::ranges::sort(host.gpus, {}, &Gpu::index);
  Machine machine;
  machine.hosts.push_back(std::move(host));
  NCCLPROBE_TRY(validate(machine, name));
  return machine;
}

} // namespace ncclprobe::topology
