// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_file.h"

#include "base/log.h"
#include "base/own_folder.h"
#include "base/shell_word.h"
#include "base/text_files.h"
#include "store/run_lock.h"
#include "store/run_parts.h"
#include "store/run_records.h"
#include "store/trace_parts.h"
#include "store/trial_stream.h"

#include <algorithm>

namespace ncclprobe::store {
namespace {

namespace fs = std::filesystem;

template <typename T>
Result<void> store_value(const fs::path& path, const T& value, FileKind kind,
                         void (*add)(Tables&, const T&)) {
  Tables tables;
  try {
    add(tables, value);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  return store_image(path, tables, kind);
}

Result<void> store_with_rows(const fs::path& path, const model::TrialRecord& trial,
                             TrialRows& rows) {
  Tables tables;
  tables.scratch.emplace(path.parent_path());
  try {
    add_trial(tables, trial);
    add_rows(tables, rows);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  return store_on_disk(path, tables, FileKind::trial, path.parent_path());
}

Result<void> create_parts_folder(const fs::path& run_file) {
  auto made = base::make_own_folder(parts_folder(run_file));
  if (made)
    return {};
  Error error{Errc::io, fmt::format("cannot write {}: {}", run_file.string(), made.error().message),
              "choose an --output in a folder that can be written"};
  if (made.error().code == Errc::not_found)
    error.hint = fmt::format("create the folder {} first, or choose another --output",
                             run_file.parent_path().string());
  else if (!made.error().hint.empty())
    error.hint = made.error().hint;
  return fail(std::move(error));
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

struct Moved {
  fs::path from, to;
};
// Files that a run replaces. They stay in its parts folder until the new run file exists.
std::vector<Moved> replaced_files(const fs::path& run_file) {
  const fs::path parts = parts_folder(run_file);
  return {{run_file, parts / k_replaced_run_name},
          {traces_folder(run_file), parts / k_replaced_traces_name}};
}

// Undoes the changes of a run that ended before it began.
void put_back_replaced(const fs::path& run_file) {
  std::error_code ignored;
  for (const Moved& one : replaced_files(run_file))
    if (is_there(one.to) && !is_there(one.from))
      fs::rename(one.to, one.from, ignored);
}

Result<void> set_aside(const fs::path& run_file) {
  std::error_code error;
  for (const Moved& one : replaced_files(run_file)) {
    if (is_there(one.from))
      fs::rename(one.from, one.to, error);
    if (error)
      return fail(Errc::io, "cannot move {}: {}", one.from.string(), error.message());
  }
  return {};
}

void remove_unfinished(const fs::path& run_file) {
  std::error_code ignored;
  const fs::path parts = parts_folder(run_file);
  for (const std::string& name : base::names_in(parts))
    if (name != k_lock_name && name != k_owner_name)
      fs::remove_all(parts / name, ignored);
}

Result<void> fill_parts_folder(const fs::path& run_file, const model::RunHeader& header,
                               base::Overwrite overwrite) {
  fs::path parts = parts_folder(run_file);
  NCCLPROBE_TRY_ASSIGN(RunLock lock, RunLock::take(parts));
  NCCLPROBE_TRY_ASSIGN(std::vector<fs::path> trials, list_trial_parts(run_file));
  // A folder without a header is from a run that ended before it began, so nothing is lost.
  const bool unfinished = is_there(parts / k_header_name) || !trials.empty();
  if (!unfinished)
    put_back_replaced(run_file);
  if (overwrite == base::Overwrite::yes) {
    remove_unfinished(run_file);
    NCCLPROBE_TRY(set_aside(run_file));
  } else if (is_there(run_file)) {
    return fail(Error{Errc::invalid_argument, fmt::format("{} exists already", run_file.string()),
                      "--force replaces it; or choose another --output"});
  } else if (unfinished) {
    return fail(
        Error{Errc::invalid_argument,
              fmt::format("{} holds {} finished trials of an unfinished run", parts.string(),
                          trials.size()),
              fmt::format("resume it with `ncclprobe --resume {}`, choose another --output, or "
                          "replace it with --force",
                          base::shell_word(run_file.string()))});
  }
  NCCLPROBE_TRY(write_header(run_file, header));
  lock.keep_until_exit();
  return {};
}

// Removes what this call made, after a failure, unless it holds something.
void leave_no_trace(const fs::path& run_file) {
  std::error_code ignored;
  for (const char* name : {k_lock_name, k_owner_name})
    fs::remove(parts_folder(run_file) / name, ignored);
  fs::remove(parts_folder(run_file), ignored);
}

// Readers must be able to use the folder if there is no run file.
Result<model::Run> read_locked(const fs::path& run_file, Rows rows) {
  NCCLPROBE_TRY_ASSIGN(model::Run run, read_run(run_file, rows));
  std::error_code ignored;
  if (!fs::exists(parts_folder(run_file) / k_header_name, ignored))
    NCCLPROBE_TRY(write_header(run_file, run.header));
  return run;
}

} // namespace

fs::path parts_folder(const fs::path& run_file) {
  return fs::path(run_file) += ".parts";
}

Result<void> begin_run(const fs::path& run_file, const model::RunHeader& header,
                       base::Overwrite overwrite) {
  const bool is_new = !is_there(parts_folder(run_file));
  NCCLPROBE_TRY(create_parts_folder(run_file));
  auto filled = fill_parts_folder(run_file, header, overwrite);
  if (!filled && filled.error().code == Errc::io)
    put_back_replaced(run_file); // the new header could not be written
  if (!filled && is_new && filled.error().code != Errc::unavailable)
    leave_no_trace(run_file);
  return filled;
}

Result<model::Run> resume_run(const fs::path& run_file, Rows rows) {
  std::error_code error;
  const fs::path parts = parts_folder(run_file);
  if (!fs::exists(parts, error) && !fs::exists(run_file, error))
    return fail(Errc::not_found, "there is no run at {}", run_file.string());
  if (auto made = base::make_own_folder(parts); !made)
    return fail(Error{Errc::io,
                      fmt::format("cannot resume {}: {}", run_file.string(), made.error().message),
                      "copy the file to a folder that can be written"});
  NCCLPROBE_TRY_ASSIGN(RunLock lock, RunLock::take(parts));
  auto run = read_locked(run_file, rows);
  if (run)
    lock.keep_until_exit();
  else if (fs::exists(run_file, error) && !fs::exists(parts / k_header_name, error))
    leave_no_trace(run_file);
  return run;
}

Result<void> write_header(const fs::path& run_file, const model::RunHeader& header) {
  return store_value(parts_folder(run_file) / k_header_name, header, FileKind::header, add_header);
}

Result<void> write_part(const fs::path& run_file, const model::TrialRecord& trial, Replace replace,
                        TrialRows* rows) {
  fs::path path = trial_path(run_file, trial.spec.id);
  std::error_code ignored;
  if (replace == Replace::no && fs::exists(path, ignored))
    return fail(Errc::invalid_argument, "trial {} is stored already, in {}", trial.spec.id,
                path.string());
  if (rows)
    return store_with_rows(path, trial, *rows);
  return store_value(path, trial, FileKind::trial, add_trial);
}

Result<model::Run> read_run(const fs::path& run_file, Rows rows) {
  model::Run run;
  TrialSink sink;
  sink.begin = [&](model::RunHeader header, std::size_t trials) {
    run = {std::move(header), std::vector<model::TrialRecord>(trials)};
  };
  sink.take = [&](std::size_t index, model::TrialRecord trial) {
    run.trials[index] = std::move(trial);
  };
  if (rows == Rows::drop)
    sink.take_cell = [](std::size_t, const model::TrialSpec&, std::size_t,
                        model::CellRecord& record) {
      record = {std::move(record.outcome), std::move(record.check), {}, {}, {}};
    };
  NCCLPROBE_TRY(read_trials(run_file, sink));
  return run;
}

} // namespace ncclprobe::store
