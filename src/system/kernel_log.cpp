// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/kernel_log.h"

#include "base/fd.h"
#include "base/text_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace ncclprobe::system {

using namespace base;
namespace {

constexpr std::size_t k_most_xids = 100;
constexpr std::int64_t k_tail_bytes = std::int64_t{8} << 20; // of a log file

void note(const std::string& line, std::optional<std::int64_t> age_s, model::KernelLog& into) {
  auto xid = parse_xid(line);
  if (!xid)
    return;
  xid->age_s = age_s;
  if (into.xids.size() == k_most_xids)
    into.xids.erase(into.xids.begin());
  into.xids.push_back(std::move(*xid));
}

std::optional<std::int64_t> uptime_s(const std::filesystem::path& root) {
  std::string text = base::text_of(root / "proc/uptime"); // "4711.25 9000.00"
  return base::number_of<std::int64_t>(text.substr(0, text.find('.')));
}

// "4,1339,5140900,-;NVRM: ...": the third is microseconds since the kernel started.
std::optional<std::int64_t> ring_age_s(std::string_view record,
                                       const std::optional<std::int64_t>& uptime_s) {
  std::string_view rest = record.substr(0, record.find(';'));
  for (int field = 0; field < 2; ++field)
    rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
  auto at_us = base::number_of<std::int64_t>(rest.substr(0, rest.find(',')));
  if (!at_us || !uptime_s)
    return std::nullopt;
  return std::max<std::int64_t>(0, *uptime_s - *at_us / 1'000'000);
}

// Each read(2) returns one record "priority,number,time,flags;text\n"; at the end it does not wait.
// In tests this is a plain file, which returns several at once.
bool read_ring(const std::filesystem::path& path, model::KernelLog& into) {
  base::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    into.problem = path.string() + ": " + std::strerror(errno);
    return false;
  }
  char record[8192];
  for (int left = 100'000; left > 0; --left) {
    ssize_t size = ::read(file.get(), record, sizeof record);
    if (size < 0 && errno == EPIPE) // overwritten during the read: the next one is there
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
      std::string line(text.substr(0, end));
      note(line, ring_age_s(line, into.uptime_s), into);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  return true;
}

bool read_tail(const std::filesystem::path& path, std::int64_t now_s, model::KernelLog& into) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return false;
  std::int64_t size = file.tellg();
  file.seekg(std::max<std::int64_t>(0, size - k_tail_bytes));
  for (std::string line; std::getline(file, line);) {
    auto at_s = written_at_s(line, now_s);
    note(line, at_s ? std::optional(std::max<std::int64_t>(0, now_s - *at_s)) : std::nullopt, into);
  }
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

std::optional<std::int64_t> written_at_s(const std::string& line, std::int64_t now_s) {
  constexpr std::int64_t k_day_s = 24 * 3600;
  std::tm parts{};
  if (const char* rest = ::strptime(line.c_str(), "%Y-%m-%dT%H:%M:%S", &parts)) {
    if (*rest == '.' || *rest == ',')
      rest += 1 + std::strspn(rest + 1, "0123456789");
    std::tm zone{};
    if (::strptime(rest, "%z", &zone) == nullptr)
      return std::nullopt;
    return ::timegm(&parts) - zone.tm_gmtoff;
  }
  std::time_t now = now_s;
  ::localtime_r(&now, &parts);
  int year = parts.tm_year;
  parts = {};
  if (::strptime(line.c_str(), "%b %d %H:%M:%S", &parts) == nullptr)
    return std::nullopt;
  for (parts.tm_year = year;; --parts.tm_year) {
    std::tm local = parts;
    local.tm_isdst = -1;
    std::int64_t at_s = ::mktime(&local);
    if (at_s <= now_s + k_day_s || parts.tm_year < year) // the line does not give its year
      return at_s;
  }
}

model::KernelLog kernel_log(const std::filesystem::path& root, std::int64_t now_s) {
  model::KernelLog found;
  found.uptime_s = uptime_s(root);
  if (read_ring(root / "dev/kmsg", found)) {
    found.source = "/dev/kmsg";
    return found;
  }
  for (const char* name : {"var/log/kern.log", "var/log/messages", "var/log/syslog"})
    if (read_tail(root / name, now_s, found)) {
      found.source = "/" + std::string(name);
      break;
    }
  return found;
}

model::KernelLog kernel_log() {
  return kernel_log("/", std::time(nullptr));
}

} // namespace ncclprobe::system
