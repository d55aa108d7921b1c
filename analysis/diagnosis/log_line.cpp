// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/diagnosis/log_line.h"

#include <array>
#include <cctype>
#include <charconv>

namespace ncclprobe::analysis {
namespace {

// Reads a text from the front; a mismatch leaves the position unchanged.
class Reader {
public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::string_view rest() const { return rest_; }

  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected))
      return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool number(int& value, std::size_t most_digits = 9) {
    std::size_t digits = 0;
    while (digits < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[digits])))
      ++digits;
    if (digits == 0 || digits > most_digits)
      return false;
    std::from_chars(rest_.data(), rest_.data() + digits, value);
    rest_.remove_prefix(digits);
    return true;
  }
  // ".123", ",123": fraction of a second.
  double fraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') ||
        !std::isdigit(static_cast<unsigned char>(rest_[1])))
      return 0;
    double value = 0, place = 0.1;
    std::size_t i = 1;
    for (; i < rest_.size() && std::isdigit(static_cast<unsigned char>(rest_[i])); ++i) {
      value += place * (rest_[i] - '0');
      place /= 10;
    }
    rest_.remove_prefix(i);
    return value;
  }
  // Characters of a host name; empty if there is none.
  std::string_view host() {
    std::size_t length = 0;
    while (length < rest_.size() && length < 255 &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '-' ||
            rest_[length] == '_' || rest_[length] == '.'))
      ++length;
    std::string_view name = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return name;
  }
  void blanks() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t'))
      rest_.remove_prefix(1);
  }

private:
  std::string_view rest_;
};

constexpr std::array<std::string_view, 12> k_months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

double day_number(int year, int month, int day) {
  // Days since 1970-01-01 (proleptic Gregorian, from the civil calendar's 400-year cycle).
  year -= month <= 2;
  int era = year / 400;
  int of_era = year - era * 400;
  int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097.0 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

bool read_clock(Reader& reader, double& seconds) {
  int hour = 0, minute = 0, second = 0;
  if (!reader.number(hour, 2) || !reader.word(":") || !reader.number(minute, 2) ||
      !reader.word(":") || !reader.number(second, 2))
    return false;
  seconds = hour * 3600 + minute * 60 + second + reader.fraction();
  return true;
}

// "2026-11-21 12:00:01,500", "2026-11-21T12:00:01.5Z", "2026/11/21 ..."
bool read_dated(Reader& reader, LogTime& time) {
  int year = 0, month = 0, day = 0;
  double seconds = 0;
  if (!reader.number(year, 4) || year < 1970 || !(reader.word("-") || reader.word("/")) ||
      !reader.number(month, 2) || !(reader.word("-") || reader.word("/")) ||
      !reader.number(day, 2) || !(reader.word("T") || reader.word(" ")))
    return false;
  if (month < 1 || month > 12 || !read_clock(reader, seconds))
    return false;
  reader.word("Z");
  time.kind = LogTime::Kind::dated;
  time.seconds = day_number(year, month, day) * 86400 + seconds;
  return true;
}

// "Nov 21 12:00:01" (syslog), "E1121 12:00:01.5" (glog).
bool read_yearless(Reader& reader, LogTime& time) {
  int month = 0, day = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < k_months.size() && month == 0; ++i)
    if (reader.word(k_months[i]))
      month = static_cast<int>(i) + 1;
  if (month != 0) {
    if (!reader.word(" "))
      return false;
    reader.blanks();
    if (!reader.number(day, 2) || !reader.word(" "))
      return false;
  } else {
    int both = 0;
    if (!(reader.word("E") || reader.word("W") || reader.word("I") || reader.word("F")) ||
        !reader.number(both, 4) || !reader.word(" "))
      return false;
    month = both / 100;
    day = both % 100;
  }
  if (month < 1 || month > 12 || !read_clock(reader, seconds))
    return false;
  time.kind = LogTime::Kind::yearless;
  time.seconds = day_number(2000, month, day) * 86400 + seconds;
  return true;
}

