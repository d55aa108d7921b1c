// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/library_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/loaded_libraries.h"

namespace ncclprobe::analysis {
namespace {

void add_setting(std::vector<Block>& blocks, const SettingLibraries& one, std::size_t ranks) {
  blocks.push_back(Text{});
  blocks.push_back(Text{"", one.setting, 0});
  for (const LoadedLibrary& library : one.loaded) {
    std::string text = in_words(library);
    if (library.ranks.size() < ranks)
      text += on_ranks(library.ranks);
    blocks.push_back(Text{"  ", text, 4});
  }
  for (const std::string& name : one.as_default)
    blocks.push_back(Text{"  Note:",
                          name + " still resolves to the default's file, so this compares the "
                                 "default with itself.",
                          8});
  for (const std::string& problem : one.problems)
    blocks.push_back(Text{"  Not as asked:", problem, 16});
}

} // namespace

Report library_report(const model::Run& run) {
  TableOf<SettingLibraries> table(setting_libraries(run));
  const auto& all = table.rows();
  if (all.empty())
    return {};
  table.add("setting", &SettingLibraries::setting);
  table.add("is_default", &SettingLibraries::is_default);
  table.add("libraries", &SettingLibraries::loaded);
  table.add("same_as_default", &SettingLibraries::as_default);
  table.add("problems", &SettingLibraries::problems);
  Report report{.data = {{"libraries", table.table()}}};
  if (!libraries_differ(all))
    return report;
  Section section{"libraries", "Libraries that were loaded, as the workers' memory maps show" +
                                   synthetic_mark(run)};
  for (const SettingLibraries& one : all)
    if (one.is_default || libraries_differ({all.front(), one}))
      add_setting(section.blocks, one, run.header.ranks.size());
  report.sections.push_back(std::move(section));
  return report;
}

} // namespace ncclprobe::analysis
