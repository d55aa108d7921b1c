// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/own_folder.h"
#include "store/file_making.h"
#include "store/run_file.h"
#include "store/run_lock.h"
#include "store/run_parts.h"
#include "store/run_records.h"
#include "store/trace_parts.h"

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
  remove_trace_leftovers(run_file);
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

// Writes header and trials to one file. Large columns are put together in a scratch file. Returns
// how many trials the parts brought.
Result<int> write_whole(const fs::path& run_file, const Gathered& run) {
  const fs::path workshop = parts_folder(run_file);
  try {
    Tables whole;
    whole.scratch.emplace(workshop);
    add_header(whole, run.header);
    const std::uint64_t& trials = whole.tables[run_form().trials].rows;
    if (run.folded) {
      NCCLPROBE_TRY_ASSIGN(const Tables folded, outline_of(run.folded->file));
      append_trials(whole, folded, run.folded->replaced);
    }
    const std::uint64_t before = trials;
    for (const FileToRead& one : run.news) {
      NCCLPROBE_TRY_ASSIGN(const Tables part, outline_of(one));
      append_trials(whole, part);
    }
    NCCLPROBE_TRY(store_on_disk(run_file, whole, FileKind::run, workshop));
    return static_cast<int>(trials - before);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", run_file.string(), error.what());
  }
}

// Traces that lie in the parts folder, as files of their own beside the run file.
Result<std::vector<std::string>> fold_traces_of(const fs::path& run_file,
                                                const std::string& run_id) {
  if (unfolded_traces(run_file).empty())
    return std::vector<std::string>();
  NCCLPROBE_TRY_ASSIGN(const Tables run, outline_of({run_file, FileKind::run}));
  const auto level_of = trace_levels(run); // no entry for an unfinished trial
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
  FoldReport report{.damaged = run.damaged};
  if (!run.news.empty() || run.new_header || !run.folded) {
    auto written = write_whole(run_file, run);
    if (!written)
      return fail(with_sources_kept(std::move(written.error()),
                                    "the parts in " + parts_folder(run_file).string()));
    report.trials = *written;
  }
  NCCLPROBE_TRY_ASSIGN(report.trace_remarks, fold_traces_of(run_file, run.header.run_id));
  remove_folded(run_file, run);
  return report;
}

} // namespace ncclprobe::store
