// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/capture_folder.h"

#include "base/fd.h"
#include "base/text_files.h"
#include "launch/cli/common/recorded_folder.h"
#include "launch/cli/common/result_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> captures_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const std::string& name : base::names_in(folder))
    if (fs::path(name).extension() == ".spool")
      found.push_back(folder / name);
  return found;
}

std::string system_error() {
  return std::strerror(errno);
}

// The first line of the folder's file is the job's name. Each other line is a place and who has it.
std::string line_of(const JobPlace& who) {
  return fmt::format("{}: {}", who.place, who.process);
}

// again: another process of the job had this place. Its rank was started again, or a later job has
// the same name.
enum class Claim : std::uint8_t { same_job, other_job, again };

Claim claim_of(const std::vector<std::string>& lines, const JobPlace& who) {
  if (lines.empty())
    return Claim::other_job;
  if (!who.place.empty() && std::ranges::find(lines, line_of(who)) != lines.end())
    return Claim::same_job; // torchrun's processes meet elsewhere when they start again
  if (lines.front() != who.job)
    return Claim::other_job;
  const bool has_place =
      !who.place.empty() && std::ranges::any_of(lines, [&](const std::string& line) {
        return line.starts_with(who.place + ": ");
      });
  return has_place ? Claim::again : Claim::same_job;
}

Error holds_a_capture(const fs::path& folder, const JobPlace& who, Claim claim) {
  if (claim == Claim::again)
    return {Errc::invalid_argument,
            fmt::format("{} already holds a capture of {} of this job", folder.string(), who.place),
            "if the job was started again, record this attempt in another folder (-o), or replace "
            "the capture with --force"};
  return {Errc::invalid_argument, fmt::format("{} already holds a capture", folder.string()),
          "name another folder with -o, or replace the capture with --force"};
}

// Enters this process in the folder's file. Errors: as make_capture_folder()'s.
Result<void> claim(const fs::path& folder, const JobPlace& who, base::Overwrite old) {
  const fs::path path = folder / k_recorded_job;
  const base::Fd file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file)
    return fail(Errc::io, "cannot write {}: {}", path.string(), system_error());
  // The processes of a job come here at the same time. Some file systems have no locks: there,
  // nothing but a simultaneous --force can go wrong.
  (void)::flock(file.get(), LOCK_EX);
  const std::vector<std::string> lines = base::lines_of(path);
  std::string added;
  if (const Claim claim = claim_of(lines, who); claim != Claim::same_job) {
    for (const fs::path& capture : captures_in(folder)) {
      if (old != base::Overwrite::yes)
        return fail(holds_a_capture(folder, who, claim));
      if (std::error_code trouble; !fs::remove(capture, trouble) && trouble)
        return fail(Errc::io, "cannot remove {}: {}", capture.string(), trouble.message());
    }
    if (!lines.empty() && ::ftruncate(file.get(), 0) != 0)
      return fail(Errc::io, "cannot write {}: {}", path.string(), system_error());
    added = who.job + "\n";
  }
  if (!who.place.empty() &&
      (!added.empty() || std::ranges::find(lines, line_of(who)) == lines.end()))
    added += line_of(who) + "\n";
  if (base::write_all(file.get(), added) != 0)
    return fail(Errc::io, "cannot write {}: {}", path.string(), system_error());
  return {};
}

Result<void> link_plugin(const fs::path& folder, const fs::path& library, const JobPlace& who) {
  const fs::path link = plugin_folder(folder) / library.filename();
  std::error_code trouble;
  fs::create_directory(link.parent_path(), trouble);
  if (trouble || fs::read_symlink(link, trouble) == library)
    return trouble ? fail(Errc::io, "cannot create {}: {}", link.parent_path().string(),
                          trouble.message())
                   : Result<void>();
  // Replaced in one step, because another process of the job may be about to load it.
  const fs::path made = fmt::format("{}.{}.{}", link.string(), who.process, getpid());
  fs::create_symlink(library, made, trouble);
  if (!trouble)
    fs::rename(made, link, trouble);
  if (trouble)
    return fail(Errc::io, "cannot create the link {}: {}", link.string(), trouble.message());
  return {};
}

} // namespace

Result<fs::path> make_capture_folder(const fs::path& folder, const JobPlace& who,
                                     const fs::path& library, base::Overwrite old) {
  std::error_code trouble;
  fs::path made = fs::absolute(folder, trouble).lexically_normal();
  if (!made.has_filename())
    made = made.parent_path(); // "job/"
  if (made.string().find_first_of(":;") != std::string::npos)
    return fail({Errc::invalid_argument, fmt::format("the path {} contains : or ;", made.string()),
                 "name another folder: neither can be on a library search path"});
  NCCLPROBE_TRY(make_folder(made));
  NCCLPROBE_TRY(claim(made, who, old));
  NCCLPROBE_TRY(link_plugin(made, library, who));
  return made;
}

fs::path plugin_folder(const fs::path& folder) {
  return folder / ".plugin";
}

} // namespace ncclprobe::cli
