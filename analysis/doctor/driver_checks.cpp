// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// The driver, and whether runtime and code match it.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

// User libraries and kernel module come in one package and must have the same version.
void check_module(const Case& one, const model::Survey& survey, CheckResults& into) {
  const model::HostSurvey* host = one.host_of(survey);
  std::string driver = driver_version(survey);
  const model::Library* nvml = survey.inventory.library("nvml");
  if (host == nullptr)
    return;
  const std::string& module = host->driver.module_version;
  if (!module.empty() && nvml != nullptr && !nvml->problem.empty()) {
    // NVML can fail for many reasons; a reboot fixes only this one.
    bool mismatch = nvml->problem.find("version mismatch") != std::string::npos;
    into.add(
        survey,
        {"D02",
         CheckStatus::fail,
         mismatch ? What("nvml_mismatch", "the kernel module and NVML have different versions")
                  : What("nvml_fails", "the kernel module is loaded, but NVML does not start"),
         {"kernel module " + module, nvml->problem},
         mismatch ? "CUDA does not start either: after an update the old module is still loaded"
                  : "CUDA may not start either",
         mismatch
             ? "reboot, or rmmod and modprobe nvidia while no process uses a GPU; in a container: "
               "the host's driver and the container's libraries must have the same version"
             : "nvidia-smi; dmesg | grep -i nvrm; ncclprobe doctor --log - explains NVML's "
               "messages"});
    return;
  }
  if (module.empty() || driver.empty())
    return;
  if (module != driver)
    into.add(survey, {"D02",
                      CheckStatus::fail,
                      {"driver_mismatch",
                       "kernel module and user libraries of the driver have different versions"},
                      {fmt::format("kernel module {}, user libraries {}", module, driver)},
                      "'Driver/library version mismatch' at the next start of NVML or CUDA",
                      "reboot to load the installed driver's module"});
  else
    into.add(survey, {"D02", CheckStatus::ok,
                      What("driver_matches",
                           "driver {driver} ({flavour} module), libraries of the same version",
                           {{"driver", driver}, {"flavour", host->driver.flavour}})});
}

void check_present(const Case& one, const model::Survey& survey, CheckResults& into) {
  const model::HostSurvey* host = one.host_of(survey);
  if (!survey.problem.empty()) {
    into.add(survey, {"D02",
                      CheckStatus::fail,
                      {"inventory_crashes", "the process that examines the GPUs crashes"},
                      {survey.problem},
                      "other CUDA programs may crash too",
                      "nvidia-smi; dmesg | tail: do these respond?"});
    return;
  }
  int on_bus = host == nullptr ? 0 : host->driver.nvidia_pci_devices;
  if (!survey.inventory.gpus.empty()) {
    check_module(one, survey, into);
    return;
  }
  if (on_bus == 0 && (host == nullptr || host->driver.device_files.empty())) {
    into.add(survey, {"D02",
                      CheckStatus::info,
                      {"no_nvidia_gpu", "this host has no NVIDIA GPU"},
                      {survey.inventory.nvidia_problem}});
    return;
  }
  bool module_there = host != nullptr && !host->driver.module_version.empty();
  bool nouveau =
      host != nullptr && std::any_of(host->driver.modules.begin(), host->driver.modules.end(),
                                     [](const auto& module) { return module.name == "nouveau"; });
  std::vector<std::string> seen{
      survey.inventory.nvidia_problem,
      base::count_of(static_cast<std::size_t>(on_bus), "NVIDIA GPU", "NVIDIA GPUs") +
          " on the PCI bus"};
  if (survey.inventory.worker_version.find("not built") != std::string::npos) {
    into.add(survey,
             {"D02",
              CheckStatus::unknown,
              {"built_without_cuda", "there are GPUs, but this ncclprobe is built without CUDA"},
              seen,
              "",
              "build with -DNCCLPROBE_NVIDIA=ON"});
    return;
  }
  const model::Setting* visible = survey.variable("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr)
    seen.push_back("CUDA_VISIBLE_DEVICES=" + visible->value);
  bool hidden = visible != nullptr && (visible->value.empty() || visible->value.starts_with('-') ||
                                       visible->value == "NoDevFiles");
  if (module_there)
    into.add(survey, {"D02",
                      CheckStatus::fail,
                      {"cuda_finds_no_gpu", "the driver is loaded, but CUDA finds no usable GPU"},
                      seen,
                      "nothing runs on the GPUs",
                      hidden ? "unset CUDA_VISIBLE_DEVICES"
                             : "nvidia-smi -L lists the GPUs; systemctl status "
                               "nvidia-fabricmanager; docker run --gpus all"});
  else
    into.add(survey,
             {"D02",
              CheckStatus::fail,
              {"module_not_loaded", "there are GPUs, but NVIDIA's kernel module is not loaded"},
              seen,
              "nothing runs on the GPUs",
              nouveau ? "blacklist nouveau, rebuild the initramfs, reboot"
                      : "modprobe nvidia; dkms status; dmesg | grep -i nvrm"});
}

} // namespace

void check_driver(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys)
    check_present(one, survey, into);
}

} // namespace ncclprobe::analysis::doctor
