// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "model/parse_enum.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

// How values are read from and written to text, on the command line and in plan files. A written
// text can be read back. Errors of all readers: invalid_argument, with the possible values.
namespace ncclprobe::cli {

template <typename T>
struct Words {
  std::function<base::Result<T>(const std::string&)> read;
  std::function<std::string(const T&)> write;
  std::string example;
  std::vector<std::string> choices = {}; // all choices; empty: too many to list
};

template <typename T>
std::string word(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return std::string(model::to_string(value));
  else
    return fmt::format("{}", value);
}

// The name of an enumerator; `what` names its type in messages.
template <typename T>
Words<T> name_words(const char* what) {
  using base::enum_names;
  std::vector<std::string> names;
  for (const auto& [value, name] : enum_names(T{}))
    names.emplace_back(name);
  return {[=](const std::string& text) { return model::parse_enum<T>(text, what); }, word<T>,
          names.back(), names};
}

template <typename T>
Words<T> number_words(T least, T most) {
  return {[=](const std::string& text) -> base::Result<T> {
            T value{};
            auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc{} || end != text.data() + text.size() || value < least ||
                value > most)
              return base::fail(base::Errc::invalid_argument,
                                "'{}' is not a whole number from {} to {}", text, least, most);
            return value;
          },
          word<T>, word(std::min<T>(std::max<T>(least, 2), most))};
}

// Values separated by commas; duplicates count once.
template <typename T>
Words<std::vector<T>> list_of(Words<T> one) {
  return {[one](const std::string& text) -> base::Result<std::vector<T>> {
            std::vector<T> values;
            for (std::size_t at = 0; at <= text.size();) {
              std::size_t comma = std::min(text.find(',', at), text.size());
              NCCLPROBE_TRY_ASSIGN(const T value, one.read(text.substr(at, comma - at)));
              if (std::find(values.begin(), values.end(), value) == values.end())
                values.push_back(value);
              at = comma + 1;
            }
            return values;
          },
          [one](const std::vector<T>& values) {
            std::string list;
            for (const T& value : values)
              list += (list.empty() ? "" : ",") + one.write(value);
            return list;
          },
          one.example, one.choices};
}

// Accepts only values for which this holds; `otherwise` is the message for others.
template <typename T>
Words<T> such_that(Words<T> words, bool (*holds)(const T&), const char* otherwise) {
  words.read = [=, read = words.read](const std::string& text) -> base::Result<T> {
    NCCLPROBE_TRY_ASSIGN(T value, read(text));
    if (!holds(value))
      return base::fail(base::Errc::invalid_argument, "'{}': {}", text, otherwise);
    return value;
  };
  return words;
}

// Names of data types separated by commas; fp32 works too, as in PyTorch.
template <typename T>
Words<std::vector<T>> float_names(const char* what) {
  Words<std::vector<T>> names = list_of(name_words<T>(what));
  auto read = [of_ours = names.read](std::string text) {
    for (std::size_t at = text.find("fp"); at != std::string::npos; at = text.find("fp"))
      text.erase(at + 1, 1);
    return of_ours(text);
  };
  return {read, names.write, names.example, names.choices};
}

// Values separated by commas; brackets hold a value with a comma: "Ring,[Ring,Tree]".
std::string bracketed_list(const std::vector<std::string>& values);

Words<std::string> text_words(std::string example);
Words<std::string> choice_words(std::vector<std::string> choices);
Words<bool> on_off_words();
Words<double> amount_words();                   // "40": a number above zero
Words<double> share_words();                    // "1%", "0.01"
Words<std::int64_t> duration_words();           // "250ms", nanoseconds
Words<std::vector<std::uint64_t>> size_words(); // "8:8G:x2", "1K,1M", bytes
Words<std::vector<std::uint64_t>> nonzero_size_words(const char* otherwise);

} // namespace ncclprobe::cli
