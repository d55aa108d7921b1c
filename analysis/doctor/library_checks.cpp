// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D06: the libraries that are really loaded, against the expected ones.
#include "analysis/doctor/check_results.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace ncclprobe::analysis::doctor {
namespace {

// Of "libcudart.so.12.4.127" -> "libcudart"; empty for other libraries.
std::string family_of(const model::MappedLibrary& library) {
  constexpr const char* k_families[] = {"libcuda.so",      "libcudart.so",   "libnccl.so",
                                        "libcupti.so",     "libcublasLt.so", "libcublas.so",
                                        "libnvidia-ml.so", "libmpi.so",      "libnccl-net"};
  std::string name = std::filesystem::path(library.path).filename();
  for (const char* family : k_families)
    if (name.starts_with(family) || library.soname.starts_with(family)) {
      std::string text = family;
      return text.substr(0, text.find(".so"));
    }
  return "";
}

std::string major_of(const model::MappedLibrary& library) {
  std::size_t at = library.soname.rfind(".so.");
  return at == std::string::npos ? "" : library.soname.substr(at + 4);
}

bool check_doubles(const model::Survey& survey, CheckResults& into) {
  std::map<std::string, std::vector<const model::MappedLibrary*>> by_family;
  for (const model::MappedLibrary& library : survey.process.libraries)
    if (std::string family = family_of(library); !family.empty())
      by_family[family].push_back(&library);
  bool found = false;
  for (const auto& [family, libraries] : by_family) {
    if (libraries.size() < 2 || family == "libnccl-net")
      continue;
    found = true;
    std::set<std::string> majors;
    std::vector<std::string> seen;
    for (const model::MappedLibrary* library : libraries) {
      majors.insert(major_of(*library));
      seen.push_back(fmt::format("{} ({})", library->path, library->soname));
    }
    bool two_majors = majors.size() > 1;
    into.add(survey,
             {"D06", two_majors ? CheckStatus::fail : CheckStatus::warn,
              two_majors ? What("two_majors_loaded",
                                "two major versions of {library} are loaded into one process",
                                {{"library", family}})
                         : What("loaded_twice", "{library} is loaded twice", {{"library", family}}),
              seen,
              two_majors
                  ? "one cannot use the other's handles: invalid resource handle, or a crash"
                  : "each copy has its own state and does not know the other's communicators",
              "keep one on LD_LIBRARY_PATH; pip list | grep nvidia shows those of wheels"});
  }
  return found;
}

// An RPATH has priority over LD_LIBRARY_PATH; a RUNPATH has not.
bool check_search_paths(const model::Survey& survey, CheckResults& into) {
  const model::Setting* path = survey.variable("LD_LIBRARY_PATH");
  if (path == nullptr || path->value.empty())
    return false;
  bool found = false;
  for (const model::MappedLibrary& library : survey.process.libraries) {
    std::string family = family_of(library);
    if (family.empty())
      continue;
    if (library.rpath) {
      found = true;
      into.add(survey,
               {"D06",
                CheckStatus::info,
                What("rpath", "{library} has an RPATH, which has priority over LD_LIBRARY_PATH",
                     {{"library", family}, {"path", library.path}}),
                {fmt::format("{}: RPATH {}", library.path, library.runpath)},
                "its libraries are not loaded from LD_LIBRARY_PATH",
                "readelf -d {path}"});
    }
  }
  return found;
}

bool check_compat(const model::Survey& survey, CheckResults& into) {
  for (const model::MappedLibrary& library : survey.process.libraries)
    if (family_of(library) == "libcuda" && library.path.find("/compat/") != std::string::npos) {
      into.add(survey,
               {"D06",
                CheckStatus::warn,
                {"cuda_compat", "libcuda comes from a cuda-compat package, not from the driver"},
                {library.path},
                "forward compatibility: data-centre GPUs only, and NCCL may misjudge the driver "
                "(NCCL_CUMEM_HOST_ENABLE=0)",
                "remove .../compat from LD_LIBRARY_PATH, or update the driver"});
      return true;
    }
  return false;
}

} // namespace

void check_libraries(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    bool found = check_doubles(survey, into);
    found = check_search_paths(survey, into) || found;
    found = check_compat(survey, into) || found;
    if (found)
      continue;
    std::vector<std::string> seen;
    for (const model::MappedLibrary& library : survey.process.libraries)
      if (!family_of(library).empty())
        seen.push_back(library.path);
    into.add(survey, {"D06", CheckStatus::ok,
                      seen.empty() ? What("none_loaded", "no CUDA or NCCL library is loaded")
                                   : What("loaded_once", "each library is loaded once"),
                      seen});
  }
}

} // namespace ncclprobe::analysis::doctor
