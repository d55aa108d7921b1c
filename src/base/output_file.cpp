// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/output_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace ncclprobe::base {
namespace {

namespace fs = std::filesystem;

// The target of a path after following links.
struct Target {
  fs::path path;
  std::optional<mode_t> there; // the existing file: st_mode
  std::optional<int> own_fd;   // it is a descriptor of this process, such as /dev/stdout
  bool is_linked = false;
  bool is_linked_by_others = false; // a link by somebody other than this user or root

  bool is_regular() const { return !there || S_ISREG(*there); }
};

// The N of /proc/self/fd/N.
std::optional<int> own_descriptor(const fs::path& folder, const std::string& name) {
  const std::string own = fmt::format("/proc/{}/fd", ::getpid());
  const std::string of_thread = fmt::format("/proc/{}/task/{}/fd", ::getpid(), ::gettid());
  if ((folder != own && folder != of_thread) ||
      name.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::atoi(name.c_str());
}

Result<Target> target_of(fs::path path) {
  constexpr int k_most_links = 40;
  Target target;
  for (int links = 0; links < k_most_links; ++links) {
    if (path.filename().empty())
      return fail(Errc::invalid_argument, "{} names a folder, not a file", path.string());
    std::error_code trouble;
    const fs::path above = path.parent_path().empty() ? fs::path(".") : path.parent_path();
    const fs::path folder = fs::canonical(above, trouble);
    if (trouble)
      return system_error("write", path, trouble.value());
    target.path = folder / path.filename();
    if ((target.own_fd = own_descriptor(folder, path.filename().string())))
      return target;
    struct stat about {};
    if (::lstat(target.path.c_str(), &about) != 0) {
      if (errno == ENOENT)
        return target;
      return system_error("write", path, errno);
    }
    if (!S_ISLNK(about.st_mode)) {
      target.there = about.st_mode;
      return target;
    }
    target.is_linked = true;
    target.is_linked_by_others =
        target.is_linked_by_others || (about.st_uid != ::geteuid() && about.st_uid != 0);
    const fs::path to = fs::read_symlink(target.path, trouble);
    if (trouble)
      return system_error("follow the link", path, trouble.value());
    path = folder / to; // `to` itself, if it is absolute
  }
  return system_error("write", path, ELOOP);
}

tl::unexpected<Error> refuse(std::string what, const char* hint) {
  return fail(Error{Errc::invalid_argument, std::move(what), hint});
}

// The file that the rule allows to write.
Result<Target> allowed_target(const Destination& to) {
  NCCLPROBE_TRY_ASSIGN(Target target, target_of(to.file));
  const std::string name = to.file.string();
  if (target.there && S_ISDIR(*target.there))
    return refuse(name + " is a folder", "name a file in it");
  if (target.is_linked_by_others && target.is_regular())
    return refuse(
        fmt::format("{} is another user's symbolic link to {}", name, target.path.string()),
        "name that file, if it is the intended one");
  if (target.own_fd || to.overwrite == Overwrite::yes)
    return target;
  if (target.there && S_ISBLK(*target.there))
    return refuse(name + " is a disk", "--force overwrites its contents");
  if (target.is_linked && target.is_regular())
    return refuse(fmt::format("{} is a symbolic link to {}", name, target.path.string()),
                  "--force writes to its target; or name another file");
  if (target.there && S_ISREG(*target.there))
    return refuse(name + " exists already", "--force replaces it; or name another file");
  return target;
}

// Sockets are connected to instead of opened.
Result<Fd> connect_to(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path.string();
  if (name.size() >= sizeof address.sun_path)
    return system_error("connect to", path, ENAMETOOLONG);
  name.copy(address.sun_path, name.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return system_error("connect to", path, errno);
  return fd;
}

Result<Fd> open_stream(const Target& target) {
  if (target.there && S_ISSOCK(*target.there))
    return connect_to(target.path);
  Fd fd(target.own_fd ? ::fcntl(*target.own_fd, F_DUPFD_CLOEXEC, 0)
                      : ::open(target.path.c_str(), O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd)
    return system_error("open", target.path, errno);
  struct stat about {};
  if (!target.own_fd && (::fstat(fd.get(), &about) != 0 || S_ISREG(about.st_mode)))
    return fail(Errc::io, "{} has become a regular file", target.path.string());
  return fd;
}

// A missing folder does not make an argument wrong: the output cannot be written.
template <typename T>
Result<T> as_output(Result<T> result) {
  if (!result && result.error().code == Errc::not_found)
    result.error().code = Errc::io;
  return result;
}

Result<AtomicFile> make_regular(const Target& target) {
  NCCLPROBE_TRY_ASSIGN(AtomicFile file, as_output(AtomicFile::create(target.path)));
  constexpr mode_t k_permissions = 0777;
  if (target.there && ::fchmod(file.fd(), *target.there & k_permissions) != 0)
    return system_error("set the permissions of", target.path, errno);
  return file;
}

} // namespace

Result<OutputFile> OutputFile::open(const Destination& destination) {
  NCCLPROBE_TRY_ASSIGN(const Target target, as_output(allowed_target(destination)));
  OutputFile output(target.path, destination.overwrite);
  if (target.own_fd || !target.is_regular()) {
    NCCLPROBE_TRY_ASSIGN(output.stream_, as_output(open_stream(target)));
  } else {
    NCCLPROBE_TRY_ASSIGN(AtomicFile file, make_regular(target));
    output.whole_.emplace(std::move(file));
  }
  return output;
}

Result<void> OutputFile::write(std::string_view bytes) {
  if (whole_)
    return whole_->write(bytes);
  if (const int problem = write_all(stream_.get(), bytes))
    return system_error("write", path_, problem);
  return {};
}

Result<void> OutputFile::finish() {
  if (whole_)
    return whole_->commit(overwrite_);
  if (const int problem = stream_.close())
    return system_error("write", path_, problem);
  return {};
}

Result<void> write_output_file(const Destination& destination, std::string_view content) {
  NCCLPROBE_TRY_ASSIGN(OutputFile file, OutputFile::open(destination));
  NCCLPROBE_TRY(file.write(content));
  return file.finish();
}

Result<void> check_output_file(const Destination& destination) {
  NCCLPROBE_TRY_ASSIGN(const Target target, as_output(allowed_target(destination)));
  if (!target.own_fd && target.is_regular())
    NCCLPROBE_TRY(make_regular(target));
  return {};
}

Result<fs::path> regular_output_path(const Destination& destination, std::string_view reason) {
  NCCLPROBE_TRY_ASSIGN(const Target target, as_output(allowed_target(destination)));
  if (target.own_fd || !target.is_regular())
    return fail(Errc::invalid_argument, "{} is not a regular file, and {}",
                destination.file.string(), reason);
  return target.is_linked ? target.path : destination.file;
}

} // namespace ncclprobe::base