bool read_time(std::string_view& body, LogLine& line) {
  for (bool bracket : {false, true}) {
    Reader reader(body);
    if (bracket && !reader.word("["))
      return false;
    LogTime time;
    std::string_view from = reader.rest();
    Reader dated = reader, yearless = reader;
    bool is_dated = read_dated(dated, time);
    if (!is_dated && !read_yearless(yearless, time))
      continue;
    Reader& read = is_dated ? dated : yearless;
    time.text = std::string(from.substr(0, from.size() - read.rest().size()));
    if (!line.time)
      line.time = time;
    if (bracket) {
      // "[E1121 12:00:01.5 file.cpp:12]" ends at its bracket.
      std::size_t close = read.rest().substr(0, 200).find(']');
      if (close == std::string_view::npos)
        return false;
      body = read.rest().substr(close + 1);
    } else
      body = read.rest();
    return true;
  }
  return false;
}

// "[12345.678901] " of the kernel log.
bool read_uptime(std::string_view& body, LogLine& line) {
  Reader reader(body);
  int seconds = 0;
  if (!reader.word("["))
    return false;
  reader.blanks();
  if (!reader.number(seconds) || !reader.rest().starts_with("."))
    return false;
  double share = reader.fraction();
  if (!reader.word("]"))
    return false;
  if (!line.time)
    line.time = LogTime{LogTime::Kind::uptime, seconds + share, std::to_string(seconds)};
  body = reader.rest();
  return true;
}

bool read_rank(std::string_view& body, LogLine& line) {
  int rank = 0, job = 0;
  for (auto [begin, end] : {std::pair{"[rank", "]"}, std::pair{"[Rank ", "]"}}) {
    Reader reader(body);
    if (reader.word(begin) && reader.number(rank) && reader.word(end)) {
      reader.word(":");
      line.rank = rank;
      body = reader.rest();
      return true;
    }
  }
  Reader local(body);
  if (local.word("[default") && local.number(rank) && local.word("]")) {
    local.word(":");
    line.local_rank = rank;
    body = local.rest();
    return true;
  }
  // "[1,3]<stderr>:", "[prterun-host-7@1,3]<stdout>:"
  std::size_t close = body.substr(0, 300).find("]<std");
  if (body.starts_with("[") && close != std::string_view::npos) {
    std::string_view tag = body.substr(1, close - 1);
    tag = tag.substr(tag.find('@') + 1); // npos + 1 is 0
    Reader reader(tag);
    std::size_t colon = body.find(':', close);
    if (reader.number(job) && reader.word(",") && reader.number(rank) &&
        colon != std::string_view::npos) {
      line.rank = rank;
      body = body.substr(colon + 1);
      return true;
    }
  }
  return false;
}

// srun --label, at the very start of a line: "3: ", " 3: ".
bool read_task(std::string_view& body, LogLine& line) {
  Reader reader(body);
  reader.blanks();
  int rank = 0;
  if (!reader.number(rank, 6) || !reader.word(": "))
    return false;
  line.rank = rank;
  body = reader.rest();
  return true;
}

// "host:1889:1902 [3] NCCL WARN ..."
bool read_nccl(std::string_view& body, LogLine& line) {
  Reader reader(body);
  std::string_view host = reader.host();
  int pid = 0, thread = 0, gpu = 0;
  if (host.empty() || !reader.word(":") || !reader.number(pid) || !reader.word(":") ||
      !reader.number(thread) || !reader.word(" ["))
    return false;
  if (reader.number(gpu))
    line.gpu = gpu;
  std::size_t close = reader.rest().substr(0, 20).find("] ");
  if (close == std::string_view::npos)
    return false;
  line.host = std::string(host);
  line.process = line.host + ":" + std::to_string(pid);
  body = reader.rest().substr(close + 2);
  return true;
}

// "host kernel: ..." after a syslog time.
bool read_syslog_host(std::string_view& body, LogLine& line) {
  Reader reader(body);
  reader.blanks();
  std::string_view host = reader.host();
  if (host.empty() || !reader.word(" kernel:"))
    return false;
  line.host = std::string(host);
  body = reader.rest();
  return true;
}

} // namespace

LogLine read_log_line(std::string_view text) {
  LogLine line;
  std::string_view body = text;
  bool task = read_task(body, line);
  // Launchers nest: mpirun's tag before PyTorch's label before glog's time.
  for (int depth = 0; depth < 6; ++depth) {
    while (!body.empty() && (body[0] == ' ' || body[0] == '\t'))
      body.remove_prefix(1);
    if (!(read_rank(body, line) || read_uptime(body, line) || read_time(body, line) ||
          read_nccl(body, line) || (line.time && read_syslog_host(body, line))))
      break;
  }
  if (task && body.empty())
    body = text;
  line.body = body;
  return line;
}

} // namespace ncclprobe::analysis
