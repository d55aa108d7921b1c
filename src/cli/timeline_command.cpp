// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/timeline_command.h"

#include "analysis/report/text_layout.h"
#include "analysis/report/timeline_report.h"
#include "base/units.h"
#include "cli/trace_source.h"
#include "store/run_file.h"
#include "store/trace_parts.h"

#include <algorithm>
#include <ostream>
#include <thread>

namespace ncclprobe::cli {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

Result<std::string> render(const store::TraceFile& file, const model::TrialSpec* trial,
                           analysis::TimelineHeading heading, const TimelineRequest& request) {
  for (int rank : file.ranks())
    if (std::uint64_t bytes = file.origin(rank).bytes_left_out; bytes > 0)
      heading.notes.push_back(
          fmt::format("rank {}: its process was killed while it wrote the last {} bytes, which are "
                      "left out",
                      rank, bytes));
  NCCLPROBE_TRY_ASSIGN(auto source, trace_source(file, trial));
  // More than a few would wait for memory, and hold more of it.
  unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  NCCLPROBE_TRY_ASSIGN(
      auto timeline,
      analysis::timeline::analyse(source, {.threads = threads, .keep_steps = request.steps}));
  return request.json ? analysis::render_timeline_json(timeline, heading)
                      : analysis::render_timeline(timeline, heading);
}

// The spools become a trace file beside them, which is kept for other programs to read.
Result<fs::path> converted(const fs::path& folder, std::ostream& err) {
  std::vector<fs::path> spools;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".spool")
      spools.push_back(at->path());
  if (failed)
    return base::fail(Errc::io, "cannot read folder {}: {}", folder.string(), failed.message());
  fs::path target = folder / "trace.h5";
  if (spools.empty() && !fs::exists(target))
    return base::fail({Errc::not_found, fmt::format("{} holds no spools", folder.string()),
                       "give the folder that NCCL's profiler plugin wrote to, or a run file"});
  std::sort(spools.begin(), spools.end());
  bool is_new = fs::exists(target, failed) &&
                std::all_of(spools.begin(), spools.end(), [&](const fs::path& spool) {
                  return fs::last_write_time(spool, failed) < fs::last_write_time(target, failed);
                });
  if (is_new)
    return target;
  NCCLPROBE_TRY_ASSIGN(store::TraceReport report, store::convert_spools(spools, target, {}));
  for (const std::string& remark : report.remarks)
    err << "ncclprobe-report: " << remark << "\n";
  return target;
}

Result<std::string> of_run(const TimelineRequest& request, std::ostream& err) {
  if (auto folded = store::fold(request.path); folded)
    for (const std::string& remark : folded->trace_remarks)
      err << "ncclprobe-report: " << remark << "\n";
  NCCLPROBE_TRY_ASSIGN(const model::Run run, store::read_run(request.path));
  std::vector<store::StoredTrace> traces = store::list_traces(request.path);
  if (traces.empty())
    return base::fail({Errc::not_found, fmt::format("{} has no traces", request.path.string()),
                       "run with --trace kernels"});
  auto chosen =
      request.trial
          ? std::find_if(traces.begin(), traces.end(),
                         [&](const store::StoredTrace& one) { return one.trial == *request.trial; })
          : traces.begin();
  std::vector<std::string> others;
  for (auto at = traces.begin(); at != traces.end(); ++at)
    if (at != chosen)
      others.push_back(std::to_string(at->trial));
  if (chosen == traces.end())
    return base::fail({Errc::not_found, fmt::format("trial {} has no trace", *request.trial),
                       "traced: " + analysis::join(others, ", ")});
  NCCLPROBE_TRY_ASSIGN(const store::TraceFile file, store::TraceFile::open(chosen->path));

  analysis::TimelineHeading heading;
  heading.title = fmt::format("trial {} of {}, level {}", chosen->trial, request.path.string(),
                              file.identity().level);
  if (!others.empty())
    heading.notes.push_back("traced as well, see --trial: " + analysis::join(others, ", "));
  const model::TrialSpec* spec = nullptr;
  for (const model::TrialRecord& trial : run.trials)
    if (trial.spec.id == chosen->trial)
      spec = &trial.spec;
  for (std::size_t i = 0; spec != nullptr && i < spec->cells.size(); ++i)
    heading.cells[static_cast<int>(i)] =
        fmt::format("{} {}", analysis::describe(spec->cells[i].label),
                    base::format_bytes(spec->cells[i].label.bytes));
  return render(file, spec, std::move(heading), request);
}

} // namespace

Result<std::string> timeline_text(const TimelineRequest& request, std::ostream& err) {
  fs::path path = request.path;
  if (fs::is_directory(path)) {
    NCCLPROBE_TRY_ASSIGN(path, converted(request.path, err));
  } else if (!store::TraceFile::open(path)) {
    return of_run(request, err);
  }
  NCCLPROBE_TRY_ASSIGN(const store::TraceFile file, store::TraceFile::open(path));
  return render(file, nullptr, {request.path.string(), "", {}, {}}, request);
}

} // namespace ncclprobe::cli
