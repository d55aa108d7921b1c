// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/kernel_log.h"

#include "base/fd.h"
#include "base/text_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::system {

using namespace base;
namespace {

constexpr std::size_t k_most_xids = 100;
constexpr std::int64_t k_tail_bytes = std::int64_t{8} << 20; // of a log file

void note(const std::string& line, model::KernelLog& into) {
  auto xid = parse_xid(line);
  if (!xid)
    return;
  if (into.xids.size() == k_most_xids)
    into.xids.erase(into.xids.begin());
  into.xids.push_back(std::move(*xid));
}

// Each read(2) gives one record "priority,number,time,flags;text\n"; at the end there is nothing to
// wait for. In tests it is a plain file, which gives several at once.
bool read_ring(const std::filesystem::path& path, model::KernelLog& into) {
  base::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    into.problem = path.string() + ": " + std::strerror(errno);
    return false;
  }
  char record[8192];
  for (int left = 100'000; left > 0; --left) {
    ssize_t size = ::read(file.get(), record, sizeof record);
    if (size < 0 && errno == EPIPE) // overwritten while we read: the next one is there
      continue;
    if (size <= 0) {
      bool at_end = size == 0 || errno == EAGAIN;
      if (!at_end)
        into.problem = path.string() + ": " + std::strerror(errno);
      return at_end;
    }
    std::string_view text(record, static_cast<std::size_t>(size));
    while (!text.empty()) {
      std::size_t end = std::min(text.find('\n'), text.size());
      note(std::string(text.substr(0, end)), into);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  return true;
}

bool read_tail(const std::filesystem::path& path, model::KernelLog& into) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return false;
  std::int64_t size = file.tellg();
  file.seekg(std::max<std::int64_t>(0, size - k_tail_bytes));
  for (std::string line; std::getline(file, line);)
    note(line, into);
  return true;
}

} // namespace

std::optional<model::Xid> parse_xid(const std::string& line) {
  constexpr std::string_view k_mark = "NVRM: Xid (";
  std::size_t at = line.find(k_mark);
  std::size_t close = at == std::string::npos ? at : line.find("): ", at);
  if (close == std::string::npos)
    return std::nullopt;
  std::size_t digits = close + 3;
  std::size_t end = std::min(line.find_first_not_of("0123456789", digits), line.size());
  auto number = number_of<int>(std::string_view(line).substr(digits, end - digits));
  if (!number)
    return std::nullopt;
  std::string place = line.substr(at + k_mark.size(), close - at - k_mark.size());
  if (place.starts_with("PCI:"))
    place.erase(0, 4);
  return model::Xid{*number, place, line.substr(at)};
}

model::KernelLog kernel_log(const std::filesystem::path& root) {
  model::KernelLog found;
  if (read_ring(root / "dev/kmsg", found)) {
    found.source = "/dev/kmsg";
    return found;
  }
  for (const char* name : {"var/log/kern.log", "var/log/messages", "var/log/syslog"})
    if (read_tail(root / name, found)) {
      found.source = "/" + std::string(name);
      break;
    }
  return found;
}

} // namespace ncclprobe::system
