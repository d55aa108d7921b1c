// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "knowledge/driver_advice.h"

#include "knowledge/cuda_tables.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace ncclprobe::knowledge {
namespace {

using Version = std::optional<VersionNumber>;

Version later(const Version& one, const Version& other) {
  return !one || (other && *other > *one) ? other : one;
}

Version earlier(const Version& one, const Version& other) {
  return !one || (other && *other < *one) ? other : one;
}

// A branch's releases are treated as the newest: branch 470 has drivers up to 470.256.
bool beyond(const VersionNumber& driver, const Version& last_branch) {
  return last_branch && driver.major() > last_branch->major();
}

bool knows_gpus(const VersionNumber& driver, const GpuLimits& gpus) {
  return !gpus.first_branch || driver.major() >= gpus.first_branch->major();
}

NewestRuntimes newest_for(const VersionNumber& driver, const GpuLimits& gpus) {
  if (!knows_gpus(driver, gpus))
    return {};
  NewestRuntimes newest = newest_runtimes(driver, gpus.last_cuda);
  auto too_old = [&](const Version& cuda) {
    return cuda && gpus.first_cuda && *cuda < *gpus.first_cuda;
  };
  if (too_old(newest.full))
    newest.full.reset();
  if (too_old(newest.minor_compat))
    newest.minor_compat.reset();
  return newest;
}

std::string text_of_newest(const NewestRuntimes& newest, const GpuLimits& gpus) {
  const VersionNumber best = gpus.last_cuda ? *gpus.last_cuda : cuda_toolkits().back().version;
  std::vector<std::string> parts;
  if (newest.full)
    parts.push_back("CUDA up to " + newest.full->text());
  if (newest.minor_compat)
    parts.push_back(fmt::format("{} {} with fewer features",
                                newest.full ? "or up to" : "CUDA up to",
                                newest.minor_compat->text()));
  const std::string it_runs = parts.empty()
                                  ? "the driver runs no CUDA that supports these GPUs"
                                  : fmt::format("the driver runs {}", fmt::join(parts, ", "));
  if (newest.full == best)
    return fmt::format("{}, the newest {}", it_runs,
                       gpus.last_cuda ? "that supports these GPUs" : "in the tables");
  const Version driver_of_best = full_driver(best);
  const std::string of_best =
      !driver_of_best ? "whose driver is not in the tables"
      : beyond(*driver_of_best, gpus.last_branch)
          ? "whose driver does not support these GPUs"
          : fmt::format("with all features from driver {}", driver_of_best->text());
  return fmt::format("{}; the newest CUDA for these GPUs is {}, {}", it_runs, best.text(), of_best);
}

// Advice to use another driver, or why none helps.
void add_driver_update(const DriverFit& fit, const GpuLimits& gpus, DriverAdvice& into) {
  const bool runs = fit.verdict != DriverVerdict::insufficient;
  const Version of_cuda = runs ? fit.full : fit.least;
  if (!of_cuda)
    return;
  const Version enough = later(of_cuda, gpus.first_branch);
  if (beyond(*enough, gpus.last_branch)) {
    into.no_remedy = fmt::format("no newer driver helps: branch {} is the last for these GPUs",
                                 gpus.last_branch->text());
    return;
  }
  std::string remedy = fmt::format("update the driver on the host to {} or later", enough->text());
  if (!runs && fit.full && *fit.full > *enough && !beyond(*fit.full, gpus.last_branch))
    remedy += fmt::format(" ({} or later for all features)", fit.full->text());
  into.remedies.push_back(remedy);
}

void add_older_build(const DriverFit& fit, DriverAdvice& into) {
  const NewestRuntimes& newest = into.newest;
  if (fit.verdict != DriverVerdict::insufficient) {
    if (newest.full)
      into.remedies.push_back(fmt::format("use a build for CUDA {} or older", newest.full->text()));
    return;
  }
  const Version& runs = newest.minor_compat ? newest.minor_compat : newest.full;
  if (!runs)
    return;
  std::string remedy = fmt::format("use a build for CUDA {} or older", runs->text());
  if (newest.minor_compat && newest.full)
    remedy += fmt::format(" ({} or older for all features)", newest.full->text());
  into.remedies.push_back(remedy);
}

void add_compat_package(const VersionNumber& driver, const VersionNumber& cuda,
                        const GpuLimits& gpus, DriverAdvice& into) {
  const std::vector<int> branches = compat_driver_branches(cuda);
  if (!gpus.compat_packages || !knows_gpus(driver, gpus) ||
      std::ranges::find(branches, driver.major()) == branches.end())
    return;
  into.remedies.push_back(fmt::format("install cuda-compat-{0}-{1} and put /usr/local/cuda-{0}.{1}/"
                                      "compat first in LD_LIBRARY_PATH (NVIDIA makes it for "
                                      "data-center GPUs on driver branch {2})",
                                      cuda.major(), cuda.minor(), driver.major()));
}

} // namespace

GpuLimits gpu_limits(std::span<const ComputeCapability> gpus) {
  GpuLimits limits;
  for (const ComputeCapability& gpu : gpus) {
    const CudaTarget* target = cuda_target(gpu);
    if (target == nullptr)
      continue;
    limits.first_cuda = later(limits.first_cuda, target->first_cuda);
    limits.last_cuda = earlier(limits.last_cuda, target->last_cuda);
    limits.first_branch = later(limits.first_branch, target->first_driver_branch);
    limits.last_branch = earlier(limits.last_branch, target->last_driver_branch);
  }
  return limits;
}

DriverAdvice advise(const VersionNumber& driver, const VersionNumber& cuda_runtime,
                    const GpuLimits& gpus, LoadedDriver loaded) {
  DriverAdvice advice;
  advice.fit = judge_driver(driver, cuda_runtime, loaded);
  advice.newest = newest_for(driver, gpus);
  advice.newest_text = text_of_newest(advice.newest, gpus);
  const DriverVerdict verdict = advice.fit.verdict;
  if (verdict == DriverVerdict::full || verdict == DriverVerdict::unknown)
    return advice;
  if (gpus.last_cuda && cuda_runtime > *gpus.last_cuda)
    advice.no_remedy = fmt::format("no driver helps: CUDA {} is the last that supports these GPUs",
                                   gpus.last_cuda->text());
  else
    add_driver_update(advice.fit, gpus, advice);
  add_older_build(advice.fit, advice);
  if (verdict != DriverVerdict::forward_compat && advice.no_remedy.empty())
    add_compat_package(driver, cuda_runtime, gpus, advice);
  return advice;
}

std::string remedies_text(const DriverAdvice& advice) {
  std::string text = fmt::format("{}", fmt::join(advice.remedies, "; or "));
  if (advice.no_remedy.empty())
    return text;
  return text.empty() ? advice.no_remedy : fmt::format("{} ({})", text, advice.no_remedy);
}

} // namespace ncclprobe::knowledge
