// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_parts.h"

#include "base/atomic_file.h"
#include "store/image.h"
#include "store/run_file.h"
#include "store/run_records.h"

#include <algorithm>
#include <map>
#include <set>

namespace ncclprobe::store {

namespace fs = std::filesystem;

fs::path trial_path(const fs::path& run_file, int trial) {
  return parts_folder(run_file) / fmt::format("trial-{:06}.h5", trial);
}

Result<std::vector<fs::path>> list_trial_parts(const fs::path& run_file) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator at(parts_folder(run_file), error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".h5" && at->path().filename().string().starts_with("trial-"))
      paths.push_back(at->path());
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(Errc::io, "cannot read {}: {}", parts_folder(run_file).string(), error.message());
  std::ranges::sort(paths);
  return paths;
}

Result<void> store_image(const fs::path& path, const Tables& tables, FileKind kind,
                         const fs::path& workshop) {
  std::string image;
  try {
    image = write_image(tables, kind);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  auto written = base::write_file_atomically(path, image, workshop);
  if (!written && written.error().code == Errc::not_found)
    written.error().code = Errc::io;
  return written;
}

namespace {

// The trials in the run file; read only if a part holds one of them too.
class FoldedTrials {
public:
  explicit FoldedTrials(const Tables& tables) : tables_(tables) {
    for (std::int32_t id : trial_ids(tables))
      ids_.insert(id);
  }
  bool contains(std::int32_t id) const { return ids_.contains(id); }
  bool equal(const model::TrialRecord& trial) {
    if (records_.empty())
      for (model::TrialRecord& one : trials_from(tables_))
        records_.emplace(one.spec.id, std::move(one));
    return records_.at(trial.spec.id) == trial;
  }

private:
  const Tables& tables_;
  std::set<std::int32_t> ids_;
  std::map<std::int32_t, model::TrialRecord> records_;
};

// True if this part holds anything that the run file does not hold already; also returns the ids
// that it replaces.
bool brings_news(const Tables& part, FoldedTrials& folded, std::set<std::int32_t>& replaced) {
  if (std::ranges::none_of(trial_ids(part), [&](std::int32_t id) { return folded.contains(id); }))
    return true;
  std::vector<model::TrialRecord> trials = trials_from(part);
  if (std::ranges::all_of(trials, [&](const model::TrialRecord& trial) {
        return folded.contains(trial.spec.id) && folded.equal(trial);
      }))
    return false; // a fold was killed after its rename
  for (const model::TrialRecord& trial : trials)
    replaced.insert(trial.spec.id);
  return true;
}

// `tables` without the trials that were replaced, and with another header.
Tables rebuilt(const Tables& tables, const model::RunHeader& header,
               const std::set<std::int32_t>& replaced) {
  Tables whole;
  add_header(whole, header);
  append_trials(whole, tables, replaced);
  return whole;
}

} // namespace

Result<void> check_same_run(const fs::path& run_file, const model::RunHeader& folded,
                            const model::RunHeader& beside) {
  if (folded.run_id == beside.run_id)
    return {};
  return fail(with_advice_of_name(
      {Errc::invalid_argument, fmt::format("{} is of another run than {}", run_file.string(),
                                           parts_folder(run_file).string())},
      run_file));
}

Error with_advice_of_name(Error error, const fs::path& run_file) {
  error.hint = fmt::format("move it to another name: the run lies in {}, and `ncclprobe --resume "
                           "{}` resumes it",
                           parts_folder(run_file).string(), run_file.string());
  return error;
}

Result<RunFiles> run_files(const fs::path& run_file) {
  std::error_code error;
  RunFiles found{.folded = fs::exists(run_file, error)};
  NCCLPROBE_TRY_ASSIGN(const std::vector<fs::path> parts, list_trial_parts(run_file));
  const fs::path header = parts_folder(run_file) / k_header_name;
  const bool header_there = fs::exists(header, error);
  if (!found.folded && !header_there)
    return fail(Error{Errc::not_found, fmt::format("there is no run at {}", run_file.string()),
                      fs::exists(parts_folder(run_file), error)
                          ? fmt::format("a run was stopped before it began: {} has no {}",
                                        parts_folder(run_file).string(), k_header_name)
                          : "neither the file nor the folder of its parts is there"});
  found.files.push_back(found.folded ? FileToRead{run_file, FileKind::run}
                                     : FileToRead{header, FileKind::header});
  found.parts = parts.size();
  for (const fs::path& part : parts)
    found.files.push_back({part, FileKind::trial});
  found.header_beside = found.folded && header_there;
  if (found.header_beside)
    found.files.push_back({header, FileKind::header});
  return found;
}

Result<Gathered> gather(const fs::path& run_file) {
  NCCLPROBE_TRY_ASSIGN(const RunFiles files, run_files(run_file));
  std::vector<Result<Tables>> read = read_guarded(files.files);
  if (!read[0]) {
    if (files.header_beside && read[0].error().code == Errc::protocol)
      return fail(with_advice_of_name(std::move(read[0].error()), run_file));
    return fail(std::move(read[0].error()));
  }
  Gathered run{.tables = std::move(*read[0])};
  try {
    FoldedTrials folded_trials(run.tables);
    std::set<std::int32_t> replaced;
    std::vector<Tables*> news;
    for (std::size_t i = 1; i <= files.parts; ++i) {
      Result<Tables>& part = read[i];
      const fs::path& path = files.files[i].path;
      if (part) {
        run.parts.push_back(path);
        if (brings_news(*part, folded_trials, replaced))
          news.push_back(&*part);
      } else if (part.error().code == Errc::unavailable) { // it was not read
        return fail(std::move(part.error()));
      } else if (part.error().code != Errc::not_found) { // otherwise its writer has just folded it
        run.damaged.push_back(
            fmt::format("{}: {}", path.filename().string(), part.error().message));
      }
    }
    model::RunHeader newest = header_from(run.tables);
    if (files.header_beside && read.back()) {
      model::RunHeader beside = header_from(*read.back());
      NCCLPROBE_TRY(check_same_run(run_file, newest, beside));
      run.new_header = beside != newest;
      newest = std::move(beside);
    }
    if (run.new_header || !replaced.empty())
      run.tables = rebuilt(run.tables, newest, replaced);
    for (Tables* part : news) {
      append_trials(run.tables, *part);
      run.new_trials += static_cast<int>(trial_ids(*part).size());
      *part = Tables(); // frees memory: large runs must not be held twice
    }
  } catch (const std::exception& damage) {
    return fail(Errc::protocol, "{} is damaged: {}", run_file.string(), damage.what());
  }
  return run;
}

} // namespace ncclprobe::store
