// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/option_words.h"

#include "base/units.h"
#include "cli/option_values.h"

namespace ncclprobe::cli {

using base::Errc;
using base::Result;

Words<std::string> text_words() {
  return {[](const std::string& text) -> Result<std::string> { return text; }, word<std::string>};
}

Words<std::string> choice_words(std::vector<std::string> choices) {
  return {[choices = std::move(choices)](const std::string& text) -> Result<std::string> {
            if (std::find(choices.begin(), choices.end(), text) == choices.end())
              return base::fail(Errc::invalid_argument, "'{}' is none of {}", text,
                                fmt::join(choices, ", "));
            return text;
          },
          word<std::string>};
}

Words<bool> on_off_words() {
  return {[](const std::string& text) -> Result<bool> {
            if (text != "on" && text != "off")
              return base::fail(Errc::invalid_argument, "'{}' is neither on nor off", text);
            return text == "on";
          },
          [](bool on) { return std::string(on ? "on" : "off"); }};
}

Words<double> share_words() {
  return {parse_share, [](double share) { return fmt::format("{:.10g}%", 100 * share); }};
}

Words<std::int64_t> duration_words() {
  return {[](const std::string& text) { return base::parse_duration_ns(text); },
          [](std::int64_t ns) { return fmt::format("{}us", static_cast<double>(ns) / 1000); }};
}

Words<std::vector<std::uint64_t>> size_words() {
  return {[](const std::string& text) { return base::parse_sizes(text); },
          [](const std::vector<std::uint64_t>& sizes) {
            std::string list;
            for (std::uint64_t size : sizes)
              list += (list.empty() ? "" : ",") + base::format_bytes(size);
            return list;
          }};
}

} // namespace ncclprobe::cli
