// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/chosen_trace.h"

#include "cli/report_files.h"
#include "store/run_file.h"
#include "store/trace_parts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ostream>
#include <unistd.h>

namespace ncclprobe::cli {
namespace {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

void tell(std::ostream& err, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks)
    err << "ncclprobe-report: " << remark << "\n";
}

// A folder of its own for a trace that cannot lie where its spools do. Gone with this object.
class PrivateFolder {
public:
  PrivateFolder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "ncclprobe-trace-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr)
      path_ = name;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path_.empty())
      fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const fs::path& path() const { return path_; } // empty: it could not be made

private:
  fs::path path_;
};

// Converted anew whenever a spool has changed: the job may still go on.
Result<store::TraceFile> converted(const fs::path& folder, std::ostream& err) {
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
    return base::fail({Errc::not_found,
                       fmt::format("{} holds neither spools nor traces", folder.string()),
                       "give the folder that NCCL's profiler plugin wrote to, or a run file"});
  std::ranges::sort(spools);
  if (is_there && std::ranges::all_of(spools, [&](const fs::path& spool) {
        std::error_code gone;
        return fs::last_write_time(spool, gone) < fs::last_write_time(target, gone);
      }))
    return store::TraceFile::open(target);
  std::optional<PrivateFolder> elsewhere;
  if (::access(folder.c_str(), W_OK) != 0) // of another user: what is open needs no name
    if (elsewhere.emplace(); !elsewhere->path().empty())
      target = elsewhere->path() / target.filename();
  NCCLPROBE_TRY_ASSIGN(store::TraceReport report, store::convert_spools(spools, target, {}));
  tell(err, report.remarks);
  return store::TraceFile::open(target);
}

bool was_traced(const model::TrialRecord& trial) {
  return trial.spec.trace != model::TraceLevel::off;
}

// The trial's, or the first.
Result<ChosenTrace> chosen_of(const std::vector<store::StoredTrace>& traces,
                              std::optional<int> trial) {
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
  return ChosenTrace{std::move(file), std::move(others), {}};
}

Result<ChosenTrace> choose_of_run(const fs::path& run_file, std::optional<int> trial,
                                  std::ostream& err) {
  if (auto folded = store::fold(run_file))
    tell(err, folded->trace_remarks);
  NCCLPROBE_TRY_ASSIGN(model::Run run, store::read_run(run_file));
  std::vector<store::StoredTrace> traces = store::list_traces(run_file);
  if (traces.empty() && std::ranges::any_of(run.trials, was_traced))
    return base::fail({Errc::not_found,
                       fmt::format("{} was traced, but the traces are not in {}", run_file.string(),
                                   store::trace_path(run_file, 0).parent_path().string()),
                       "that folder goes with the run file: it lies beside it and has its name"});
  if (traces.empty())
    return base::fail({Errc::not_found, fmt::format("{} has no traces", run_file.string()),
                       "run with --trace kernels"});
  NCCLPROBE_TRY_ASSIGN(ChosenTrace chosen, chosen_of(traces, trial));
  chosen.run = std::move(run);
  return chosen;
}

} // namespace

Result<ChosenTrace> choose_trace(const fs::path& path, std::optional<int> trial,
                                 std::ostream& err) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  if (fs::path run_file = is_folder ? run_file_of(path) : ""; !run_file.empty()) {
    if (fs::exists(run_file, ignored) || fs::exists(store::parts_folder(run_file), ignored))
      return choose_of_run(run_file, trial, err);
    if (auto traces = store::list_traces(run_file); !traces.empty())
      return chosen_of(traces, trial);
  }
  auto file = is_folder ? converted(path, err) : store::TraceFile::open(path);
  if (!file && !is_folder) {
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
         fmt::format("{} is the trace of trial {}", path.string(), file->identity().trial),
         "leave out --trial, or give the run file"});
  return ChosenTrace{std::move(*file), {}, {}};
}

} // namespace ncclprobe::cli
