// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/common/option_words.h"

#include "base/units.h"
#include "launch/cli/common/option_values.h"

namespace ncclprobe::cli {

std::string bracketed_list(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) {
    const bool closed = value.find(',') != std::string::npos || value.starts_with('[');
    list += (&value == &values.front() ? "" : ",") + (closed ? "[" + value + "]" : value);
  }
  return list;
}

Words<std::string> text_words(std::string example) {
  return {[](const std::string& text) -> Result<std::string> { return text; }, word<std::string>,
          std::move(example)};
}

Words<std::string> choice_words(std::vector<std::string> choices) {
  return {[choices](const std::string& text) -> Result<std::string> {
            if (std::find(choices.begin(), choices.end(), text) == choices.end())
              return base::fail(Errc::invalid_argument, "'{}' is not one of {}", text,
                                fmt::join(choices, ", "));
            return text;
          },
          word<std::string>, choices.back(), choices};
}

Words<bool> on_off_words() {
  return {[](const std::string& text) -> Result<bool> {
            if (text != "on" && text != "off")
              return base::fail(Errc::invalid_argument,
                                "'{}' is not on or off (in a file: true or false)", text);
            return text == "on";
          },
          [](bool on) { return std::string(on ? "on" : "off"); },
          "on",
          {"on", "off"}};
}

Words<double> amount_words() {
  return {[](const std::string& text) -> base::Result<double> {
            double value = 0;
            auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc{} || end != text.data() + text.size() ||
                !(value > 0 && value < 1e12))
              return base::fail(base::Errc::invalid_argument, "'{}' is not a number above zero",
                                text);
            return value;
          },
          word<double>, "40"};
}

Words<double> share_words() {
  return {parse_share, [](double share) { return fmt::format("{:.10g}%", 100 * share); }, "0.5%"};
}

Words<std::int64_t> duration_words() {
  return {[](const std::string& text) { return base::parse_duration_ns(text); },
          [](std::int64_t ns) {
            constexpr std::int64_t k_second_ns = 1'000'000'000;
            return ns % k_second_ns == 0 ? fmt::format("{}s", ns / k_second_ns)
                                         : fmt::format("{}us", static_cast<double>(ns) / 1000);
          },
          "250ms"};
}

Words<std::vector<std::uint64_t>> size_words() {
  return {[](const std::string& text) { return base::parse_sizes(text); },
          [](const std::vector<std::uint64_t>& sizes) {
            std::string list;
            for (std::uint64_t size : sizes)
              list += (list.empty() ? "" : ",") + base::format_bytes(size);
            return list;
          },
          "1K:64M:x4"};
}

Words<std::vector<std::uint64_t>> nonzero_size_words(const char* otherwise) {
  return such_that<std::vector<std::uint64_t>>(
      size_words(), [](const auto& sizes) { return std::ranges::find(sizes, 0U) == sizes.end(); },
      otherwise);
}

} // namespace ncclprobe::cli
