// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/traced_steps.h"

#include "analysis/results/cell_summary.h"
#include "analysis/timeline/timeline.h"
#include "base/log.h"
#include "launch/cli/files/trace_source.h"
#include "store/trace_parts.h"

#include <algorithm>
#include <set>

namespace ncclprobe::cli {
namespace {

Result<std::map<int, analysis::steps::ByKernels>> read(const std::filesystem::path& path,
                                                       const model::TrialSpec& trial) {
  NCCLPROBE_TRY_ASSIGN(const store::TraceFile file, store::TraceFile::open(path));
  NCCLPROBE_TRY_ASSIGN(const auto source, trace_source(file, &trial));
  NCCLPROBE_TRY_ASSIGN(const auto timeline, analysis::timeline::analyse(source));
  return analysis::steps::by_kernels(timeline, trial.id);
}

} // namespace

analysis::steps::TracedCells traced_steps(const std::filesystem::path& run_file,
                                          const model::Run& run) {
  analysis::steps::TracedCells all;
  std::set<std::string> settings; // settings whose trace has been found
  for (const store::StoredTrace& trace : store::list_traces(run_file)) {
    const auto trial = std::ranges::find(run.trials, trace.trial,
                                         [](const model::TrialRecord& one) { return one.spec.id; });
    if (trial == run.trials.end())
      continue;
    bool is_new = false;
    for (const model::Cell& cell : trial->spec.cells)
      if (cell.timing.mode == model::TimingMode::steps)
        is_new = settings.insert(analysis::setting_name(trial->spec, cell)).second || is_new;
    if (!is_new)
      continue;
    if (auto cells = read(trace.path, trial->spec))
      all[trace.trial] = std::move(*cells);
    else
      spdlog::warn("the trace of trial {}: {}", trace.trial, cells.error().text());
  }
  return all;
}

} // namespace ncclprobe::cli
