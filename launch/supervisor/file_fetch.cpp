// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/file_fetch.h"

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

} // namespace

void FileFetch::begin(int from, const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    std::error_code unreadable;
    if (std::filesystem::exists(file, unreadable))
      continue;
    awaited_.try_emplace({from, file});
    tell_(from, SendPiece{file, 0});
  }
}

Result<void> FileFetch::add(Arriving& to, const FilePiece& piece) {
  if (!piece.problem.empty())
    return fail(Errc::io, "{}", piece.problem);
  if (!to.file) {
    NCCLPROBE_TRY_ASSIGN(base::AtomicFile file, base::AtomicFile::create(piece.file));
    to.file.emplace(std::move(file));
  }
  if (piece.offset != to.bytes)
    return fail(Errc::protocol, "its bytes from {} on arrived instead of those from {} on",
                piece.offset, to.bytes);
  NCCLPROBE_TRY(to.file->write(piece.bytes));
  to.bytes += piece.bytes.size();
  return piece.last ? to.file->commit(base::Overwrite::yes) : Result<void>();
}

void FileFetch::take(int from, const FilePiece& piece) {
  auto awaited = awaited_.find({from, piece.file});
  if (awaited == awaited_.end())
    return;
  const Result<void> taken = add(awaited->second, piece);
  if (taken && !piece.last) {
    tell_(from, SendPiece{piece.file, piece.offset + piece.bytes.size()});
    return;
  }
  awaited_.erase(awaited);
  if (taken)
    tell_(from, DropFile{piece.file});
  else
    spdlog::error("{} stays on the host of supervisor {}: {}", piece.file, from,
                  taken.error().text());
}

std::set<std::pair<int, std::string>> FileFetch::give_up() {
  std::set<std::pair<int, std::string>> missing;
  for (const auto& [which, arriving] : awaited_)
    missing.insert(which);
  awaited_.clear();
  return missing;
}

bool FileFetch::waits_for(int supervisor) const {
  auto first = awaited_.lower_bound({supervisor, ""});
  return first != awaited_.end() && first->first.first == supervisor;
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
  // Opened again, so that network file systems check whether it is still the same file.
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
