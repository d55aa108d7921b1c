// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/library_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/loaded_libraries.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using Json = nlohmann::ordered_json;

std::string render_setting(const SettingLibraries& one, std::size_t ranks) {
  std::string out = paragraph("", printable(one.setting), 0);
  for (const LoadedLibrary& library : one.loaded) {
    std::string text = in_words(library);
    if (library.ranks.size() < ranks)
      text += (library.ranks.size() == 1 ? " on rank " : " on ranks ") +
              model::format_ranks(library.ranks);
    out += paragraph("  ", printable(text), 4);
  }
  for (const std::string& name : one.as_default)
    out += paragraph("  Note:",
                     name + " still resolves to the default's file, so this compares the default "
                            "with itself.",
                     8);
  for (const std::string& problem : one.problems)
    out += paragraph("  Not as asked:", printable(problem), 16);
  return out;
}

} // namespace

std::string render_libraries(const model::Run& run) {
  auto all = setting_libraries(run);
  if (!libraries_differ(all))
    return "";
  std::string out =
      "Libraries that were loaded, as the workers' memory maps show" + synthetic_mark(run) + "\n";
  for (const SettingLibraries& one : all)
    if (one.is_default || libraries_differ({all.front(), one}))
      out += "\n" + render_setting(one, run.header.ranks.size());
  return out;
}

Json libraries_json(const model::Run& run) {
  Json all = Json::array();
  for (const SettingLibraries& one : setting_libraries(run)) {
    Json libraries = Json::array();
    for (const LoadedLibrary& library : one.loaded)
      libraries.push_back({{"name", library.name},
                           {"version", library.version},
                           {"path", library.path},
                           {"ranks", library.ranks}});
    all.push_back({{"setting", one.setting},
                   {"is_default", one.is_default},
                   {"libraries", std::move(libraries)},
                   {"same_as_default", one.as_default},
                   {"problems", one.problems}});
  }
  return all;
}

} // namespace ncclprobe::analysis
