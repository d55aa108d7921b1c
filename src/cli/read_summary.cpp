// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/read_summary.h"

#include "store/trial_stream.h"

namespace ncclprobe::cli {

base::Result<analysis::RunSummary> read_summary(const std::filesystem::path& run_file) {
  analysis::RunSummary summary;
  store::TrialSink sink;
  sink.begin = [&](model::RunHeader header, std::size_t trials) {
    summary = analysis::RunSummary(std::move(header), trials);
  };
  sink.take = [&](std::size_t index, model::TrialRecord trial) {
    summary.add(index, std::move(trial));
  };
  NCCLPROBE_TRY(store::read_trials(run_file, sink));
  return summary;
}

} // namespace ncclprobe::cli
