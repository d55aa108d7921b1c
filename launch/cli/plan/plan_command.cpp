// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/plan/plan_command.h"

#include "analysis/report/label_words.h"
#include "base/exit_code.h"
#include "base/text_layout.h"
#include "base/text_table.h"
#include "base/units.h"
#include "base/wrapped_row.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/common/help.h"
#include "launch/cli/job/default_job.h"
#include "launch/cli/job/nccl_places.h"
#include "launch/cli/job/plan_file.h"
#include "launch/cli/job/session.h"
#include "model/cell_label.h"
#include "workload/expected_time.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::cli {
namespace {

std::string what_for(const model::TrialSpec& trial) {
  switch (trial.purpose) {
  case model::Purpose::companion:
    return " (companion: shows what the setting did)";
  case model::Purpose::traced:
    return fmt::format(" (traced: {})", to_string(trial.trace));
  case model::Purpose::measure:
    break;
  }
  return "";
}

// In steps, the bytes that a rank communicates are not a round number.
std::string size_of(const model::CellLabel& label) {
  return label.step() && label.bytes > 0
             ? fmt::format("{:.1f} MiB", static_cast<double>(label.bytes) / (1 << 20))
             : base::format_bytes(label.bytes);
}

std::string describe_json(const workload::Plan& plan) {
  nlohmann::ordered_json document;
  for (const model::TrialSpec& trial : plan.trials)
    document["trials"].push_back({{"trial", trial.id},
                                  {"repeat", trial.replicate},
                                  {"purpose", std::string(to_string(trial.purpose))},
                                  {"setting", trial.name},
                                  {"cells", trial.cells.size()},
                                  {"expected_s", workload::expected_trial_ns(trial) / 1e9}});
  document["ranks"] = plan.trials.front().ranks;
  document["backend"] = plan.trials.front().backend;
  document["expected_s"] = workload::expected_ns(plan) / 1e9;
  document["left_out"] = plan.notes;
  document["warnings"] = plan.warnings;
  return document.dump(1) + "\n";
}

std::string describe(const workload::Plan& plan) {
  std::string out;
  base::TextTable table(
      {{"trial"}, {"repeat"}, {"cells"}, {"expected"}, {"settings", base::TextTable::Align::left}});
  for (const model::TrialSpec& trial : plan.trials)
    base::add_wrapped_row(table,
                          {std::to_string(trial.id), std::to_string(trial.replicate),
                           std::to_string(trial.cells.size()),
                           workload::expected_text(workload::expected_trial_ns(trial)),
                           trial.name + what_for(trial)},
                          {0, 0, 0, 0, 56});
  // Some settings rule cells out.
  const model::TrialSpec& first =
      *std::max_element(plan.trials.begin(), plan.trials.end(), [](const auto& a, const auto& b) {
        return a.cells.size() < b.cells.size();
      });
  out += base::paragraph(
      "",
      fmt::format("{} on {}, {} backend, about {}; each trial needs up to {:.1f} MiB of "
                  "buffers per rank",
                  base::count_of(plan.trials.size(), "trial", "trials"),
                  base::count_of(static_cast<std::size_t>(first.ranks), "rank", "ranks"),
                  first.backend, workload::expected_text(workload::expected_ns(plan)),
                  static_cast<double>(workload::peak_bytes(first.cells)) / (1 << 20)),
      0);
  out += "\n" + table.render(2);
  out += fmt::format("\nCells of each trial:\n");
  using Align = base::TextTable::Align;
  std::vector<base::TextTable::Column> columns{
      {"workload", Align::left}, {"size"}, {"type"}, {"op"}, {"placement"},
      {"variant", Align::left}};
  const bool in_process = std::ranges::any_of(
      first.cells, [](const model::Cell& cell) { return !cell.settings.empty(); });
  if (in_process)
    columns.push_back({"in process", Align::left});
  base::TextTable cells(columns);
  for (const model::Cell& cell : first.cells) {
    std::vector<std::string> row{cell.label.workload(),
                                 size_of(cell.label),
                                 std::string(to_string(cell.label.type)),
                                 std::string(to_string(cell.label.op)),
                                 std::string(to_string(cell.label.placement)),
                                 cell.label.variant()};
    std::vector<int> widths{0, 0, 0, 0, 0, 40};
    if (in_process) {
      row.push_back(model::label_of(cell.settings));
      widths.push_back(40);
    }
    base::add_wrapped_row(cells, row, widths);
  }
  out += fmt::format("{}", cells.render(2));
  for (const model::Setting& pinned : plan.pinned)
    out += base::paragraph("pinned:",
                           fmt::format("{}={} is set in the environment; --override {} sweeps it",
                                       pinned.name, pinned.value, pinned.name),
                           8);
  for (const std::string& note : plan.notes)
    out += base::paragraph("left out:", note, 10);
  for (const std::string& warning : plan.warnings)
    out += base::paragraph("note:", warning, 6);
  return out;
}

} // namespace

int plan_command(const World& world, PlanOptions options) {
  if (auto possible = check_destination(options.destination); !possible)
    return give_up(possible.error());
  Session session;
  if (auto opened = open_local_session(world, options, session, options.gpus); !opened)
    return give_up(opened.error());
  fill_defaults(options, session.backend.name, session.hosts, session.layout.ranks());
  auto plan = check_environment(session, world, options.overrides)
                  .and_then([&] { return make_request(options, session, world); })
                  .and_then([](const auto& request) { return workload::make_plan(request); });
  if (!plan)
    return give_up(plan.error());
  const bool json = options.format == "json";
  const std::string text =
      !options.dry_run ? write_plan_file(options, json ? PlanFormat::json : PlanFormat::toml)
      : json           ? describe_json(*plan)
                       : within_width(describe(*plan));
  return deliver(text, options.destination, base::k_exit_ok);
}

} // namespace ncclprobe::cli
