// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/imports/log_streams.h"

#include <algorithm>
#include <map>

namespace ncclprobe::analysis::imports {
namespace {

constexpr std::size_t k_most_lines = 2'000'000;
constexpr std::size_t k_most_streams = 100'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && is_digit(text[at + count]))
    ++count;
  return count;
}

// Length of "2026-05-01T12:34:56.789Z " or "2026-05-01T12:34:56+02:00 ".
std::size_t time_prefix(std::string_view text) {
  constexpr std::string_view k_form = "dddd-dd-ddTdd:dd:dd";
  if (text.size() < k_form.size())
    return 0;
  for (std::size_t i = 0; i < k_form.size(); ++i)
    if (k_form[i] == 'd' ? !is_digit(text[i]) : text[i] != k_form[i])
      return 0;
  const std::size_t blank = text.find(' ');
  return blank == std::string_view::npos || blank > k_form.size() + 20 ? 0 : blank + 1;
}

// Length of "[1,0]<stdout>:" or "[0] ".
std::size_t bracket_prefix(std::string_view text) {
  if (text.empty() || text[0] != '[')
    return 0;
  std::size_t at = 1 + digits_at(text, 1);
  if (at == 1)
    return 0;
  if (text.substr(at).starts_with("] "))
    return at + 2;
  if (at >= text.size() || text[at] != ',')
    return 0;
  ++at;
  const std::size_t rank = digits_at(text, at);
  at += rank;
  if (rank == 0 || at >= text.size() || text[at] != ']')
    return 0;
  ++at;
  for (std::string_view stream : {"<stdout>:", "<stderr>:", "<stddiag>:"})
    if (text.substr(at).starts_with(stream))
      return at + stream.size();
  return 0;
}

// Length of "0: " or " 12: ".
std::size_t label_prefix(std::string_view text) {
  const std::size_t blanks = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t digits = digits_at(text, blanks);
  return digits > 0 && text.substr(blanks + digits).starts_with(": ") ? blanks + digits + 2 : 0;
}

// Without colours and other sequences "ESC [ ... letter".
std::string without_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~'))
        ++i;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Removes the prefixes of a line and returns what tells its stream apart.
std::string take_prefix(std::string& line) {
  std::string_view rest = line;
  rest.remove_prefix(time_prefix(rest));
  std::size_t length = bracket_prefix(rest);
  if (length == 0)
    length = label_prefix(rest);
  std::string prefix(rest.substr(0, length));
  rest.remove_prefix(length);
  rest.remove_prefix(time_prefix(rest));
  // Standard error of a process belongs to it.
  if (const std::size_t name = prefix.find('<'); name != std::string::npos)
    prefix.resize(name);
  line = std::string(rest);
  return prefix;
}

} // namespace

Result<std::vector<std::vector<LogLine>>> log_streams(std::string_view text) {
  std::vector<std::vector<LogLine>> streams;
  std::map<std::string, std::size_t> index;
  std::size_t lines = 0;
  for (std::size_t at = 0, number = 1; at < text.size(); ++number) {
    const std::size_t end = text.find('\n', at);
    const bool is_whole = end != std::string_view::npos;
    std::string line = without_escapes(text.substr(at, is_whole ? end - at : end));
    at = is_whole ? end + 1 : text.size();
    while (line.ends_with('\r'))
      line.pop_back();
    const std::string prefix = take_prefix(line);
    if (line.empty())
      continue;
    if (++lines > k_most_lines)
      return fail({Errc::invalid_argument,
                   fmt::format("there are more than {} lines", k_most_lines),
                   "cut out the part that the program printed"});
    const auto [stream, is_new] = index.try_emplace(prefix, streams.size());
    if (is_new && streams.size() == k_most_streams)
      return fail(Errc::invalid_argument, "more than {} processes printed lines", k_most_streams);
    if (is_new)
      streams.emplace_back();
    streams[stream->second].push_back({number, std::move(line), is_whole});
  }
  return streams;
}

} // namespace ncclprobe::analysis::imports
