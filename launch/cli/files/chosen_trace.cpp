// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/files/chosen_trace.h"

#include "base/log.h"
#include "base/number_list.h"
#include "launch/cli/files/recorded_spools.h"
#include "launch/cli/files/report_files.h"
#include "launch/cli/files/trace_cache.h"
#include "store/run_file.h"
#include "store/trace_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

void tell(const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks)
    spdlog::warn("{}", remark);
}

// Converted again whenever a spool has changed, because the job may still run.
Result<store::TraceFile> converted(const fs::path& folder) {
  NCCLPROBE_TRY_ASSIGN(const std::vector<fs::path> spools, spools_in(folder));
  std::error_code failed;
  const fs::path made_before = folder / "trace.h5"; // earlier versions kept it here
  const bool is_there = fs::exists(made_before, failed);
  if (spools.empty() && !is_there)
    return fail({Errc::not_found,
                 fmt::format("{} holds neither spools nor traces", folder.string()),
                 "give the folder that NCCL's profiler plugin wrote to, or a run file"});
  if (is_there && std::ranges::all_of(spools, [&](const fs::path& spool) {
        std::error_code gone;
        return fs::last_write_time(spool, gone) < fs::last_write_time(made_before, gone);
      }))
    return store::TraceFile::open(made_before);
  return cached_trace(folder, spools, [&](const fs::path& target) -> Result<void> {
    NCCLPROBE_TRY_ASSIGN(store::TraceReport report, store::convert_spools(spools, target, {}));
    tell(report.remarks);
    return {};
  });
}

bool was_traced(const model::TrialRecord& trial) {
  return trial.spec.trace != model::TraceLevel::off;
}

// Makes the trial's trace from the parts folder of a run, which stays unchanged.
Result<store::TraceFile> unfolded_trace(const fs::path& run_file, int trial,
                                        const model::Run* run) {
  store::TraceIdentity identity{trial, "", ""};
  if (run != nullptr) {
    identity.run_id = run->header.run_id;
    for (const model::TrialRecord& one : run->trials)
      if (one.spec.id == trial)
        identity.level = model::to_string(one.spec.trace);
  }
  return temporary_trace([&](const fs::path& target) -> Result<void> {
    NCCLPROBE_TRY_ASSIGN(store::TraceReport report,
                         store::gather_trace(run_file, identity, target));
    tell(report.remarks);
    return {};
  });
}

// Trials with a trace, and its path; an empty path means the parts folder.
std::map<int, fs::path> traces_of(const fs::path& run_file) {
  std::map<int, fs::path> traces;
  for (store::StoredTrace& one : store::list_traces(run_file))
    traces[one.trial] = std::move(one.path);
  for (int trial : store::unfolded_traces(run_file))
    traces[trial].clear();
  return traces;
}

// The trace of `trial`, or the first one. `run`: null if unknown.
Result<ChosenTrace> chosen_of(const fs::path& run_file, const std::map<int, fs::path>& traces,
                              std::optional<int> trial, const model::Run* run) {
  std::vector<int> others;
  for (const auto& [one, path] : traces)
    if (one != trial.value_or(traces.begin()->first))
      others.push_back(one);
  const auto chosen = trial ? traces.find(*trial) : traces.begin();
  if (chosen == traces.end())
    return fail({Errc::not_found, fmt::format("trial {} has no trace", *trial),
                 fmt::format("traced: {}", fmt::join(others, ", "))});
  NCCLPROBE_TRY_ASSIGN(store::TraceFile file, chosen->second.empty()
                                                  ? unfolded_trace(run_file, chosen->first, run)
                                                  : store::TraceFile::open(chosen->second));
  return ChosenTrace{std::move(file), std::move(others), {}};
}

Result<ChosenTrace> choose_of_run(const fs::path& run_file, std::optional<int> trial) {
  NCCLPROBE_TRY_ASSIGN(model::Run run, store::read_run(run_file));
  const std::map<int, fs::path> traces = traces_of(run_file);
  if (traces.empty() && std::ranges::any_of(run.trials, was_traced))
    return fail({Errc::not_found,
                 fmt::format("{} was traced, but the traces are not in {}", run_file.string(),
                             store::traces_folder(run_file).string()),
                 "keep the folder of traces beside the run file, with the same name"});
  if (traces.empty())
    return fail({Errc::not_found, fmt::format("{} has no traces", run_file.string()),
                 "run with --trace kernels"});
  NCCLPROBE_TRY_ASSIGN(ChosenTrace chosen, chosen_of(run_file, traces, trial, &run));
  chosen.run = std::move(run);
  return chosen;
}

} // namespace

const model::TrialRecord* ChosenTrace::trial() const {
  if (run)
    for (const model::TrialRecord& one : run->trials)
      if (one.spec.id == file.identity().trial)
        return &one;
  return nullptr;
}

Result<void> check_ranks(const store::TraceFile& trace, const std::vector<int>& ranks) {
  for (int rank : ranks)
    if (std::ranges::find(trace.ranks(), rank) == trace.ranks().end())
      return fail({Errc::invalid_argument, fmt::format("the trace has no rank {}", rank),
                   fmt::format("it has {}", base::format_number_list(trace.ranks()))});
  return {};
}

Result<ChosenTrace> choose_trace(const fs::path& path, std::optional<int> trial) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (fs::path run_file = is_folder ? run_file_of(path) : ""; !run_file.empty()) {
    if (fs::exists(run_file, ignored) || fs::exists(store::parts_folder(run_file), ignored))
      return choose_of_run(run_file, trial);
    if (auto traces = traces_of(run_file); !traces.empty())
      return chosen_of(run_file, traces, trial, nullptr);
  }
  auto file = is_folder ? converted(path) : store::TraceFile::open(path);
  if (!file && !is_folder) {
    auto of_run = choose_of_run(path, trial);
    if (!of_run && of_run.error().code == Errc::protocol) {
      of_run.error().message += "; nor a trace: " + file.error().message;
      of_run.error().hint = "give a run file, one of its traces, or the folder of a captured job";
    }
    return of_run;
  }
  if (!file)
    return fail(std::move(file.error()));
  if (trial && *trial != file->identity().trial)
    return fail({Errc::not_found,
                 fmt::format("{} is the trace of trial {}", path.string(), file->identity().trial),
                 "leave out --trial, or give the run file"});
  return ChosenTrace{std::move(*file), {}, {}};
}

} // namespace ncclprobe::cli
