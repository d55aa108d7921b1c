// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_parts.h"

#include "base/atomic_file.h"
#include "store/file_making.h"
#include "store/image.h"
#include "store/run_file.h"
#include "store/run_records.h"

#include <algorithm>
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

Result<void> store_image(const fs::path& path, const Tables& tables, FileKind kind) {
  std::string image;
  try {
    image = write_image(tables, kind);
  } catch (const Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  auto written = base::write_file_atomically(path, image);
  if (!written && written.error().code == Errc::not_found)
    written.error().code = Errc::io;
  return written;
}

Result<void> store_on_disk(const fs::path& path, const Tables& tables, FileKind kind,
                           const fs::path& workshop) {
  auto made = make_file(path, workshop, [&](const fs::path& file) -> Result<std::string> {
    try {
      write_on_disk(file, tables, kind);
      return std::string();
    } catch (const Exception& error) {
      return fail(error.error());
    }
  });
  if (made)
    return {};
  if (made.error().code == Errc::not_found)
    made.error().code = Errc::io;
  return fail(std::move(made.error()));
}

namespace {

// The trials of one file, read one at a time.
class TrialsOfFile {
public:
  explicit TrialsOfFile(const Tables& tables)
      : most_bytes_(limits_for(tables.file, {}).memory_bytes),
        children_(child_rows(tables, FileKind::trial)), reader_(tables, children_),
        ids_(trial_ids(tables)) {}
  const std::vector<std::int32_t>& ids() const { return ids_; }
  bool contains(std::int32_t id) const { return std::ranges::find(ids_, id) != ids_.end(); }
  model::TrialRecord read(std::int32_t id) {
    return reader_.read(static_cast<std::uint64_t>(std::ranges::find(ids_, id) - ids_.begin()),
                        most_bytes_);
  }

private:
  std::uint64_t most_bytes_; // of a trial
  ChildRows children_;
  TrialReader reader_;
  std::vector<std::int32_t> ids_;
};

// True if this part holds anything that the run file does not hold already; also returns the ids
// that it replaces.
bool brings_news(TrialsOfFile& part, TrialsOfFile& folded, std::set<std::int32_t>& replaced) {
  if (std::ranges::none_of(part.ids(), [&](std::int32_t id) { return folded.contains(id); }))
    return true;
  if (std::ranges::all_of(part.ids(), [&](std::int32_t id) {
        return folded.contains(id) && folded.read(id) == part.read(id);
      }))
    return false; // a fold was killed after its rename
  replaced.insert(part.ids().begin(), part.ids().end());
  return true;
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
  const std::vector<Result<void>> checks = check_guarded(files.files);
  if (!checks[0]) {
    if (files.header_beside && checks[0].error().code == Errc::protocol)
      return fail(with_advice_of_name(checks[0].error(), run_file));
    return fail(checks[0].error());
  }
  Gathered run;
  try {
    NCCLPROBE_TRY_ASSIGN(const Tables first, outline_of(files.files[0]));
    TrialsOfFile folded(first);
    run.header = header_from(first);
    if (files.folded)
      run.folded = {files.files[0], {}};
    for (std::size_t i = 1; i <= files.parts; ++i) {
      const FileToRead& part = files.files[i];
      if (!checks[i]) {
        const Error& error = checks[i].error();
        if (error.code == Errc::unavailable) // it was not read
          return fail(error);
        if (error.code != Errc::not_found) // otherwise its writer has just folded it
          run.damaged.push_back(
              fmt::format("{}: {}", part.path.filename().string(), error.message));
        continue;
      }
      run.parts.push_back(part.path);
      if (run.folded) {
        NCCLPROBE_TRY_ASSIGN(const Tables tables, outline_of(part));
        TrialsOfFile trials(tables);
        if (!brings_news(trials, folded, run.folded->replaced))
          continue;
      }
      run.news.push_back(part);
    }
    if (files.header_beside && checks.back()) {
      NCCLPROBE_TRY_ASSIGN(const Tables tables, outline_of(files.files.back()));
      model::RunHeader beside = header_from(tables);
      NCCLPROBE_TRY(check_same_run(run_file, run.header, beside));
      run.new_header = beside != run.header;
      run.header = std::move(beside);
    }
  } catch (const std::exception& damage) {
    return fail(Errc::protocol, "{} is damaged: {}", run_file.string(), damage.what());
  }
  return run;
}

} // namespace ncclprobe::store
