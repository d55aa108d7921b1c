// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/predict/predict_command.h"

#include "analysis/report/prediction_report.h"
#include "base/exit_code.h"
#include "launch/cli/files/report_files.h"

namespace ncclprobe::cli {

int predict_steps(const PredictOptions& options, std::ostream& out, std::ostream& err) {
  const char* command = "ncclprobe predict";
  std::vector<std::filesystem::path> files = options.also;
  files.insert(files.begin(), options.run_file);
  if (auto possible = check_output(options.output, files); !possible)
    return complain(err, command, possible.error(), exit_code_of_output(possible.error()));
  auto run = read_run_or_parts(options.run_file);
  if (!run)
    return complain_of_input(err, command, run.error());
  std::vector<model::Run> also;
  for (const auto& file : options.also) {
    auto other = read_run_or_parts(file);
    if (!other)
      return complain_of_input(err, command, other.error());
    also.push_back(std::move(*other));
  }
  auto prediction = analysis::predict(*run, options.request, also);
  if (!prediction)
    return complain(err, command, prediction.error(), base::k_exit_usage);
  return write_report(analysis::prediction_report(*prediction),
                      options.format.value_or(analysis::Format::table), options.output, out, err,
                      command);
}

} // namespace ncclprobe::cli
