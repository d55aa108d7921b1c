// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report/cpu_section.h"

#include "analysis/report/heading.h"
#include "analysis/report/label_words.h"
#include "analysis/results/worker_cpus.h"
#include "base/text_table.h"

#include <nlohmann/json.hpp>

namespace ncclprobe::analysis {
namespace {

using base::TextTable;
using Json = nlohmann::ordered_json;

constexpr std::size_t k_most_lines = 16; // of workers of one setting; JSON has them all

std::string effect_of(const SettingCpus& setting, const WorkerCpus& worker) {
  return !setting.asks          ? ""
         : worker.as_default    ? "as by default"
         : worker.took_effect() ? "took effect"
         : worker.cpus.empty()  ? "not known"
                                : "overridden";
}

} // namespace

std::string render_cpus(const model::Run& run) {
  const auto all = setting_cpus(run);
  if (all.empty())
    return "";
  TextTable table({{"setting", TextTable::Align::left},
                   {"ranks", TextTable::Align::left},
                   {"asked for", TextTable::Align::left},
                   {"ran on", TextTable::Align::left},
                   {"", TextTable::Align::left}});
  std::string below;
  for (const SettingCpus& one : all) {
    if (!one.refused.empty())
      below += paragraph("  Refused:", printable(one.refused), 11);
    if (one.changes_nothing())
      below += paragraph("  Note:",
                         printable(one.setting) + " equals the default, so this compares the "
                                                  "default with itself.",
                         8);
    std::string name = wrap(printable(one.setting), 40).front();
    for (std::size_t i = 0; i < one.workers.size(); ++i) {
      if (i == k_most_lines) {
        table.add_row({fmt::format("  ... {} more", one.workers.size() - i)});
        break;
      }
      const WorkerCpus& worker = one.workers[i];
      table.add_row({i == 0 ? name : "", model::format_ranks(worker.ranks),
                     worker.asked.empty() ? "-" : worker.asked,
                     worker.cpus.empty() ? "-" : worker.cpus, effect_of(one, worker)});
    }
  }
  return "CPUs that the workers ran on, as they reported" + synthetic_mark(run) + "\n" +
         table.render(2) + below;
}

Json cpus_json(const model::Run& run) {
  Json all = Json::array();
  for (const SettingCpus& one : setting_cpus(run)) {
    Json workers = Json::array();
    for (const WorkerCpus& worker : one.workers)
      workers.push_back({{"ranks", worker.ranks},
                         {"host", worker.host},
                         {"asked", worker.asked},
                         {"cpus", worker.cpus},
                         {"effect", effect_of(one, worker)}});
    all.push_back({{"setting", one.setting},
                   {"is_default", one.is_default},
                   {"workers", std::move(workers)},
                   {"refused", one.refused}});
  }
  return all;
}

} // namespace ncclprobe::analysis
