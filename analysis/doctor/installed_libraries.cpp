// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// D06: libraries that are installed but not loaded. That is no fault: programs load the first match
// of their search path, not the newest version or the folder called cuda.
#include "analysis/doctor/installed_libraries.h"

#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"

#include <algorithm>
#include <filesystem>

namespace ncclprobe::analysis::doctor {
namespace {

using model::InstalledLibrary;

bool is_nccl(const InstalledLibrary& library) {
  return std::filesystem::path(library.path).filename().string().starts_with("libnccl");
}

// Libraries that programs in this environment load by default. A toolkit's folder is not among
// them.
bool is_at_hand(const InstalledLibrary& library) {
  return library.found_by != "toolkit" && library.found_by != "folder";
}

bool is_of_python(const InstalledLibrary& library) {
  return library.found_by == "VIRTUAL_ENV" || library.found_by == "CONDA_PREFIX" ||
         library.found_by == "--python";
}

bool maps(const model::Survey& survey, const std::string& path) {
  return std::any_of(survey.process.libraries.begin(), survey.process.libraries.end(),
                     [&](const model::MappedLibrary& mapped) { return mapped.path == path; });
}

std::string version_text(const InstalledLibrary& library) {
  return library.version.empty() ? "version unknown" : library.version;
}

std::string line_of(const InstalledLibrary& library) {
  return fmt::format("{} {}: {} ({})", part_of(library), version_text(library), library.path,
                     library.found_by);
}

// Programs that load it stop at their first CUDA call.
void check_driver(const model::Survey& survey, const InstalledLibrary& library,
                  CheckResults& into) {
  auto driver = knowledge::parse_version(driver_version(survey));
  auto cuda = knowledge::parse_version(library.version);
  if (is_nccl(library) || !is_at_hand(library) || !driver || !cuda)
    return;
  cuda->parts.resize(std::min<std::size_t>(cuda->parts.size(), 2)); // the tables list releases
  const knowledge::DriverAdvice advice =
      knowledge::advise(*driver, *cuda, software_limits(gpus_in_question(survey)));
  if (advice.fit.verdict != knowledge::DriverVerdict::insufficient)
    return;
  into.add_host(survey, {"D06",
                         CheckStatus::warn,
                         What("installed_runtime_too_new",
                              "the installed CUDA runtime {runtime} is too new for driver {driver}",
                              {{"runtime", library.version},
                               {"driver", driver->text()},
                               {"meaning", advice.fit.meaning},
                               {"remedies", remedies_text(advice)}}),
                         {line_of(library)},
                         "programs that load it: {meaning}",
                         "remove this runtime from their search path; or {remedies}"});
}

// An NCCL that other programs would load instead of the one measured here.
void check_nccl(const model::Survey& survey, const std::vector<const InstalledLibrary*>& idle,
                CheckResults& into) {
  const model::Library* loaded = survey.inventory.library("nccl");
  auto measured = knowledge::parse_version(loaded == nullptr ? "" : loaded->version);
  const std::vector<InstalledLibrary>& all = survey.host->installed;
  auto first = [&](auto asked) -> const InstalledLibrary* {
    auto found = std::find_if(all.begin(), all.end(), [&](const InstalledLibrary& one) {
      return is_nccl(one) && asked(one);
    });
    bool is_idle = found != all.end() && std::find(idle.begin(), idle.end(), &*found) != idle.end();
    return is_idle ? &*found : nullptr;
  };
  if (!measured)
    return;
  const auto by_path = [](const InstalledLibrary& one) {
    return one.found_by == "LD_LIBRARY_PATH";
  };
  auto add = [&](const InstalledLibrary& library, CheckStatus status, const std::string& whose) {
    auto version = knowledge::parse_version(library.version);
    if (version && *version == *measured)
      return;
    into.add_host(survey,
                  {"D06",
                   version ? status : CheckStatus::info,
                   What("other_nccl_named", "{whose} names another NCCL than the one loaded here",
                        {{"whose", whose}, {"path", library.path}}),
                   {line_of(library), fmt::format("loaded: {} {}", loaded->version, loaded->path)},
                   "programs that load their NCCL from there may behave differently",
                   "ncclprobe --library nccl={path} measures that one"});
  };
  if (const InstalledLibrary* found = first(by_path))
    add(*found, CheckStatus::warn, "LD_LIBRARY_PATH");
  if (const InstalledLibrary* found = first(is_of_python))
    add(*found, CheckStatus::info, "the Python environment");
}

} // namespace

std::string part_of(const InstalledLibrary& library) {
  return is_nccl(library) ? "NCCL" : "CUDA runtime";
}

std::vector<NotLoaded> not_loaded(const Case& one) {
  std::vector<NotLoaded> found;
  for (const model::Survey& host : one.surveys) {
    if (!host.host)
      continue;
    for (const InstalledLibrary& library : host.host->installed) {
      bool loaded = std::any_of(one.surveys.begin(), one.surveys.end(), [&](const auto& survey) {
        return one.host_of(survey) == &*host.host && maps(survey, library.path);
      });
      if (!loaded)
        found.push_back({host.inventory.hostname, &library});
    }
  }
  return found;
}

void check_installed(const Case& one, CheckResults& into) {
  const std::vector<NotLoaded> all = not_loaded(one);
  for (const model::Survey& survey : one.surveys) {
    if (!survey.host)
      continue;
    std::vector<const InstalledLibrary*> idle;
    std::vector<std::string> lines;
    for (const InstalledLibrary& library : survey.host->installed)
      if (std::any_of(all.begin(), all.end(),
                      [&](const NotLoaded& each) { return each.library == &library; })) {
        idle.push_back(&library);
        lines.push_back(line_of(library));
      }
    if (idle.empty())
      continue;
    into.add_host(survey, {"D06",
                           CheckStatus::info,
                           {"installed_not_loaded",
                            "libraries are installed but not loaded: they have no effect here"},
                           lines});
    for (const InstalledLibrary* library : idle)
      check_driver(survey, *library, into);
    check_nccl(survey, idle, into);
  }
}

} // namespace ncclprobe::analysis::doctor
