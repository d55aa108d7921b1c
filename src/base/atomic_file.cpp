// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/atomic_file.h"

#include "base/resource_limits.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

namespace fs = std::filesystem;

constexpr mode_t k_as_umask_says = 0666;

Result<Fd> open_folder(const fs::path& folder) {
  Fd fd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return system_error("open the folder", folder.empty() ? "." : folder, errno);
  return fd;
}

// ".run.h5.1f0c5a9b3d77e641.tmp"
Result<std::string> random_name(const std::string& name) {
  constexpr std::size_t k_of_name = 200; // a name has at most 255 bytes
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number)
    return fail(Errc::io, "the system gives no random number: {}", std::strerror(errno));
  return fmt::format(".{}.{:016x}.tmp", name.substr(0, k_of_name), number);
}

// 0 or errno. Some file systems cannot rename without replacing. There a hard link, whose name must
// be new, does it; without links, a check before the rename.
int rename_to_new(int from_folder, const char* from, int to_folder, const char* to) {
  if (::renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS)
    return errno;
  if (::linkat(from_folder, from, to_folder, to, 0) == 0) {
    ::unlinkat(from_folder, from, 0);
    return 0;
  }
  if (errno == EEXIST)
    return errno;
  struct stat there {};
  if (::fstatat(to_folder, to, &there, AT_SYMLINK_NOFOLLOW) == 0)
    return EEXIST;
  return ::renameat(from_folder, from, to_folder, to) == 0 ? 0 : errno;
}

enum class Content { any, text };

tl::unexpected<Error> too_large(const fs::path& path, std::size_t most_bytes) {
  return fail(Errc::invalid_argument, "{} has more than {} MiB, which is the limit", path.string(),
              most_bytes >> 20);
}

Result<std::string> read(const fs::path& path, std::size_t most_bytes, Content expected) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  struct stat about {};
  if (!fd || ::fstat(fd.get(), &about) != 0)
    return system_error("open", path, errno);
  const auto size = static_cast<std::size_t>(S_ISREG(about.st_mode) ? about.st_size : 0);
  if (size > most_bytes)
    return too_large(path, most_bytes);
  std::string content;
  content.reserve(size);
  char block[65536];
  while (true) {
    const ssize_t count = ::read(fd.get(), block, sizeof block);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return system_error("read", path, errno);
    if (count == 0)
      return content;
    const std::string_view piece(block, static_cast<std::size_t>(count));
    const std::size_t zero = expected == Content::text ? piece.find('\0') : piece.npos;
    if (zero != piece.npos)
      return fail(Errc::invalid_argument, "{} is not a text: its byte {} is zero", path.string(),
                  content.size() + zero + 1);
    if (content.size() + piece.size() > most_bytes)
      return too_large(path, most_bytes);
    content += piece;
  }
}

} // namespace

tl::unexpected<Error> system_error(const char* what, const fs::path& path, int number) {
  return fail(Error{number == ENOENT ? Errc::not_found : Errc::io,
                    fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(number)),
                    number == EFBIG ? file_size_limit() : ""});
}

Result<AtomicFile> AtomicFile::create(const fs::path& path, const fs::path& workshop) {
  const bool elsewhere = !workshop.empty() && workshop != path.parent_path();
  NCCLPROBE_TRY_ASSIGN(Fd made_in, open_folder(elsewhere ? workshop : path.parent_path()));
  Fd folder;
  if (elsewhere) {
    NCCLPROBE_TRY_ASSIGN(folder, open_folder(path.parent_path()));
  }
  NCCLPROBE_TRY_ASSIGN(std::string name, random_name(path.filename().string()));
  Fd file(::openat(made_in.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   k_as_umask_says));
  if (!file)
    return system_error("create", path, errno);
  return AtomicFile(path, std::move(made_in), std::move(folder), std::move(name), std::move(file));
}

AtomicFile::~AtomicFile() {
  if (file_)
    ::unlinkat(workshop_.get(), temporary_.c_str(), 0);
}

fs::path AtomicFile::path_to_open() const {
  return fmt::format("/proc/self/fd/{}", file_.get());
}

Result<void> AtomicFile::write(std::string_view bytes) {
  if (const int problem = write_all(file_.get(), bytes))
    return system_error("write", path_, problem);
  return {};
}

Result<void> AtomicFile::commit(Overwrite overwrite) {
  if (::fsync(file_.get()) != 0)
    return system_error("sync", path_, errno);
  const int to = folder_ ? folder_.get() : workshop_.get();
  const std::string name = path_.filename().string();
  int problem = 0;
  if (overwrite == Overwrite::no)
    problem = rename_to_new(workshop_.get(), temporary_.c_str(), to, name.c_str());
  else if (::renameat(workshop_.get(), temporary_.c_str(), to, name.c_str()) != 0)
    problem = errno;
  if (problem == EEXIST)
    return fail(Errc::invalid_argument, "{} exists already", path_.string());
  if (problem != 0)
    return system_error("rename into", path_, problem);
  if (const int number = file_.close())
    return system_error("close", path_, number);
  if (::fsync(to) != 0)
    return system_error("sync the folder of", path_, errno);
  return {};
}

Result<void> write_file_atomically(const fs::path& path, std::string_view content) {
  NCCLPROBE_TRY_ASSIGN(AtomicFile file, AtomicFile::create(path));
  NCCLPROBE_TRY(file.write(content));
  return file.commit(Overwrite::yes);
}

Result<std::string> read_file(const fs::path& path, std::size_t most_bytes) {
  return read(path, most_bytes, Content::any);
}

Result<std::string> read_text(const fs::path& path, std::size_t most_bytes) {
  return read(path, most_bytes, Content::text);
}

} // namespace ncclprobe::base
