// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/report_program/report_commands.h"

#include "base/console.h"
#include "launch/cli/claim/claim_command.h"
#include "launch/cli/compare/compare_command.h"
#include "launch/cli/export/export_command.h"
#include "launch/cli/import/import_command.h"
#include "launch/cli/predict/predict_command.h"
#include "launch/cli/report/report_command.h"

namespace ncclprobe::cli {
namespace {

template <typename Options, typename Run>
Command reading(Usage (*usage)(Options&), Run run) {
  return make_command<Options>(usage, [run](Options options) {
    return run(std::move(options), base::console(base::Stream::out),
               base::console(base::Stream::err));
  });
}

} // namespace

std::vector<Command> report_commands() {
  return {reading(report_usage, report_run),         reading(compare_usage, compare_command),
          reading(baseline_usage, baseline_command), reading(import_usage, import_files),
          reading(predict_usage, predict_steps),     reading(claim_usage, check_claim),
          reading(export_usage, export_trace)};
}

} // namespace ncclprobe::cli
