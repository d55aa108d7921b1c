// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/chosen_trace.h"

#include "store/run_file.h"
#include "store/trace_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

void tell(std::ostream& err, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks)
    err << "ncclprobe-report: " << remark << "\n";
}

// Converted anew whenever a spool has changed: the job may still go on.
Result<fs::path> converted(const fs::path& folder, std::ostream& err) {
  std::vector<fs::path> spools;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".spool")
      spools.push_back(at->path());
  if (failed)
    return base::fail(Errc::io, "cannot read folder {}: {}", folder.string(), failed.message());
  fs::path target = folder / "trace.h5";
  const bool is_there = fs::exists(target, failed);
  if (spools.empty() && !is_there)
    return base::fail({Errc::not_found, fmt::format("{} holds no spools", folder.string()),
                       "give the folder that NCCL's profiler plugin wrote to, or a run file"});
  std::ranges::sort(spools);
  if (is_there && std::ranges::all_of(spools, [&](const fs::path& spool) {
        std::error_code gone;
        return fs::last_write_time(spool, gone) < fs::last_write_time(target, gone);
      }))
    return target;
  NCCLPROBE_TRY_ASSIGN(store::TraceReport report, store::convert_spools(spools, target, {}));
  tell(err, report.remarks);
  return target;
}

Result<ChosenTrace> choose_of_run(const fs::path& run_file, std::optional<int> trial,
                                  std::ostream& err) {
  if (auto folded = store::fold(run_file))
    tell(err, folded->trace_remarks);
  NCCLPROBE_TRY_ASSIGN(model::Run run, store::read_run(run_file));
  std::vector<store::StoredTrace> traces = store::list_traces(run_file);
  if (traces.empty())
    return base::fail({Errc::not_found, fmt::format("{} has no traces", run_file.string()),
                       "run with --trace kernels"});
  std::vector<int> others;
  const store::StoredTrace* chosen = nullptr;
  for (const store::StoredTrace& one : traces) {
    if (!chosen && one.trial == trial.value_or(one.trial))
      chosen = &one;
    else
      others.push_back(one.trial);
  }
  if (!chosen)
    return base::fail({Errc::not_found, fmt::format("trial {} has no trace", *trial),
                       fmt::format("traced: {}", fmt::join(others, ", "))});
  NCCLPROBE_TRY_ASSIGN(store::TraceFile file, store::TraceFile::open(chosen->path));
  return ChosenTrace{std::move(file), std::move(others), std::move(run)};
}

} // namespace

Result<ChosenTrace> choose_trace(const fs::path& path, std::optional<int> trial,
                                 std::ostream& err) {
  std::error_code ignored;
  fs::path trace = path;
  if (fs::is_directory(path, ignored)) {
    NCCLPROBE_TRY_ASSIGN(trace, converted(path, err));
  }
  auto file = store::TraceFile::open(trace);
  if (!file && trace == path) {
    auto of_run = choose_of_run(path, trial, err);
    if (!of_run && of_run.error().code == Errc::protocol) {
      of_run.error().message += "; nor a trace: " + file.error().message;
      of_run.error().hint = "give a run file, one of its traces, or a folder of spools";
    }
    return of_run;
  }
  if (!file)
    return base::fail(std::move(file.error()));
  if (trial && *trial != file->identity().trial)
    return base::fail(
        {Errc::not_found,
         fmt::format("{} is the trace of trial {}", trace.string(), file->identity().trial),
         "leave out --trial, or give the run file"});
  return ChosenTrace{std::move(*file), {}, {}};
}

} // namespace ncclprobe::cli
