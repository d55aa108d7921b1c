// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "topology/read/smi_facts.h"

#include <charconv>
#include <cmath>
#include <string>

namespace ncclprobe::topology {
namespace {

template <typename T>
void set(Fact<T>& fact, std::optional<T> value) {
  fact.fill_from(Fact<T>(std::move(value), Source::nvidia_smi));
}

template <auto Field>
void take_text(Gpu& gpu, std::string_view value) {
  set_smi_text(gpu.*Field, value);
}

template <auto Field>
void take_switch(Gpu& gpu, std::string_view value) {
  if (value == "Enabled" || value == "Disabled")
    set(gpu.*Field, std::optional<bool>(value == "Enabled"));
}

template <auto Field>
void take_int(Gpu& gpu, std::string_view value) {
  set(gpu.*Field, leading_int(value));
}

template <auto Field>
void take_number(Gpu& gpu, std::string_view value) {
  set(gpu.*Field, leading_number(value));
}

template <auto Field>
void take_pcie(Gpu& gpu, std::string_view value) {
  set(gpu.pcie.*Field, leading_int(value));
}

// "In Progress" -> "in_progress"
template <auto Field>
void take_fabric_word(Gpu& gpu, std::string_view value) {
  if (!is_smi_value(value))
    return;
  std::string word;
  for (char c : value)
    word += c == ' ' ? '_' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  set_smi_text(gpu.fabric.*Field, word);
}

template <auto Field>
void take_fabric_text(Gpu& gpu, std::string_view value) {
  set_smi_text(gpu.fabric.*Field, value);
}

void take_clique(Gpu& gpu, std::string_view value) {
  set(gpu.fabric.clique, leading_int(value));
}

void take_memory(Gpu& gpu, std::string_view value) {
  if (auto mib = leading_number(value); mib && *mib < 1e9)
    set(gpu.memory_bytes,
        std::optional(static_cast<std::uint64_t>(std::llround(*mib * 1048576.0))));
}

struct SmiFact {
  std::string_view text;
  std::string_view xml;
  void (*take)(Gpu&, std::string_view);
};

// Names of drivers 450 to 580. XML names are compared without underscores and in lower case,
// because drivers spell them differently ("cliqueId", "clique_id").
constexpr SmiFact k_facts[] = {
    {"Product Name", "productname", take_text<&Gpu::name>},
    {"GPU UUID", "uuid", take_text<&Gpu::uuid>},
    {"VBIOS Version", "vbiosversion", take_text<&Gpu::vbios>},
    {"Persistence Mode", "persistencemode", take_switch<&Gpu::persistence>},
    {"MIG Mode/Current", "migmode/currentmig", take_switch<&Gpu::mig_now>},
    {"MIG Mode/Pending", "migmode/pendingmig", take_switch<&Gpu::mig_pending>},
    {"ECC Mode/Current", "eccmode/currentecc", take_switch<&Gpu::ecc_now>},
    {"Ecc Mode/Current", "", take_switch<&Gpu::ecc_now>},
    {"ECC Mode/Pending", "eccmode/pendingecc", take_switch<&Gpu::ecc_pending>},
    {"Ecc Mode/Pending", "", take_switch<&Gpu::ecc_pending>},
    {"PCI/GPU Link Info/PCIe Generation/Current", "pci/pcigpulinkinfo/pciegen/currentlinkgen",
     take_pcie<&PcieLink::generation_now>},
    {"PCI/GPU Link Info/PCIe Generation/Device Max", "pci/pcigpulinkinfo/pciegen/maxdevicelinkgen",
     take_pcie<&PcieLink::generation_gpu_max>},
    {"PCI/GPU Link Info/PCIe Generation/Max", "pci/pcigpulinkinfo/pciegen/maxlinkgen",
     take_pcie<&PcieLink::generation_slot_max>},
    {"PCI/GPU Link Info/Link Width/Current", "pci/pcigpulinkinfo/linkwidths/currentlinkwidth",
     take_pcie<&PcieLink::width_now>},
    {"PCI/GPU Link Info/Link Width/Max", "pci/pcigpulinkinfo/linkwidths/maxlinkwidth",
     take_pcie<&PcieLink::width_slot_max>},
    {"Clocks/SM", "clocks/smclock", take_int<&Gpu::sm_clock_mhz>},
    {"Clocks/Memory", "clocks/memclock", take_int<&Gpu::memory_clock_mhz>},
    {"Max Clocks/SM", "maxclocks/smclock", take_int<&Gpu::sm_clock_max_mhz>},
    {"Max Clocks/Memory", "maxclocks/memclock", take_int<&Gpu::memory_clock_max_mhz>},
    {"GPU Power Readings/Current Power Limit", "gpupowerreadings/currentpowerlimit",
     take_number<&Gpu::power_limit_w>},
    {"Power Readings/Power Limit", "powerreadings/powerlimit", take_number<&Gpu::power_limit_w>},
    {"GPU Power Readings/Max Power Limit", "gpupowerreadings/maxpowerlimit",
     take_number<&Gpu::power_limit_max_w>},
    {"Power Readings/Max Power Limit", "powerreadings/maxpowerlimit",
     take_number<&Gpu::power_limit_max_w>},
    {"Fabric/State", "fabric/state", take_fabric_word<&Fabric::state>},
    {"Fabric/Status", "fabric/status", take_fabric_word<&Fabric::status>},
    {"Fabric/CliqueId", "fabric/cliqueid", take_clique},
    {"Fabric/ClusterUUID", "fabric/clusteruuid", take_fabric_text<&Fabric::cluster_uuid>},
    {"Fabric/Health/Summary", "fabric/health/summary", take_fabric_text<&Fabric::health>},
    {"FB Memory Usage/Total", "fbmemoryusage/total", take_memory},
};

std::string without_underscores(std::string_view path) {
  std::string plain;
  for (char c : path)
    if (c != '_')
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return plain;
}

} // namespace

void take_smi_value(Gpu& gpu, SmiForm form, std::string_view path, std::string_view value) {
  std::string name = form == SmiForm::xml ? without_underscores(path) : std::string(path);
  for (const SmiFact& fact : k_facts)
    if ((form == SmiForm::xml ? fact.xml : fact.text) == name)
      fact.take(gpu, value);
}

bool is_smi_value(std::string_view value) {
  return !value.empty() && value != "N/A" && value != "[N/A]" && !value.starts_with("Unknown") &&
         !value.starts_with("[");
}

void set_smi_text(Fact<std::string>& fact, std::string_view value) {
  if (is_smi_value(value))
    set(fact, std::optional<std::string>(value));
}

void set_smi_virtualization(Host& host, std::string_view value) {
  if (is_smi_value(value))
    set(host.virtual_machine, std::optional<bool>(value == "Pass-Through" || value == "VGPU"));
}

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

} // namespace ncclprobe::topology
