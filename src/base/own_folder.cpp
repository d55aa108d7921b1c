// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/own_folder.h"

#include "base/atomic_file.h"

#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

namespace fs = std::filesystem;

constexpr mode_t k_written_by_us_alone = 0755; // and what the umask takes off

// Some file systems show one user as the owner of all files. There our files have the same owner as
// the folder.
bool is_ours(const fs::path& folder, const struct stat& about) {
  if (about.st_uid == ::geteuid())
    return true;
  auto made = AtomicFile::create(folder / "owner");
  struct stat of_made {};
  return made && ::fstat(made->fd(), &of_made) == 0 && of_made.st_uid == about.st_uid;
}

} // namespace

Result<void> make_own_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), k_written_by_us_alone) == 0)
    return {};
  if (errno != EEXIST)
    return system_error("make the folder", folder, errno);
  struct stat about {};
  if (::lstat(folder.c_str(), &about) != 0)
    return system_error("look at", folder, errno);
  auto refuse = [&](const char* what) {
    return fail(Error{Errc::io, fmt::format("{} is {}", folder.string(), what),
                      "nothing is written there: remove it, or choose another place"});
  };
  if (S_ISLNK(about.st_mode))
    return refuse("a symbolic link");
  if (!S_ISDIR(about.st_mode))
    return refuse("no folder");
  if (!is_ours(folder, about))
    return refuse("another user's folder");
  return {};
}

} // namespace ncclprobe::base
