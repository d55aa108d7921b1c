// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/file_fetch.h"

#include "base/atomic_file.h"
#include "base/fd.h"
#include "base/log.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::launch {
namespace {

constexpr std::size_t k_piece_bytes = 4 << 20;

std::filesystem::path unfinished(const std::string& file) {
  return file + ".tmp";
}

base::Result<void> write_piece(const FilePiece& piece) {
  std::filesystem::path path = unfinished(piece.file);
  base::Fd file(::open(path.c_str(),
                       O_WRONLY | O_CREAT | O_CLOEXEC | (piece.offset == 0 ? O_TRUNC : 0), 0666));
  std::size_t done = 0;
  while (file && done < piece.bytes.size()) {
    ssize_t written = ::pwrite(file.get(), piece.bytes.data() + done, piece.bytes.size() - done,
                               static_cast<off_t>(piece.offset + done));
    if (written <= 0)
      break;
    done += static_cast<std::size_t>(written);
  }
  if (!file || done < piece.bytes.size())
    return base::fail(base::Errc::io, "cannot write {}: {}", path.string(), std::strerror(errno));
  return piece.last ? base::publish_file(path, piece.file) : base::Result<void>();
}

} // namespace

void FileFetch::begin(int from, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code unreadable;
    if (std::filesystem::exists(file, unreadable))
      continue;
    awaited_.insert({from, file});
    tell_(from, SendPiece{file, 0});
  }
}

void FileFetch::take(int from, const FilePiece& piece) {
  if (!awaited_.contains({from, piece.file}))
    return;
  base::Result<void> taken =
      piece.problem.empty() ? write_piece(piece) : base::fail(base::Errc::io, "{}", piece.problem);
  if (taken && !piece.last) {
    tell_(from, SendPiece{piece.file, piece.offset + piece.bytes.size()});
    return;
  }
  awaited_.erase({from, piece.file});
  if (taken) {
    tell_(from, DropFile{piece.file});
    return;
  }
  std::error_code ignored;
  std::filesystem::remove(unfinished(piece.file), ignored);
  spdlog::error("{} stays on the host of supervisor {}: {}", piece.file, from,
                taken.error().text());
}

std::set<std::pair<int, std::string>> FileFetch::give_up() {
  std::error_code ignored;
  for (const auto& [from, file] : awaited_)
    std::filesystem::remove(unfinished(file), ignored);
  return std::exchange(awaited_, {});
}

bool FileFetch::waits_for(int supervisor) const {
  auto first = awaited_.lower_bound({supervisor, ""});
  return first != awaited_.end() && first->first == supervisor;
}

FilePiece FileSource::read(const SendPiece& wanted) {
  FilePiece piece{wanted.file, wanted.offset, "", false, ""};
  base::Fd file(::open(wanted.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) {
    piece.problem = fmt::format("it cannot be opened: {}", std::strerror(errno));
    return piece;
  }
  read_[wanted.file] = {about.st_dev, about.st_ino};
  piece.bytes.resize(k_piece_bytes);
  ssize_t size = ::pread(file.get(), piece.bytes.data(), piece.bytes.size(),
                         static_cast<off_t>(wanted.offset));
  if (size < 0)
    piece.problem = fmt::format("it cannot be read: {}", std::strerror(errno));
  piece.bytes.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  piece.last = wanted.offset + piece.bytes.size() >= static_cast<std::uint64_t>(about.st_size);
  return piece;
}

void FileSource::drop(const DropFile& whole) {
  // Opened anew, because that makes network file systems look whether it is still the same.
  base::Fd file(::open(whole.file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  auto known = read_.find(whole.file);
  if (!file || ::fstat(file.get(), &about) != 0 || known == read_.end() ||
      known->second != Identity{about.st_dev, about.st_ino})
    return;
  read_.erase(known);
  std::error_code ignored;
  std::filesystem::remove(whole.file, ignored);
  folders_.insert(std::filesystem::path(whole.file).parent_path().string());
}

void FileSource::remove_empty_folders() {
  std::error_code not_empty;
  for (const std::string& folder : folders_)
    std::filesystem::remove(folder, not_empty);
  folders_.clear();
}

} // namespace ncclprobe::launch
