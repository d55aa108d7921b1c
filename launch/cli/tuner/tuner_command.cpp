// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tuner/tuner_command.h"

#include "tuning/nvidia_csv.h"
#include "tuning/table_file.h"

#include "analysis/report_value/report_writers.h"
#include "analysis/tuner_check/row_check.h"
#include "base/atomic_file.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/parse_enum.h"
#include "base/text_layout.h"
#include "base/version.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"

#include <algorithm>
#include <cstdlib>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_tuner_command = "ncclprobe tuner";

using analysis::RowCheck;
using analysis::RowState;

// Variables by which NCCL's choice of algorithms differs.
workload::Variables variables_here() {
  workload::Variables found;
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_PLUGIN", "NCCL_NVLS_ENABLE",
                           "NCCL_PAT_ENABLE", "NCCL_COLLNET_ENABLE"})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
      found[name] = value;
  return found;
}

Result<analysis::RowEvidence> evidence_of(const TunerOptions& options,
                                          std::optional<model::Run>& run) {
  analysis::RowEvidence evidence;
  for (const std::filesystem::path& file : options.hits) {
    NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file, tuning::k_most_table_bytes));
    NCCLPROBE_TRY_ASSIGN(tuning::HitCounts hits, tuning::parse_hit_counts(text, file.string()));
    evidence.hits.push_back(std::move(hits));
  }
  if (options.run_file.empty()) {
    evidence.environment = variables_here();
    return evidence;
  }
  NCCLPROBE_TRY_ASSIGN(run, read_run_or_parts(options.run_file));
  evidence.run = &*run;
  return evidence;
}

// The most calls of any process that no row decided, by the reason.
std::uint64_t most_calls(const analysis::RowEvidence& evidence,
                         std::uint64_t tuning::HitCounts::*member) {
  std::uint64_t most = 0;
  for (const tuning::HitCounts& hits : evidence.hits)
    most = std::max(most, hits.*member);
  return most;
}

analysis::TableOf<RowCheck> rows_table(std::vector<RowCheck> checks) {
  using analysis::Unit;
  using analysis::Value;
  analysis::TableOf<RowCheck> table(std::move(checks));
  auto of_choice = [](auto member) {
    return [member](const RowCheck& check) {
      return check.row.choice ? Value(check.row.choice.value().*member) : Value();
    };
  };
  table.add("row", &RowCheck::number).titled("row");
  table.add("collective", [](const RowCheck& check) { return check.row.collective; })
      .titled("collective")
      .left();
  table.add("min_bytes", [](const RowCheck& check) { return check.row.min_bytes; })
      .titled("from", {Unit::size});
  table.add("max_bytes", [](const RowCheck& check) { return check.row.max_bytes; })
      .titled("to", {Unit::size});
  table.add("ranks", [](const RowCheck& check) { return check.row.ranks; }).titled("ranks");
  table.add("nodes", [](const RowCheck& check) { return check.row.nodes; }).titled("nodes");
  table.add("nvlink_domains", [](const RowCheck& check) {
    return check.row.domains ? Value(to_text(*check.row.domains)) : Value();
  });
  table.add("algorithm", of_choice(&tuning::Choice::algorithm)).titled("algorithm").left();
  table.add("protocol", of_choice(&tuning::Choice::protocol)).titled("protocol").left();
  table
      .add("channels",
           [](const RowCheck& check) {
             return check.row.channels == tuning::k_keep_channels ? Value()
                                                                  : Value(check.row.channels);
           })
      .titled("channels");
  table.add("state", &RowCheck::state).titled("state").left();
  table.add("calls", &RowCheck::calls).titled("calls").if_any();
  table.add("reason", [](const RowCheck& check) {
    return check.reason.empty() ? Value() : Value(check.reason);
  });
  return table;
}

