// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// Driver, and whether runtime and code fit it.
#include "analysis/doctor/facts.h"
#include "analysis/doctor/findings.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

// User library and kernel module come in one package and must be of one version.
void check_module(const Case& one, const model::Survey& survey, Findings& into) {
  const model::HostSurvey* host = one.host_of(survey);
  std::string driver = driver_version(survey);
  const model::Library* nvml = survey.inventory.library("nvml");
  if (host == nullptr)
    return;
  const std::string& module = host->driver.module_version;
  if (!module.empty() && nvml != nullptr && !nvml->problem.empty()) {
    // NVML has many reasons; only this one is what a reboot is for.
    bool mismatch = nvml->problem.find("version mismatch") != std::string::npos;
    into.add(survey,
             {"D02",
              Severity::fail,
              mismatch ? "the kernel module and NVML are of different versions"
                       : "the kernel module is loaded, but NVML does not start",
              {"kernel module " + module, nvml->problem},
              mismatch ? "CUDA does not start either: after an update the old module still runs"
                       : "CUDA may not start either",
              mismatch
                  ? "reboot, or rmmod and modprobe nvidia with no GPU in use; in a container: the "
                    "host's driver and the container's libraries must be of one version"
                  : "nvidia-smi; dmesg | grep -i nvrm; ncclprobe doctor --log - knows NVML's words",
              {},
              {}});
    return;
  }
  if (module.empty() || driver.empty())
    return;
  if (module != driver)
    into.add(survey, {"D02",
                      Severity::fail,
                      "kernel module and user libraries of the driver differ",
                      {fmt::format("kernel module {}, user libraries {}", module, driver)},
                      "'Driver/library version mismatch' at the next start of NVML or CUDA",
                      "reboot, so that the module of the installed driver is loaded",
                      {},
                      {}});
  else
    into.add(survey, {"D02",
                      Severity::ok,
                      fmt::format("driver {} ({} module), libraries of the same version", driver,
                                  host->driver.flavour),
                      {},
                      "",
                      "",
                      {},
                      {}});
}

void check_present(const Case& one, const model::Survey& survey, Findings& into) {
  const model::HostSurvey* host = one.host_of(survey);
  if (!survey.problem.empty()) {
    into.add(survey, {"D02",
                      Severity::fail,
                      "the process that looks at the GPUs does not survive it",
                      {survey.problem},
                      "other programs that use CUDA may fare the same",
                      "nvidia-smi; dmesg | tail: do these answer?",
                      {},
                      {}});
    return;
  }
  int on_bus = host == nullptr ? 0 : host->driver.nvidia_pci_devices;
  if (!survey.inventory.gpus.empty()) {
    check_module(one, survey, into);
    return;
  }
  if (on_bus == 0 && (host == nullptr || host->driver.device_files.empty())) {
    into.add(survey, {"D02",
                      Severity::info,
                      "this host has no NVIDIA GPU",
                      {survey.inventory.nvidia_problem},
                      "",
                      "",
                      {},
                      {}});
    return;
  }
  bool module_there = host != nullptr && !host->driver.module_version.empty();
  bool nouveau =
      host != nullptr && std::any_of(host->driver.modules.begin(), host->driver.modules.end(),
                                     [](const auto& module) { return module.name == "nouveau"; });
  std::vector<std::string> seen{survey.inventory.nvidia_problem,
                                fmt::format("{} NVIDIA GPU(s) on the PCI bus", on_bus)};
  if (survey.inventory.worker_version.find("not built") != std::string::npos) {
    into.add(survey, {"D02",
                      Severity::unknown,
                      "there are GPUs, but this ncclprobe is built without CUDA",
                      seen,
                      "",
                      "build with -DNCCLPROBE_NVIDIA=ON",
                      {},
                      {}});
    return;
  }
  const model::Setting* visible = survey.variable("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr)
    seen.push_back("CUDA_VISIBLE_DEVICES=" + visible->value);
  bool hidden = visible != nullptr && (visible->value.empty() || visible->value.starts_with('-') ||
                                       visible->value == "NoDevFiles");
  if (module_there)
    into.add(survey, {"D02",
                      Severity::fail,
                      "the driver is loaded, but CUDA finds no usable GPU",
                      seen,
                      "nothing runs on the GPUs",
                      hidden ? "unset CUDA_VISIBLE_DEVICES"
                             : "nvidia-smi -L shows what there is; systemctl status "
                               "nvidia-fabricmanager; docker run --gpus all",
                      {},
                      {}});
  else
    into.add(survey, {"D02",
                      Severity::fail,
                      "there are GPUs, but NVIDIA's kernel module is not loaded",
                      seen,
                      "nothing runs on the GPUs",
                      nouveau ? "blacklist nouveau, rebuild the initramfs, reboot"
                              : "modprobe nvidia; dkms status; dmesg | grep -i nvrm",
                      {},
                      {}});
}

} // namespace

void check_driver(const Case& one, Findings& into) {
  for (const model::Survey& survey : one.surveys)
    check_present(one, survey, into);
}

} // namespace ncclprobe::analysis::doctor
