// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/cpu_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/worker_cpus.h"
#include "model/outcome.h"

namespace ncclprobe::analysis {
namespace {

std::string effect_of(const SettingCpus& setting, const WorkerCpus& worker) {
  return !setting.asks          ? ""
         : worker.as_default    ? "as by default"
         : worker.took_effect() ? "took effect"
         : worker.cpus.empty()  ? "not known"
                                : "overridden";
}

Value known(const std::string& cpus) {
  return cpus.empty() ? Value() : Value(cpus);
}

TablePtr worker_cpus_table(const SettingCpus& one) {
  TableOf<WorkerCpus> table(one.workers);
  table.add("ranks", &WorkerCpus::ranks);
  table.add("host", &WorkerCpus::host);
  table.add("asked", &WorkerCpus::asked);
  table.add("cpus", &WorkerCpus::cpus);
  table.add("effect", [one](const WorkerCpus& worker) { return effect_of(one, worker); });
  return table.table();
}

// All settings, for people.
TablePtr shown_workers(const std::vector<SettingCpus>& settings) {
  struct Shown {
    std::string setting;
    WorkerCpus worker;
    std::string effect;
  };
  std::vector<Shown> rows;
  for (const SettingCpus& one : settings)
    for (const WorkerCpus& worker : one.workers)
      rows.push_back({one.setting, worker, std::string(effect_of(one, worker))});
  TableOf<Shown> table(std::move(rows));
  table.show("setting", &Shown::setting).left(42).once();
  table.show("ranks", [](const Shown& one) { return model::format_ranks(one.worker.ranks); })
      .left();
  table.show("asked for", [](const Shown& one) { return known(one.worker.asked); }).left();
  table.show("ran on", [](const Shown& one) { return known(one.worker.cpus); }).left();
  table.show("effect", &Shown::effect).left();
  return table.table();
}

} // namespace

Report cpu_report(const model::Run& run) {
  TableOf<SettingCpus> table(setting_cpus(run));
  if (table.rows().empty())
    return {};
  table.add("setting", &SettingCpus::setting);
  table.add("is_default", &SettingCpus::is_default);
  table.add("workers", worker_cpus_table);
  table.add("refused", &SettingCpus::refused);
  Section section{"cpus", "CPUs that the workers ran on, as they reported" + synthetic_mark(run)};
  std::vector<Block> notes;
  section.blocks.push_back(View{.table = shown_workers(table.rows()), .most_rows = k_rows_shown});
  for (const SettingCpus& one : table.rows()) {
    if (!one.refused.empty())
      notes.push_back(Text{"  Refused:", one.refused, 11});
    if (one.changes_nothing())
      notes.push_back(Text{"  Note:",
                           one.setting + " equals the default, so this compares the default with "
                                         "itself.",
                           8});
  }
  section.blocks.insert(section.blocks.end(), notes.begin(), notes.end());
  return {.sections = {std::move(section)}, .data = {{"cpus", table.table()}}};
}

} // namespace ncclprobe::analysis
