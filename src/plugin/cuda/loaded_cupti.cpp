// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/cuda/loaded_cupti.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <fstream>
#include <string_view>

namespace ncclprobe::plugin {
namespace {

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

const std::string* find_mapped(const std::vector<std::string>& mapped, std::string_view begin) {
  const auto found = std::ranges::find_if(
      mapped, [&](const std::string& path) { return file_of(path).starts_with(begin); });
  return found == mapped.end() ? nullptr : &*found;
}

// "12" of "libcudart.so.12.4.127".
std::string version_of(std::string_view file, std::string_view begin) {
  std::string_view rest = file.substr(std::min(file.size(), begin.size()));
  const std::string_view major = rest.substr(0, rest.find('.'));
  if (major != "11")
    return std::string(major);
  // Each minor version of CUDA 11 has a CUPTI with a name of its own.
  const std::size_t end = rest.find('.', rest.find('.') + 1);
  return std::string(rest.substr(0, end));
}

int driver_major() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  auto* ask = driver == nullptr
                  ? nullptr
                  : reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  int version = 0;
  return ask != nullptr && ask(&version) == 0 ? version / 1000 : 0;
}

template <typename Function>
bool take(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(dlsym(library, name));
  return into != nullptr;
}

LoadedCupti load() {
  LoadedCupti found;
  const std::vector<std::string> mapped = mapped_files();
  void* library = nullptr;
  if (const std::string* path = find_mapped(mapped, "libcupti.so")) {
    library = dlopen(path->c_str(), RTLD_LAZY | RTLD_NOLOAD);
    found.path = *path;
  }
  std::string tried;
  if (library == nullptr)
    for (const std::string& candidate : cupti_candidates(mapped, driver_major())) {
      library = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_LOCAL);
      found.path = candidate;
      if (library != nullptr)
        break;
      tried += (tried.empty() ? "" : ", ") + candidate;
    }
  if (library == nullptr) {
    found.problem = "no CUPTI was found (tried " + (tried.empty() ? "nothing" : tried) + ")";
    return found;
  }
  cupti::Functions& call = found.call;
  const char* missing = nullptr;
#define NCCLPROBE_TAKE(name)                                                                       \
  if (!take(library, #name, call.name))                                                            \
  missing = #name
  NCCLPROBE_TAKE(cuptiGetVersion);
  NCCLPROBE_TAKE(cuptiSubscribe);
  NCCLPROBE_TAKE(cuptiUnsubscribe);
  NCCLPROBE_TAKE(cuptiActivityRegisterTimestampCallback);
  NCCLPROBE_TAKE(cuptiActivityRegisterCallbacks);
  NCCLPROBE_TAKE(cuptiActivitySetAttribute);
  NCCLPROBE_TAKE(cuptiActivityEnable);
  NCCLPROBE_TAKE(cuptiActivityDisable);
  NCCLPROBE_TAKE(cuptiActivityFlushAll);
  NCCLPROBE_TAKE(cuptiActivityGetNextRecord);
  NCCLPROBE_TAKE(cuptiActivityGetNumDroppedRecords);
  NCCLPROBE_TAKE(cuptiGetResultString);
#undef NCCLPROBE_TAKE
  (void)take(library, "cuptiSubscribe_v2", call.cuptiSubscribe_v2);
  if (missing != nullptr)
    found.problem = found.path + " has no function " + missing;
  else if (call.cuptiGetVersion(&found.version) != cupti::k_success)
    found.problem = found.path + " does not tell its version";
  else if (found.version < cupti::k_oldest)
    found.problem = found.path + " is older than CUDA 11.8's";
  return found;
}

} // namespace

const LoadedCupti& loaded_cupti() {
  static const LoadedCupti found = load();
  return found;
}

std::vector<std::string> cupti_candidates(const std::vector<std::string>& mapped,
                                          int driver_major) {
  std::vector<std::string> names, folders;
  constexpr std::string_view k_runtime = "libcudart.so.";
  if (const std::string* runtime = find_mapped(mapped, k_runtime)) {
    names.push_back("libcupti.so." + version_of(file_of(*runtime), k_runtime));
    const std::string folder = folder_of(*runtime);
    // Beside it, in a toolkit, or in the packages of pip.
    folders = {folder, folder + "/../extras/CUPTI/lib64", folder + "/../../cuda_cupti/lib"};
  } else {
    for (int major = driver_major; major >= 12; --major)
      names.push_back("libcupti.so." + std::to_string(major));
  }
  names.emplace_back("libcupti.so");
  std::vector<std::string> all;
  for (const std::string& folder : folders)
    all.push_back(folder + "/" + names.front());
  for (const std::string& name : names)
    all.push_back(name);
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"})
    for (const std::string& name : names)
      all.push_back(std::string(folder) + "/" + name);
  return all;
}

std::string probable_cupti_user(const std::vector<std::string>& mapped, const char* injection) {
  struct Sign {
    std::string_view file, tool;
  };
  for (const Sign& sign : {Sign{"libToolsInjection", "NVIDIA Nsight Systems"},
                           {"libnvperf_host", "a profiler that counts (libnvperf_host)"},
                           {"libscorep", "Score-P"},
                           {"libTAU", "TAU"},
                           {"libcaliper", "Caliper"}})
    if (find_mapped(mapped, sign.file) != nullptr)
      return std::string(sign.tool);
  if (injection != nullptr && *injection != '\0' &&
      file_of(injection) != "libncclprobe-profiler.so")
    return injection;
  if (find_mapped(mapped, "libtorch_cpu.so") != nullptr)
    return "probably torch.profiler, which is in this process";
  return "";
}

std::vector<std::string> mapped_files() {
  std::vector<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && (files.empty() || files.back() != line.substr(path)))
      files.push_back(line.substr(path));
  }
  return files;
}

} // namespace ncclprobe::plugin
