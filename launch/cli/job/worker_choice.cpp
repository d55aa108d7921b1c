// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/job/worker_choice.h"

#include "launch/supervisor/environment.h"
#include "launch/supervisor/tool.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_worker = "ncclprobe-worker";
constexpr std::string_view k_cpu = "cpu";
constexpr std::string_view k_cuda = "cuda";
// A cold driver takes seconds to load. It starts no GPU.
constexpr std::chrono::seconds k_driver_patience{30};

// 13 for "cuda13"; 0 for other names.
int cuda_major(std::string_view name) {
  int major = 0;
  if (name.starts_with(k_cuda))
    std::from_chars(name.data() + k_cuda.size(), name.data() + name.size(), major);
  return major;
}

std::string version_text(int cuda) {
  return fmt::format("CUDA {}.{}", cuda / 1000, cuda % 1000 / 10);
}

std::vector<std::string> variants_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code none;
  const std::string prefix = std::string(k_worker) + "-";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none))
    if (std::string name = entry.path().filename().string(); name.starts_with(prefix))
      if (name.erase(0, prefix.size()); name == k_cpu || cuda_major(name) > 0)
        names.push_back(std::move(name));
  std::ranges::sort(names, {}, [](const std::string& name) { return cuda_major(name); });
  return names;
}

CudaDriver ask_driver(const fs::path& worker, const std::vector<std::string>& environment) {
  const auto answer =
      launch::output_of_tool({worker.string(), "--cuda-driver"},
                             launch::worker_environment(environment, {}), k_driver_patience);
  if (!answer)
    return {{}, answer.error().message};
  int version = 0;
  const auto [end, error] =
      std::from_chars(answer->data(), answer->data() + answer->size(), version);
  if (error == std::errc() && version > 0)
    return {version, ""};
  return {{}, answer->substr(0, answer->find('\n'))};
}

} // namespace

WorkerVariant choose_variant(const std::vector<std::string>& installed, const CudaDriver& driver) {
  const std::string* best = nullptr; // the newest that the driver supports
  const std::string* without = nullptr;
  const std::string* oldest = nullptr;
  for (const std::string& name : installed) {
    const int major = cuda_major(name);
    if (name == k_cpu)
      without = &name;
    else if (driver.cuda && major <= *driver.cuda / 1000 &&
             (best == nullptr || major > cuda_major(*best)))
      best = &name;
    if (major > 0 && (oldest == nullptr || major < cuda_major(*oldest)))
      oldest = &name;
  }
  if (best != nullptr)
    return {*best, fmt::format("the driver supports {}", version_text(*driver.cuda))};
  // The workers for CUDA have the CPU backend too.
  const std::string& fallback = without != nullptr ? *without : *oldest;
  if (!driver.cuda)
    return {fallback, fmt::format("there is no CUDA driver ({})", driver.problem)};
  if (oldest == nullptr)
    return {fallback, "no worker for CUDA is installed"};
  return {fallback,
          fmt::format("the driver supports {}, and the installed workers need CUDA {} or later",
                      version_text(*driver.cuda), cuda_major(*oldest))};
}

WorkerChoice choose_worker(const fs::path& folder, const std::vector<std::string>& environment) {
  std::error_code none;
  const fs::path only = folder / k_worker;
  std::vector<std::string> installed;
  if (!fs::exists(only, none))
    installed = variants_in(folder);
  if (installed.empty())
    return {only, ""};
  const auto path_of = [&](const std::string& name) {
    return folder / fmt::format("{}-{}", k_worker, name);
  };
  const WorkerVariant chosen =
      choose_variant(installed, ask_driver(path_of(installed.front()), environment));
  return {path_of(chosen.name), chosen.because};
}

} // namespace ncclprobe::cli
