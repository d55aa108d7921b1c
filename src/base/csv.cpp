// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/csv.h"

#include <charconv>
#include <string_view>

namespace ncclprobe::base {

namespace {

// "-3.5", "+12%", "-".
bool is_number(std::string_view text) {
  text.remove_prefix(1); // the sign
  if (text.ends_with('%'))
    text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return text.empty() || (error == std::errc{} && end == text.data() + text.size());
}

bool is_formula(const std::string& text) {
  const char first = text.empty() ? ' ' : text.front();
  const bool may_be_number = first == '+' || first == '-';
  return std::string("=@\t\r").find(first) != std::string::npos ||
         (may_be_number && !is_number(text));
}

} // namespace

std::string csv_field(const std::string& unmarked) {
  const std::string text = is_formula(unmarked) ? "'" + unmarked : unmarked;
  if (text.find_first_of(",\"\r\n") == std::string::npos)
    return text;
  std::string out = "\"";
  for (char c : text)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front())
      line += ',';
    line += csv_field(field);
  }
  return line + "\r\n";
}

} // namespace ncclprobe::base
