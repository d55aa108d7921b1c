// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/driver.h"

#include "base/text_files.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace ncclprobe::system {

using namespace base;
namespace {

namespace fs = std::filesystem;

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ..."
void read_module(const fs::path& root, model::DriverSurvey& into) {
  for (const std::string& line : lines_of(root / "proc/driver/nvidia/version")) {
    if (!line.starts_with("NVRM version:"))
      continue;
    into.flavour = line.find("Open Kernel Module") != std::string::npos ? "open" : "proprietary";
    for (const std::string& word : words_of(line)) {
      bool looks_like_version =
          std::ranges::count(word, '.') >= 1 && std::ranges::all_of(word, [](char letter) {
            return letter == '.' || (letter >= '0' && letter <= '9');
          });
      if (looks_like_version) {
        into.module_version = word;
        return;
      }
    }
  }
}

void read_modules(const fs::path& root, model::DriverSurvey& into) {
  constexpr std::array k_names{"nvidia",     "nvidia_uvm",    "nvidia_peermem", "nv_peer_mem",
                               "nvidia_fs",  "gdrdrv",        "nouveau",        "ib_core",
                               "nvidia_drm", "nvidia_modeset"};
  for (const std::string& line : lines_of(root / "proc/modules")) {
    std::string name = line.substr(0, line.find(' '));
    if (std::ranges::find(k_names, name) != k_names.end())
      into.modules.push_back({name, text_of(root / "sys/module" / name / "version")});
  }
  std::ranges::sort(into.modules, [](const auto& a, const auto& b) { return a.name < b.name; });
}

// The kernel cuts names at 15 letters.
void read_services(const fs::path& root, model::DriverSurvey& into) {
  constexpr std::array k_names{
      "nv-fabricmanager",       "nvidia-persistenced", "nvidia-cuda-mps-control",
      "nvidia-cuda-mps-server", "nvidia-imex",         "nv-hostengine"};
  for (const std::string& name : names_in(root / "proc")) {
    if (!number_of<int>(name))
      continue;
    std::string comm = text_of(root / "proc" / name / "comm");
    // Two names share their first 15 letters; their command lines distinguish them.
    std::string words = comm.starts_with("nvidia-cuda-mps")
                            ? text_of(root / "proc" / name / "cmdline")
                            : std::string();
    for (std::string_view service : k_names) {
      bool is_it = comm == service.substr(0, 15) &&
                   (words.empty() || words.find(service) != std::string::npos);
      if (is_it && std::ranges::find(into.services, service) == into.services.end())
        into.services.emplace_back(service);
    }
  }
  std::ranges::sort(into.services);
}

// "Package: nvidia-fabricmanager-580" ... "Version: 580.95.05-1" in dpkg's list of what is
// installed.
std::string fabric_manager_package(const fs::path& root) {
  std::ifstream status(root / "var/lib/dpkg/status");
  bool inside = false;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Package: "))
      inside =
          line.find("fabricmanager") != std::string::npos && line.find("-dev") == std::string::npos;
    constexpr std::string_view k_version = "Version: ";
    if (inside && line.starts_with(k_version))
      return line.substr(k_version.size(), line.find('-') - k_version.size());
  }
  return "";
}

void read_pci(const fs::path& root, model::DriverSurvey& into) {
  fs::path devices = root / "sys/bus/pci/devices";
  for (const std::string& address : names_in(devices)) {
    if (text_of(devices / address / "vendor") != "0x10de")
      continue;
    std::string kind = text_of(devices / address / "class");
    if (kind.starts_with("0x03")) // display and 3D controllers
      ++into.nvidia_pci_devices;
    if (kind.starts_with("0x0680")) // "other bridge": an NVSwitch
      ++into.nvswitches;
  }
}

} // namespace

model::DriverSurvey driver_survey(const fs::path& root) {
  model::DriverSurvey found;
  read_module(root, found);
  read_modules(root, found);
  read_services(root, found);
  read_pci(root, found);
  found.fabric_manager_version = fabric_manager_package(root);
  for (const std::string& name : names_in(root / "dev"))
    if (name.starts_with("nvidia"))
      found.device_files.push_back("/dev/" + name);
  for (const std::string& name : names_in(root / "dev/nvidia-caps-imex-channels"))
    found.device_files.push_back("/dev/nvidia-caps-imex-channels/" + name);
  for (const std::string& name : names_in(root / "dev/infiniband"))
    if (name.starts_with("uverbs"))
      found.device_files.push_back("/dev/infiniband/" + name);
  return found;
}

} // namespace ncclprobe::system
