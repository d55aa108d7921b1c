// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "nvidia/shared_library.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace ncclprobe::nvidia {
namespace {

// Whether the loader says that the candidate does not exist. A file that exists but cannot be
// loaded must be reported instead.
bool is_plain_absence(const std::string& candidate, const std::string& words) {
  return words == candidate + ": cannot open shared object file: No such file or directory";
}

} // namespace

std::vector<std::string> library_candidates(const backend::Options& options,
                                            const std::string& name,
                                            const std::vector<std::string>& sonames) {
  for (const model::Setting& library : options.libraries)
    if (library.name == name)
      return {library.value};

  std::vector<std::string> candidates = sonames;
  std::vector<std::string> roots;
  if (auto home = options.environment.find("CUDA_HOME");
      home != options.environment.end() && !home->second.empty())
    roots.push_back(home->second);
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots)
    for (const char* folder : {"lib64", "lib", "extras/CUPTI/lib64"})
      for (const std::string& soname : sonames) {
        std::string path = root + "/" + folder + "/" + soname;
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored))
          candidates.push_back(std::move(path));
      }
  return candidates;
}

SharedLibrary::SharedLibrary(std::string display_name, const std::vector<std::string>& candidates,
                             const std::string& source)
    : display_name_(std::move(display_name)) {
  std::string tried;
  std::string words;
  for (const std::string& candidate : candidates) {
    handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle_ != nullptr)
      break;
    const char* error = dlerror();
    std::string said = error != nullptr ? error : "no reason given";
    if (!is_plain_absence(candidate, said))
      words += (words.empty() ? "" : "; ") + said;
    tried += (tried.empty() ? "" : ", ") + candidate;
  }
  if (handle_ == nullptr)
    throw Exception(Error{
        Errc::unsupported,
        fmt::format("{} not found: cannot load {}{}", display_name_, tried,
                    words.empty() ? std::string() : " (" + words + ")"),
        source.empty()
            ? fmt::format("install {}, set CUDA_HOME, or name its file as a library of the run",
                          display_name_)
            : source});
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr)
    path_ = map->l_name;
}

SharedLibrary::Symbol SharedLibrary::optional(const char* symbol) const {
  return {dlsym(handle_, symbol)};
}

SharedLibrary::Symbol SharedLibrary::require(const char* symbol, const std::string& version) const {
  Symbol found = optional(symbol);
  if (found.address == nullptr)
    raise(Errc::unsupported, "{} {}at {} has no function {}", display_name_,
          version.empty() ? std::string() : version + " ", path_, symbol);
  return found;
}

} // namespace ncclprobe::nvidia
