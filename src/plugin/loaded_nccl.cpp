// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/loaded_nccl.h"

#include <dlfcn.h>
#include <fstream>

namespace ncclprobe::plugin {
namespace {

// If a program loaded NCCL privately, its symbols are not global: open it by its path.
void* nccl() {
  if (dlsym(RTLD_DEFAULT, "ncclGetVersion") != nullptr)
    return RTLD_DEFAULT;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (std::size_t name = line.find("/libnccl.so"); name != std::string::npos)
      return dlopen(line.substr(line.find('/')).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return nullptr;
}

} // namespace

std::string nccl_version() {
  void* library = nccl(); // RTLD_DEFAULT is null
  auto* ask = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  int code = 0;
  if (ask == nullptr || ask(&code) != 0)
    return "";
  int major = code < 10'000 ? code / 1'000 : code / 10'000; // until 2.8: 2708 is 2.7.8
  int minor = code < 10'000 ? code / 100 % 10 : code / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(code % 100);
}

} // namespace ncclprobe::plugin
