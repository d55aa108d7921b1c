// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/predict/predict_command.h"

#include "analysis/report/prediction_report.h"
#include "base/exit_code.h"
#include "launch/cli/common/command_end.h"
#include "launch/cli/files/report_files.h"

namespace ncclprobe::cli {

int predict_steps(const PredictOptions& options) {
  const char* command = "ncclprobe predict";
  std::vector<std::filesystem::path> files = options.also;
  files.insert(files.begin(), options.run_file);
  if (auto possible = check_output(options.output, files); !possible)
    return complain_of_output(command, possible.error());
  auto run = read_run_or_parts(options.run_file);
  if (!run)
    return complain_of_input(command, run.error());
  std::vector<model::Run> also;
  for (const auto& file : options.also) {
    auto other = read_run_or_parts(file);
    if (!other)
      return complain_of_input(command, other.error());
    also.push_back(std::move(*other));
  }
  auto prediction = analysis::predict(*run, options.request, also);
  if (!prediction)
    return complain(command, prediction.error(), base::k_exit_usage);
  return deliver(analysis::prediction_report(*prediction),
                 options.format.value_or(analysis::Format::table), options.output, base::k_exit_ok);
}

} // namespace ncclprobe::cli
