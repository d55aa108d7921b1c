// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/record/capture_folder.h"

#include "base/fd.h"
#include "base/text_files.h"
#include "launch/cli/common/recorded_folder.h"
#include "launch/cli/common/result_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace ncclprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_name_bytes = 4096;

// "<pid>.<start time>" of a process: unlike its number, never used again before a reboot.
std::string lasting_number(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text(std::istreambuf_iterator<char>(file), {});
  // The program's name, in brackets, may contain blanks; the 20th field after it is the start time.
  std::istringstream fields(text.substr(std::min(text.rfind(')'), text.size())));
  std::string start;
  for (int i = 0; i <= 20; ++i)
    fields >> start;
  return fmt::format("{}.{}", process, start);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

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

// The job's name in the folder. Errors: as make_capture_folder()'s.
Result<void> claim(const fs::path& folder, const std::string& job, base::Overwrite old) {
  const fs::path file = folder / k_recorded_job;
  const base::Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd)
    return fail(Errc::io, "cannot write {}: {}", file.string(), system_error());
  // The processes of a job come here at the same time. Some file systems have no locks: there,
  // nothing but a simultaneous --force can go wrong.
  (void)::flock(fd.get(), LOCK_EX);
  std::array<char, k_most_name_bytes> bytes{};
  const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
  if (got > 0 && std::string_view(bytes.data(), static_cast<std::size_t>(got)) == job)
    return {};
  for (const fs::path& capture : captures_in(folder)) {
    if (old != base::Overwrite::yes)
      return fail({Errc::invalid_argument,
                   fmt::format("{} already holds a capture", folder.string()),
                   "name another folder with -o, or replace the capture with --force"});
    if (std::error_code trouble; !fs::remove(capture, trouble) && trouble)
      return fail(Errc::io, "cannot remove {}: {}", capture.string(), trouble.message());
  }
  if (::ftruncate(fd.get(), 0) != 0 || ::lseek(fd.get(), 0, SEEK_SET) != 0 ||
      base::write_all(fd.get(), job) != 0)
    return fail(Errc::io, "cannot write {}: {}", file.string(), system_error());
  return {};
}

Result<void> link_plugin(const fs::path& folder, const fs::path& library) {
  const fs::path link = plugin_folder(folder) / library.filename();
  std::error_code trouble;
  fs::create_directory(link.parent_path(), trouble);
  if (trouble || fs::read_symlink(link, trouble) == library)
    return trouble ? fail(Errc::io, "cannot create {}: {}", link.parent_path().string(),
                          trouble.message())
                   : Result<void>();
  // Replaced in one step, because another process of the job may be about to load it.
  const fs::path made = link.string() + "." + lasting_number(getpid());
  fs::create_symlink(library, made, trouble);
  if (!trouble)
    fs::rename(made, link, trouble);
  if (trouble)
    return fail(Errc::io, "cannot create the link {}: {}", link.string(), trouble.message());
  return {};
}

} // namespace

std::string job_name(const Environment& environment) {
  auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (!value("SLURM_STEP_ID").empty())
    return fmt::format("slurm {}.{}", value("SLURM_JOB_ID"), value("SLURM_STEP_ID"));
  for (const char* name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"})
    if (!value(name).empty())
      return fmt::format("mpi {}", value(name));
  // Of other launchers, a host's ranks have the parent in common.
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "LOCAL_RANK"})
    if (!value(name).empty())
      return fmt::format("launcher {} {}", host_name(), lasting_number(getppid()));
  return fmt::format("process {} {}", host_name(), lasting_number(getpid()));
}

Result<fs::path> make_capture_folder(const fs::path& folder, const std::string& job,
                                     const fs::path& library, base::Overwrite old) {
  std::error_code trouble;
  fs::path made = fs::absolute(folder, trouble).lexically_normal();
  if (!made.has_filename())
    made = made.parent_path(); // "job/"
  if (made.string().find_first_of(":;") != std::string::npos)
    return fail({Errc::invalid_argument, fmt::format("the path {} contains : or ;", made.string()),
                 "name another folder: neither can be on a library search path"});
  NCCLPROBE_TRY(make_folder(made));
  NCCLPROBE_TRY(claim(made, job, old));
  NCCLPROBE_TRY(link_plugin(made, library));
  return made;
}

fs::path plugin_folder(const fs::path& folder) {
  return folder / ".plugin";
}

} // namespace ncclprobe::cli
