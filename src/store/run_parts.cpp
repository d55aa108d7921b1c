// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_parts.h"

#include "base/atomic_file.h"
#include "store/image.h"
#include "store/run_file.h"

#include <algorithm>
#include <unordered_set>

namespace ncclprobe::store {

using base::Errc;
using base::fail;
using base::Result;
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
  } catch (const base::Exception& error) {
    return fail(error.error());
  } catch (const std::exception& error) {
    return fail(Errc::failed, "cannot make {}: {}", path.string(), error.what());
  }
  auto written = base::write_file_atomically(path, image);
  if (written)
    return {};
  std::error_code ignored; // the error that matters is the one above
  fs::remove(fs::path(path) += ".tmp", ignored);
  if (written.error().code == Errc::not_found)
    written.error().code = Errc::io;
  return fail(std::move(written.error()));
}

Result<Gathered> gather(const fs::path& run_file) {
  std::error_code error;
  bool folded = fs::exists(run_file, error);
  NCCLPROBE_TRY_ASSIGN(std::vector<fs::path> parts, list_trial_parts(run_file));
  fs::path header = parts_folder(run_file) / k_header_name;
  if (!folded && !fs::exists(header, error))
    return fail(base::Error{Errc::not_found,
                            fmt::format("there is no run at {}", run_file.string()),
                            fs::exists(parts_folder(run_file), error)
                                ? fmt::format("one was ended before it began: {} has no {}",
                                              parts_folder(run_file).string(), k_header_name)
                                : "neither the file nor the folder of its parts is there"});
  std::vector<FileToRead> files{folded ? FileToRead{run_file, FileKind::run}
                                       : FileToRead{header, FileKind::header}};
  for (const fs::path& part : parts)
    files.push_back({part, FileKind::trial});
  std::vector<Result<Tables>> read = read_guarded(files);
  if (!read[0])
    return fail(std::move(read[0].error()));
  Gathered run{.tables = std::move(*read[0])};
  std::unordered_set<std::int32_t> known;
  for (const TrialRow& row : run.tables.trials)
    known.insert(row.id);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Result<Tables>& part = read[i + 1];
    if (!part) {
      if (part.error().code == Errc::not_found)
        continue; // its writer has just folded and removed it
      run.damaged.push_back(
          fmt::format("{}: {}", parts[i].filename().string(), part.error().message));
      continue;
    }
    run.parts.push_back(parts[i]);
    // A fold that was killed after its rename leaves parts that the run file holds already.
    if (std::ranges::any_of(part->trials,
                            [&](const TrialRow& row) { return known.contains(row.id); }))
      continue;
    for (const TrialRow& row : part->trials)
      known.insert(row.id);
    append_trials(run.tables, *part);
    run.new_trials += static_cast<int>(part->trials.size());
    part = Tables(); // large runs: do not hold everything twice
  }
  return run;
}

} // namespace ncclprobe::store