analysis::Report report_of(const TunerOptions& options, const tuning::TableFile& file,
                           const analysis::RowEvidence& evidence, std::vector<RowCheck> checks) {
  using analysis::Value;
  const analysis::TableOf<RowCheck> table = rows_table(std::move(checks));
  std::error_code ignored;
  const std::string reference = to_text(
      tuning::TableReference{std::filesystem::absolute(options.input, ignored), file.sha256});
  auto known = [](const std::string& text) { return text.empty() ? Value() : Value(text); };
  const tuning::Header& header = file.table.header;
  const std::uint64_t without_row = most_calls(evidence, &tuning::HitCounts::without_row);
  const std::uint64_t set_aside = most_calls(evidence, &tuning::HitCounts::set_aside);

  analysis::Section section{.key = "rows"};
  section.title = fmt::format("Tuner table {}", options.input.string());
  if (!header.machine.empty() || !header.gpu.empty())
    section.add("",
                fmt::format("Measured on {}{}{}", header.machine,
                            header.machine.empty() || header.gpu.empty() ? "" : ", ", header.gpu),
                2);
  if (!header.gain.empty())
    section.add("", fmt::format("Gain {} ({})", header.gain, header.interval), 2);
  section.blocks.emplace_back(analysis::View{.table = table.table()});
  for (const RowCheck& check : table.rows())
    if (!check.reason.empty())
      section.add("", fmt::format("Row {}: {}.", check.number, check.reason), 2);
  if (without_row > 0)
    section.add("",
                fmt::format("{} had no row and kept NCCL's choice.",
                            base::count_of(without_row, "call", "calls")),
                2);
  if (set_aside > 0)
    section.add("",
                fmt::format("{} kept NCCL's choice, because NCCL's estimates there are not "
                            "those of the table's machine.",
                            base::count_of(set_aside, "call", "calls")),
                2);
  section.add("",
              "To use it, set NCCL_TUNER_PLUGIN to libncclprobe-tuner.so on all ranks, and:", 0);
  section.blocks.emplace_back(
      analysis::Code{{fmt::format("export NCCLPROBE_TUNER_TABLE='{}'", reference)}});
  return {.sections = {section},
          .data = {{"schema", "ncclprobe.tuner_check"},
                   {"version", 1},
                   {"machine", known(header.machine)},
                   {"gpu", known(header.gpu)},
                   {"nccl", known(header.nccl)},
                   {"reference", reference},
                   {"without_row", evidence.hits.empty() ? Value() : Value(without_row)},
                   {"set_aside", evidence.hits.empty() ? Value() : Value(set_aside)},
                   {"rows", table.table()}},
          .rows = table.table()};
}

int check_table(const TunerOptions& options) {
  std::vector<std::filesystem::path> inputs = options.hits;
  inputs.push_back(options.input);
  if (!options.run_file.empty())
    inputs.push_back(options.run_file);
  if (auto possible = check_output(options.output, inputs); !possible)
    return complain_of_output(k_tuner_command, possible.error());
  auto file = tuning::read_table_file(options.input);
  if (!file)
    return complain_of_input(k_tuner_command, file.error());
  std::optional<model::Run> run;
  auto evidence = evidence_of(options, run);
  if (!evidence)
    return complain_of_input(k_tuner_command, evidence.error());
  auto checks = analysis::check_rows(*file, *evidence);
  if (!checks)
    return complain_of_input(k_tuner_command, checks.error());
  const bool any_lost = std::ranges::any_of(*checks, [](const RowCheck& check) {
    return check.state == RowState::impossible || check.state == RowState::overridden;
  });
  return deliver(report_of(options, *file, *evidence, std::move(*checks)),
                 base::value_or_throw(base::parse_enum<analysis::Format>(options.format, "format")),
                 options.output, any_lost ? base::k_exit_failures : base::k_exit_ok);
}

struct Converted {
  std::string text;
  std::vector<std::string> remarks;
  std::size_t rows = 0;
};

Result<Converted> converted(const std::filesystem::path& input) {
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(input, tuning::k_most_table_bytes));
  if (tuning::is_table(text)) {
    NCCLPROBE_TRY_ASSIGN(const tuning::Table table, tuning::parse_table(text, input.string()));
    NCCLPROBE_TRY_ASSIGN(tuning::ToNvidia to, tuning::to_nvidia_csv(table));
    return Converted{std::move(to.text), std::move(to.remarks), table.rows.size()};
  }
  NCCLPROBE_TRY_ASSIGN(tuning::FromNvidia from, tuning::from_nvidia_csv(text, input.string()));
  from.table.header.ncclprobe = base::version();
  return Converted{to_text(from.table), std::move(from.remarks), from.table.rows.size()};
}

int convert_table(const TunerOptions& options) {
  const base::Destination to{options.converted, options.output.overwrite};
  if (auto possible = check_output(to, {options.input}, "the converted file"); !possible)
    return complain_of_output(k_tuner_command, possible.error());
  auto made = converted(options.input);
  if (!made)
    return complain_of_input(k_tuner_command, made.error());
  if (auto written = base::write_output_file(to, made->text); !written)
    return complain_of_output(k_tuner_command, written.error());
  for (const std::string& remark : made->remarks)
    spdlog::warn("{}: {}", options.input.string(), remark);
  return show(fmt::format("{}: {}\n", options.converted.string(),
                          base::count_of(made->rows, "row", "rows")),
              base::k_exit_ok);
}

} // namespace

int tuner_command(const TunerOptions& options) {
  return options.action == "convert" ? convert_table(options) : check_table(options);
}

} // namespace ncclprobe::cli
