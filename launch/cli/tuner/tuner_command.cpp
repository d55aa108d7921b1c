// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tuner/tuner_command.h"

#include "system/nccl_files.h"
#include "tuning/nvidia_csv.h"
#include "tuning/table_file.h"

#include "analysis/report_value/report_writers.h"
#include "analysis/tuner_check/tuner_check_report.h"
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
#include <map>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_tuner_command = "ncclprobe tuner";

using analysis::RowCheck;
using analysis::RowState;

// What NCCL's files set: the first of them wins.
workload::Variables variables_of_files() {
  std::map<std::string, std::string> places;
  if (const char* file = std::getenv("NCCL_CONF_FILE"); file != nullptr)
    places["NCCL_CONF_FILE"] = file;
  workload::Variables found;
  for (const model::NcclFile& file : system::nccl_files(places))
    for (const model::Setting& one : file.settings)
      found.try_emplace(one.name, one.value);
  return found;
}

// Variables by which NCCL's choice of algorithms differs. The environment wins over the files, also
// with an empty value.
workload::Variables variables_here() {
  const workload::Variables of_files = variables_of_files();
  workload::Variables found;
  for (const char* name :
       {"NCCL_ALGO", "NCCL_PROTO", "NCCL_TUNER_PLUGIN", "NCCL_NVLS_ENABLE", "NCCL_PAT_ENABLE",
        "NCCL_COLLNET_ENABLE", "NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0')
      found[name] = value;
    else if (const auto set = of_files.find(name); value == nullptr && set != of_files.end())
      found.insert(*set);
  }
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
  evidence.shape = {options.ranks, options.nodes};
  if (options.run_file.empty()) {
    evidence.environment = variables_here();
    return evidence;
  }
  NCCLPROBE_TRY_ASSIGN(run, read_run_or_parts(options.run_file));
  evidence.run = &*run;
  return evidence;
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
  if (auto safe = tuning::check_permissions(options.input); !safe)
    spdlog::warn("the plugin will refuse this table: {}", safe.error().text());
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
  return deliver(analysis::tuner_check_report(options.input, *file, *evidence, std::move(*checks)),
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
