// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/own_folder.h"
#include "store/run_file.h"
#include "store/run_lock.h"
#include "store/run_parts.h"
#include "store/run_records.h"
#include "store/trace_parts.h"

#include <map>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

// After the rename these files no longer matter. A file that cannot be removed stays, without a
// message, because the next fold will find the work done.
void remove_folded(const fs::path& run_file, const Gathered& run) {
  std::error_code ignored;
  fs::path folder = parts_folder(run_file);
  for (const fs::path& part : run.parts)
    fs::remove(part, ignored);
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end;
       at.increment(ignored))
    if (at->path().extension() == ".tmp") {
      std::error_code cannot;
      fs::remove(at->path(), cannot);
    }
  fs::remove(folder / k_header_name, ignored);
  fs::remove(folder / k_replaced_run_name, ignored);
  fs::remove_all(folder / k_replaced_traces_name, ignored);
  fs::remove(folder / k_lock_name, ignored);
  fs::remove(folder / k_owner_name, ignored);
  fs::remove(folder, ignored); // a folder that is not empty stays
}

// Traces that lie in the parts folder, as files of their own beside the run file.
std::vector<std::string> fold_traces_of(const fs::path& run_file, const Tables& run) {
  if (unfolded_traces(run_file).empty())
    return {};
  const std::string run_id = header_from(run).run_id;
  std::map<int, model::TraceLevel> level_of; // no entry for an unfinished trial
  for (const model::TrialRecord& trial : trials_from(run))
    level_of[trial.spec.id] = trial.spec.trace;
  return fold_traces(run_file, [&](int trial) {
    auto level = level_of.find(trial);
    return TraceIdentity{trial, run_id,
                         level == level_of.end() ? std::string()
                                                 : std::string(model::to_string(level->second))};
  });
}

} // namespace

Result<FoldReport> fold(const fs::path& run_file) {
  std::error_code ignored;
  if (!fs::exists(parts_folder(run_file), ignored) && fs::exists(run_file, ignored))
    return FoldReport{};
  if (!fs::exists(parts_folder(run_file), ignored))
    return fail(Errc::not_found, "there is no run at {}", run_file.string());
  NCCLPROBE_TRY(base::make_own_folder(parts_folder(run_file)));
  NCCLPROBE_TRY_ASSIGN(RunLock lock, RunLock::take(parts_folder(run_file)));
  NCCLPROBE_TRY_ASSIGN(Gathered run, gather(run_file));
  if (run.new_trials > 0 || run.new_header || !fs::exists(run_file, ignored))
    NCCLPROBE_TRY(store_image(run_file, run.tables, FileKind::run, parts_folder(run_file)));
  std::vector<std::string> trace_remarks = fold_traces_of(run_file, run.tables);
  remove_folded(run_file, run);
  return FoldReport{run.new_trials, std::move(run.damaged), std::move(trace_remarks)};
}

} // namespace ncclprobe::store
