// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/compatibility.h"

#include "knowledge/cuda_tables.h"

namespace ncclprobe::knowledge {
namespace {

// Oldest driver for programs of this runtime. Before 11 there is no minor-version compatibility,
// and 11.0 is older than the minimum driver of its own family.
std::optional<VersionNumber> least_driver(const VersionNumber& runtime,
                                          const std::optional<VersionNumber>& full) {
  auto floor = minor_compatibility_driver(runtime.major());
  if (!floor)
    return full;
  return full && *full < *floor ? full : floor;
}

// Capabilities 10.0 and 10.3 are one family, 12.0 and 12.1 another; 10.1 is Thor, now called 11.0.
bool same_family(const ComputeCapability& code, const ComputeCapability& gpu) {
  bool thor = (code == ComputeCapability{10, 1}) != (gpu == ComputeCapability{10, 1});
  return code.major == gpu.major && code.minor <= gpu.minor && !thor;
}

const CodeTarget* best(std::span<const CodeTarget> targets, auto&& runs) {
  const CodeTarget* found = nullptr;
  for (const CodeTarget& one : targets)
    if (runs(one) && (found == nullptr || found->capability < one.capability))
      found = &one;
  return found;
}

} // namespace

DriverFit judge_driver(const VersionNumber& driver, const VersionNumber& cuda_runtime,
                       LoadedDriver loaded) {
  DriverFit fit;
  fit.full = full_driver(cuda_runtime);
  fit.least = least_driver(cuda_runtime, fit.full);
  std::string runtime = fmt::format("CUDA {}.{}", cuda_runtime.major(), cuda_runtime.minor());
  if (fit.full && driver >= *fit.full) {
    fit.verdict = DriverVerdict::full;
    fit.meaning = fmt::format("all features of {} are available", runtime);
  } else if (fit.least && driver >= *fit.least) {
    // If the packaged driver is not sourced, a driver of a newer family is certainly new enough.
    auto next_family = minor_compatibility_driver(cuda_runtime.major() + 1);
    bool newer = next_family && driver >= *next_family;
    fit.verdict = newer ? DriverVerdict::full : DriverVerdict::minor_compat;
    fit.meaning = newer ? fmt::format("the driver belongs to a newer family than {}", runtime)
                        : fmt::format("programs of {} run (minor-version compatibility), except "
                                      "code that needs PTX of {} or features of its driver",
                                      runtime, runtime);
  } else if (!fit.least) {
    fit.meaning = fmt::format("the tables do not know {}", runtime);
  } else if (loaded == LoadedDriver::compat_package) {
    fit.verdict = DriverVerdict::forward_compat;
    fit.meaning = "runs with the cuda-compat libcuda; NCCL may misjudge the driver "
                  "(NCCL_CUMEM_HOST_ENABLE=0 if it fails)";
  } else {
    fit.verdict = DriverVerdict::insufficient;
    fit.meaning =
        fmt::format("the first CUDA call fails with error 35: {} needs driver {} or newer", runtime,
                    fit.least->text());
  }
  return fit;
}

NewestRuntimes newest_runtimes(const VersionNumber& driver,
                               const std::optional<VersionNumber>& last) {
  NewestRuntimes newest;
  for (const Toolkit& toolkit : cuda_toolkits()) {
    if (last && toolkit.version > *last)
      break;
    DriverVerdict verdict = judge_driver(driver, toolkit.version).verdict;
    if (verdict == DriverVerdict::full) {
      newest.full = toolkit.version;
      newest.minor_compat.reset();
    } else if (verdict == DriverVerdict::minor_compat) {
      newest.minor_compat = toolkit.version;
    }
  }
  return newest;
}

bool cubin_runs_on(const CodeTarget& cubin, const ComputeCapability& gpu) {
  switch (cubin.reach) {
  case Reach::exact:
    return cubin.capability == gpu;
  case Reach::family:
    return same_family(cubin.capability, gpu);
  case Reach::portable:
    return cubin.capability.major == gpu.major && cubin.capability.minor <= gpu.minor;
  }
  return false;
}

bool ptx_serves(const CodeTarget& ptx, const ComputeCapability& gpu) {
  return ptx.reach == Reach::portable ? ptx.capability <= gpu : cubin_runs_on(ptx, gpu);
}

CodeFit judge_code(const ComputeCapability& gpu, std::span<const CodeTarget> cubins,
                   std::span<const CodeTarget> ptx) {
  if (auto* cubin = best(cubins, [&](const CodeTarget& one) { return cubin_runs_on(one, gpu); }))
    return {cubin->capability == gpu ? CodeVerdict::native : CodeVerdict::same_major, *cubin};
  if (auto* code = best(ptx, [&](const CodeTarget& one) { return ptx_serves(one, gpu); }))
    return {CodeVerdict::ptx_jit, *code};
  return {};
}

Misfit why_no_code(const ComputeCapability& gpu, std::span<const CodeTarget> cubins,
                   std::span<const CodeTarget> ptx) {
  bool any_older = false, any_newer = false;
  for (auto list : {cubins, ptx})
    for (const CodeTarget& one : list)
      (one.capability < gpu ? any_older : any_newer) = true;
  if (any_older && any_newer)
    return Misfit::gap;
  return any_newer ? Misfit::gpu_too_old : Misfit::gpu_too_new;
}

bool has_code(const PytorchWheel& wheel, const ComputeCapability& gpu) {
  CodeVerdict verdict = judge_code(gpu, wheel.cubins, wheel.ptx).verdict;
  return verdict == CodeVerdict::native || verdict == CodeVerdict::same_major;
}

SupportHorizon support_horizon(const ComputeCapability& gpu, CpuKind cpu) {
  SupportHorizon horizon;
  if (const CudaTarget* target = cuda_target(gpu)) {
    horizon.architecture = target->architecture;
    horizon.first_cuda = target->first_cuda;
    horizon.last_cuda = target->last_cuda;
    horizon.first_driver = target->first_driver_branch;
    horizon.last_driver = target->last_driver_branch;
  }
  const VersionNumber& newest = pytorch_wheels().back().torch;
  for (const PytorchWheel& wheel : pytorch_wheels()) {
    if (wheel.cpu != cpu)
      continue;
    if (has_code(wheel, gpu)) {
      horizon.first_wheel = horizon.first_wheel == nullptr ? &wheel : horizon.first_wheel;
      horizon.last_wheel = &wheel;
    } else if (wheel.torch == newest)
      horizon.newest_without.push_back(wheel.cuda_tag);
  }
  return horizon;
}

std::string_view misfit_text(Misfit misfit) {
  switch (misfit) {
  case Misfit::gpu_too_new:
    return "all code is for older GPUs";
  case Misfit::gpu_too_old:
    return "all code is for newer GPUs";
  case Misfit::gap:
    break;
  }
  return "code for older and newer GPUs only";
}

std::string build_for(const ComputeCapability& gpu, Misfit misfit) {
  const SupportHorizon horizon = support_horizon(gpu);
  if (misfit == Misfit::gpu_too_old && horizon.last_cuda)
    return fmt::format("an older build: CUDA {} was the last to compile for {}",
                       horizon.last_cuda->text(), gpu.sm());
  if (horizon.first_cuda)
    return fmt::format("a build for {} (CUDA {} or newer)", gpu.sm(), horizon.first_cuda->text());
  return fmt::format("a build for {}", gpu.sm());
}

std::string wheels_for(const ComputeCapability& gpu, Misfit misfit, CpuKind cpu) {
  const SupportHorizon horizon = support_horizon(gpu, cpu);
  const char* whose = cpu == CpuKind::aarch64 ? "PyTorch's wheels for Arm" : "PyTorch's wheels";
  if (horizon.last_wheel != nullptr && misfit == Misfit::gpu_too_old)
    return fmt::format("of {} {} is the newest with its code", whose, horizon.last_wheel->name());
  if (horizon.first_wheel != nullptr)
    return fmt::format("{} have its code since {}", whose, horizon.first_wheel->name());
  return "";
}

} // namespace ncclprobe::knowledge
