// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tuning/table.h"

#include "base/enum_names.h"

#include <fmt/ranges.h>

#include <charconv>
#include <string_view>
#include <vector>

// What the readers of tables share.
namespace ncclprobe::tuning {

// A line of a file, for messages.
struct Place {
  std::string_view file;
  int line = 0;
};

template <typename... Args>
tl::unexpected<Error> fail_at(const Place& place, fmt::format_string<Args...> text,
                              Args&&... args) {
  return fail(Errc::protocol, "{}:{}: {}", place.file, place.line,
              fmt::format(text, std::forward<Args>(args)...));
}

// The fields between commas; empty ones count. There are no quotes.
inline std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = line.find(',');
    fields.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return fields;
}

// Takes the next line, without its end, off the text.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// `column` begins the message.
template <typename T>
Result<T> number_at(const Place& place, std::string_view column, std::string_view text, T least,
                    T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() ||
      !(value >= least && value <= most))
    return fail_at(place, "{}: '{}' is not a number from {} to {}", column, text, least, most);
  return value;
}

template <typename Names, typename T = typename Names::value_type::first_type>
Result<T> word_at(const Place& place, std::string_view column, std::string_view text,
                  const Names& names) {
  std::vector<std::string_view> known;
  for (const auto& [value, name] : names) {
    if (name == text)
      return value;
    known.push_back(name);
  }
  return fail_at(place, "{}: '{}' is not one of {}", column, text, fmt::join(known, ", "));
}

// Errors: protocol, if the rows overlap that apply to one communicator. `lines`: of the rows.
Result<void> check_overlaps(const std::vector<Row>& rows, const std::vector<int>& lines,
                            std::string_view file);

} // namespace ncclprobe::tuning
