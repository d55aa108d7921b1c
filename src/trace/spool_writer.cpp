// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/spool_writer.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace ncclprobe::trace {
namespace {

std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void read_boot_id(std::array<char, 40>& into) {
  int fd = ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return;
  ssize_t got = read(fd, into.data(), into.size() - 1);
  close(fd);
  std::ranges::replace(into, '\n', '\0');
  if (got < 0)
    into = {};
}

// Writes everything, or returns the error.
int write_all(int fd, const void* first, std::size_t first_bytes, const void* second,
              std::size_t second_bytes) {
  std::array<iovec, 2> parts{iovec{const_cast<void*>(first), first_bytes},
                             iovec{const_cast<void*>(second), second_bytes}};
  std::size_t left = first_bytes + second_bytes;
  while (left > 0) {
    bool first_done = parts[0].iov_len == 0;
    ssize_t wrote = writev(fd, parts.data() + (first_done ? 1 : 0), first_done ? 1 : 2);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0)
      return wrote < 0 ? errno : EIO;
    left -= static_cast<std::size_t>(wrote);
    for (iovec& part : parts) {
      std::size_t taken = std::min(part.iov_len, static_cast<std::size_t>(wrote));
      part.iov_base = static_cast<char*>(part.iov_base) + taken;
      part.iov_len -= taken;
      wrote -= static_cast<ssize_t>(taken);
    }
  }
  return 0;
}

} // namespace

SpoolWriter::~SpoolWriter() {
  if (fd_ >= 0)
    close(fd_);
}

bool SpoolWriter::open(const std::string& path, std::string_view host) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    return false;
  SpoolHeader header;
  header.process = static_cast<std::uint32_t>(getpid());
  header.start_ns = clock_ns(CLOCK_MONOTONIC_RAW);
  header.realtime_ns = clock_ns(CLOCK_REALTIME);
  read_boot_id(header.boot_id);
  if (host.empty())
    gethostname(header.host.data(), header.host.size() - 1);
  else
    host.copy(header.host.data(), header.host.size() - 1);
  if (int problem = write_all(fd, &header, sizeof header, nullptr, 0)) {
    close(fd);
    unlink(path.c_str());
    errno = problem;
    return false;
  }
  fd_ = fd;
  bytes_ = sizeof header;
  return true;
}

void SpoolWriter::append_block(Table table, std::size_t row_bytes, int rank, const void* rows,
                               std::size_t count) {
  std::lock_guard lock(mutex_);
  write_block(table, row_bytes, rank, rows, count);
}

void SpoolWriter::write_block(Table table, std::size_t row_bytes, int rank, const void* rows,
                              std::size_t count) {
  if (count == 0)
    return;
  // After a truncated block, later blocks cannot be found.
  int problem = fd_ < 0 ? EBADF : error_.load();
  if (problem == 0) {
    BlockHeader header;
    header.table = table;
    header.row_bytes = static_cast<std::uint16_t>(row_bytes);
    header.rank = rank;
    header.rows = static_cast<std::uint32_t>(count);
    problem = write_all(fd_, &header, sizeof header, rows, row_bytes * count);
  }
  if (problem == 0) {
    bytes_ += sizeof(BlockHeader) + row_bytes * count;
    return;
  }
  error_ = problem;
  rows_lost_ += count;
}

TextId SpoolWriter::intern(std::string_view text) {
  if (text.empty())
    return {};
  std::lock_guard lock(mutex_);
  auto [place, is_new] = texts_.emplace(text, static_cast<std::uint32_t>(texts_.size()) + 1);
  if (is_new) // under the same lock: texts are numbered by their order in the file
    write_block(Table::strings, 1, -1, text.data(), text.size());
  return {place->second};
}

} // namespace ncclprobe::trace
