// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/parse_enum.h"
#include "model/trial.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Values that the command line and plan files have in common.
namespace ncclprobe::cli {

// "0-3:NCCL_HOSTID=a" -> the setting for ranks 0 to 3. Errors: invalid_argument.
base::Result<void> add_rank_setting(const std::string& text,
                                    std::map<int, std::vector<model::Setting>>& per_rank);

// Errors: invalid_argument unless it is one of the libraries that a worker loads by name.
base::Result<void> check_library_name(const std::string& name);

// "0.5%" or "0.005" -> 0.005. Errors: invalid_argument unless it lies between 0 and 1.
base::Result<double> parse_share(const std::string& text);

// "10.2ms", "310us", "1.5s" -> nanoseconds; a number alone means milliseconds. Errors:
// invalid_argument unless it is above zero.
base::Result<std::int64_t> parse_time_ns(const std::string& text);

// "NAME=value". Errors: invalid_argument.
base::Result<model::Setting> parse_setting(const std::string& text);

// "a,b" -> the enumerators of these names, repeated ones once. Errors: invalid_argument, saying
// which `what` there are.
template <typename T>
base::Result<void> parse_names(const std::string& text, std::string_view what,
                               std::optional<std::vector<T>>& into) {
  std::vector<T> values;
  std::size_t at = 0;
  while (at <= text.size()) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    NCCLPROBE_TRY_ASSIGN(const T value,
                         model::parse_enum<T>(std::string_view(text).substr(at, comma - at), what));
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
    at = comma + 1;
  }
  into = std::move(values);
  return {};
}

// A list of whole numbers, repeated ones once.
template <typename T>
base::Result<void> parse_numbers(const std::string& text, T least, T most,
                                 std::optional<std::vector<T>>& into) {
  std::vector<T> values;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t comma = std::min(text.find(',', at), text.size());
    T value{};
    auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, value);
    if (error != std::errc{} || end != text.data() + comma || value < least || value > most)
      return base::fail(base::Errc::invalid_argument, "'{}' is not a whole number from {} to {}",
                        text.substr(at, comma - at), least, most);
    if (std::find(values.begin(), values.end(), value) == values.end())
      values.push_back(value);
    at = comma + 1;
  }
  into = std::move(values);
  return {};
}

} // namespace ncclprobe::cli
