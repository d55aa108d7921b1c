// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"

#include "base/log.h"
#include "store/model_rows.h"
#include "store/run_lock.h"
#include "store/run_parts.h"

#include <algorithm>

namespace ncclprobe::store {
namespace {

using base::Errc;
using base::Error;
using base::fail;
using base::Result;
namespace fs = std::filesystem;

template <typename T>
Result<void> store_value(const fs::path& path, const T& value, FileKind kind,
                         void (*add)(Tables&, const T&)) {
  Tables tables;
  try {
    add(tables, value);
  } catch (const base::Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  return store_image(path, tables, kind);
}

Result<void> create_parts_folder(const fs::path& run_file) {
  std::error_code error;
  fs::path parts = parts_folder(run_file);
  if (fs::exists(run_file, error))
    return fail(Error{Errc::invalid_argument, fmt::format("{} exists already", run_file.string()),
                      "choose another --output, or remove it"});
  if (fs::create_directory(parts, error) || !error)
    return {};
  fs::path parent = run_file.parent_path();
  std::string hint = "choose an --output in a folder that can be written";
  if (error == std::errc::no_such_file_or_directory)
    hint = fmt::format("create the folder {} first, or choose another --output", parent.string());
  return fail(Error{Errc::io,
                    fmt::format("cannot write {}: cannot create {}: {}", run_file.string(),
                                parts.string(), error.message()),
                    hint});
}

Result<void> fill_parts_folder(const fs::path& run_file, const model::RunHeader& header) {
  fs::path parts = parts_folder(run_file);
  NCCLPROBE_TRY_ASSIGN(RunLock lock, RunLock::take(parts));
  NCCLPROBE_TRY_ASSIGN(std::vector<fs::path> trials, list_trial_parts(run_file));
  // A folder without a header is from a run that was ended before it began: nothing to lose.
  std::error_code ignored;
  if (fs::exists(parts / k_header_name, ignored) || !trials.empty())
    return fail(
        Error{Errc::invalid_argument,
              fmt::format("{} holds {} finished trials of a run that did not come to its end",
                          parts.string(), trials.size()),
              fmt::format("go on with `ncclprobe --resume {}`, or choose another --output",
                          run_file.string())});
  NCCLPROBE_TRY(write_header(run_file, header));
  lock.keep_until_exit();
  return {};
}

// After a failure: what this call made is removed, unless it holds something.
void leave_no_trace(const fs::path& run_file) {
  std::error_code ignored;
  for (const char* name : {k_lock_name, k_owner_name})
    fs::remove(parts_folder(run_file) / name, ignored);
  fs::remove(parts_folder(run_file), ignored);
}

// Whoever finds the folder without the run file must be able to read it.
Result<model::Run> read_locked(const fs::path& run_file) {
  NCCLPROBE_TRY_ASSIGN(model::Run run, read_run(run_file));
  std::error_code ignored;
  if (!fs::exists(parts_folder(run_file) / k_header_name, ignored))
    NCCLPROBE_TRY(write_header(run_file, run.header));
  return run;
}

} // namespace

fs::path parts_folder(const fs::path& run_file) {
  return fs::path(run_file) += ".parts";
}

Result<void> begin_run(const fs::path& run_file, const model::RunHeader& header) {
  NCCLPROBE_TRY(create_parts_folder(run_file));
  auto filled = fill_parts_folder(run_file, header);
  if (filled || filled.error().code == Errc::invalid_argument ||
      filled.error().code == Errc::unavailable)
    return filled;
  leave_no_trace(run_file); // could not be written
  return filled;
}

Result<model::Run> resume_run(const fs::path& run_file) {
  std::error_code error;
  const fs::path parts = parts_folder(run_file);
  if (!fs::exists(parts, error)) {
    if (!fs::exists(run_file, error))
      return fail(Errc::not_found, "there is no run at {}", run_file.string());
    if (!fs::create_directory(parts, error) && error)
      return fail(Error{Errc::io,
                        fmt::format("cannot go on with {}: cannot create {}: {}", run_file.string(),
                                    parts.string(), error.message()),
                        "copy the file to a folder that can be written"});
  }
  NCCLPROBE_TRY_ASSIGN(RunLock lock, RunLock::take(parts));
  auto run = read_locked(run_file);
  if (run)
    lock.keep_until_exit();
  else if (fs::exists(run_file, error) && !fs::exists(parts / k_header_name, error))
    leave_no_trace(run_file);
  return run;
}

Result<void> write_header(const fs::path& run_file, const model::RunHeader& header) {
  return store_value(parts_folder(run_file) / k_header_name, header, FileKind::header, add_header);
}

Result<void> write_part(const fs::path& run_file, const model::TrialRecord& trial,
                        Replace replace) {
  fs::path path = trial_path(run_file, trial.spec.id);
  std::error_code ignored;
  if (replace == Replace::no && fs::exists(path, ignored))
    return fail(Errc::invalid_argument, "trial {} is stored already, in {}", trial.spec.id,
                path.string());
  return store_value(path, trial, FileKind::trial, add_trial);
}

Result<model::Run> read_run(const fs::path& run_file) {
  std::error_code ignored;
  const bool folded_before = fs::exists(run_file, ignored);
  auto gathered = gather(run_file);
  // Folded by its writer while we were reading the parts, which are being removed.
  if (!folded_before && fs::exists(run_file, ignored))
    gathered = gather(run_file);
  if (!gathered)
    return fail(std::move(gathered.error()));
  for (const std::string& damaged : gathered->damaged)
    spdlog::warn("{}: left out the damaged {}", run_file.string(), damaged);
  try {
    model::Run run{header_from(gathered->tables), trials_from(gathered->tables)};
    std::ranges::stable_sort(run.trials, {},
                             [](const model::TrialRecord& trial) { return trial.spec.id; });
    return run;
  } catch (const std::exception& error) {
    return fail(Errc::protocol, "{} is damaged: {}", run_file.string(), error.what());
  }
}

} // namespace ncclprobe::store
