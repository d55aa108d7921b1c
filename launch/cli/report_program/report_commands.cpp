// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/report_program/report_commands.h"

#include "launch/cli/bisect/bisect_command.h"
#include "launch/cli/claim/claim_command.h"
#include "launch/cli/compare/compare_command.h"
#include "launch/cli/export/export_command.h"
#include "launch/cli/hang/hang_command.h"
#include "launch/cli/import/import_command.h"
#include "launch/cli/predict/predict_command.h"
#include "launch/cli/report/report_command.h"
#include "launch/cli/tuner/tuner_command.h"

namespace ncclprobe::cli {
std::vector<Command> report_commands() {
  return {make_command<ReportOptions>(report_usage, report_run),
          make_command<CompareOptions>(compare_usage, compare_command),
          make_command<BaselineOptions>(baseline_usage, baseline_command),
          make_command<ImportOptions>(import_usage, import_files),
          make_command<PredictOptions>(predict_usage, predict_steps),
          make_command<ClaimOptions>(claim_usage, check_claim),
          make_command<ExportOptions>(export_usage, export_trace),
          make_command<BisectOptions>(bisect_usage, bisect_command),
          make_command<HangOptions>(hang_usage, hang_command),
          make_command<TunerOptions>(tuner_usage, tuner_command)};
}

} // namespace ncclprobe::cli
